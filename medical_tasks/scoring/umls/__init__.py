"""Concepts of the UMLS in texts.

An index over the user's own Metathesaurus files (nothing of it is here), and matchers
over it.
"""
