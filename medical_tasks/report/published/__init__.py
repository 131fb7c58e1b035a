"""Results that the papers report: our own data file of their figures, with sources, and how it is read."""
