"""`python -m medical_tasks`, and the `medical-tasks` script."""

from __future__ import annotations

import sys

from medical_tasks.cli import main

if __name__ == "__main__":
    sys.exit(main())
