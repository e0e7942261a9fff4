"""Five papers' tables and figures computed again, error rates measured, and the testers and schemes only they use."""
