"""Packages of runs for a leaderboard.

They are written, read without trust, and verified by scoring the answers again.
"""
