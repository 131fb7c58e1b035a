"""The paper's way to such a benchmark, for a hospital's own messages and notes (sections Alignment to Validation)."""
