"""Texts taken apart by a judge model: answers into statements (K-QA), notes and summaries into claims (DocLens)."""
