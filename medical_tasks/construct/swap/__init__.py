"""Notes of real patients with one attribute of the patient changed, and nothing else.

`texts` decides what can be changed and changes it; `command` makes a built dataset of
it. docs/swap.md says how runs on two of them are compared.
"""
