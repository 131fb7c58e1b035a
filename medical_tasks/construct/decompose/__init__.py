"""Decomposes texts by a judge model.

Answers become statements (K-QA), notes and summaries become claims (DocLens).
"""
