"""`python -m medical_tasks.leaderboard.app`: serves the leaderboard on this machine."""

from __future__ import annotations

import sys

from medical_tasks.leaderboard.app.serving import main

if __name__ == "__main__":
    sys.exit(main())
