"""MedCalc-Bench's form on one's own notes.

Values are extracted from them, and the calculators give the answers.
"""
