"""The verbs of this wing, one module each."""
