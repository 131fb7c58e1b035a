"""The leaderboard as a Gradio app: pages of plain HTML by functions that know nothing of Gradio, and the app around them."""
