"""Changes one attribute of the patient in notes of real patients, and nothing else.

`texts` decides what can be changed and changes it; `command` makes a built dataset of
the result. docs/swap.md says how to compare runs on two such datasets.
"""
