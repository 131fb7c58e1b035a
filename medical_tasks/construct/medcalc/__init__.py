"""Constructs a benchmark like MedCalc-Bench from one's own notes.

Values are extracted from the notes, and the calculators give the answers.
"""
