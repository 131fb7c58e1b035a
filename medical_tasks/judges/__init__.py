"""Evaluator models: chat endpoints, local models, NLI, lexical. Machinery only.

Prompts belong to the benchmarks.
"""
