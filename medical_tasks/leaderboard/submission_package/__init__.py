"""A run as a package for a leaderboard: written, read without trust, and verified by scoring its answers again."""
