"""Serves the leaderboard on this machine.

MEDICAL_TASKS_LEADERBOARD_STORE=space-store python -m medical_tasks.leaderboard.app
"""

from __future__ import annotations

import sys

from medical_tasks.leaderboard.app.serving import main

if __name__ == "__main__":
    sys.exit(main())
