"""Conversations between patients and clinicians, judged by criteria with points."""
