"""The command `launch`."""

from __future__ import annotations

from medical_tasks.io.output import tell
from medical_tasks.options import Launch
from medical_tasks.runs.launching import launch_text


def run(options: Launch) -> int:
    """Prints the script or the job."""
    text = launch_text(options)
    tell(text, {options.print: f"{text}\n"})
    return 0
