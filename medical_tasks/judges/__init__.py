"""Evaluator models: chat endpoints, local models, NLI, lexical. Machinery only; prompts belong to the benchmarks."""
