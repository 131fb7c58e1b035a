"""A hospital's own evaluation."""
