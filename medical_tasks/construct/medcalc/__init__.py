"""MedCalc-Bench's form on one's own notes: values are extracted from them, and the calculators give the answers."""
