"""Version of the suite; a change of any score bumps a task version as well (CONTRIBUTING)."""

__version__ = "0.1.0"
