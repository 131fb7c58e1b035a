"""The leaderboard as a Gradio app: pages made of plain HTML by functions that know nothing of Gradio, and the app around them.

MEDICAL_TASKS_LEADERBOARD_STORE=space-store python -m medical_tasks.leaderboard.app
"""

from __future__ import annotations

from medical_tasks.leaderboard.app.serving import main, serve

__all__ = ["main", "serve"]
