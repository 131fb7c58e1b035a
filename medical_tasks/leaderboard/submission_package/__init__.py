"""A run as a package for a leaderboard.

Written, read without trust, and verified by scoring its answers again.
"""
