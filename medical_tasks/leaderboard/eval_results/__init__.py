"""Eval Results of the Hugging Face Hub: a run's headline numbers as the YAML files that a model's page shows."""
