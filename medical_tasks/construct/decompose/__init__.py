"""Texts taken apart by a judge model.

Answers into statements (K-QA), notes and summaries into claims (DocLens).
"""
