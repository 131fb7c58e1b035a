"""The leaderboard: submissions and their states in a store, what they add up to, and the pages that show it."""
