"""What may leave the machine: policy, private store, redaction, leakcheck."""
