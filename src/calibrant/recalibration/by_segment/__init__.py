"""Repair by segment: corrections of log-odds in cells of features, boosted trees, and the choice between them."""
