"""Results that the papers report.

Our own data file of their figures, with sources, and how it is read.
"""
