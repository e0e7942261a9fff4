"""Maps of one probability, fitted: numbers alone, without scikit-learn, which takes a second to load."""
