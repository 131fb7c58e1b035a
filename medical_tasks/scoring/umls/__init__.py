"""Concepts of the UMLS in texts.

An index over the user's own Metathesaurus files (the package ships none of them), and
matchers that use it.
"""
