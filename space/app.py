"""The leaderboard as a Hugging Face Space; everything is in the package."""

import sys

from medical_tasks.leaderboard.serving import main

if __name__ == "__main__":
    sys.exit(main())
