"""The verb `doctor` on the command line; `Doctor` in `options` says what it takes."""

from __future__ import annotations

from medical_tasks.errors import UsageError
from medical_tasks.harness import lighteval_launcher
from medical_tasks.harness.examining import Level, examine
from medical_tasks.io.output import styled, tell
from medical_tasks.options import Doctor

_HEADINGS: dict[Level, str] = {
    "warning": "Broken",
    "ok": "Installed",
    "folder": "Folders",
    "optional": "Optional, not installed",
}


def run(arguments: Doctor) -> int:
    """Prints the findings."""
    if arguments.link_lighteval and arguments.unlink_lighteval:
        raise UsageError("--link-lighteval and --unlink-lighteval: give one of them.")

    if arguments.link_lighteval or arguments.unlink_lighteval:
        link = arguments.link_lighteval
        tell(lighteval_launcher.link(link), linked=link)
        return 0

    findings = examine()
    told = {
        heading: [
            f"  {each.subject}: {each.text}" for each in findings if each.level == level
        ]
        for level, heading in _HEADINGS.items()
    }
    parts = [
        "\n".join([styled(f"{heading}:", "bold"), *lines])
        for heading, lines in told.items()
        if lines
    ]
    tell("\n\n".join(parts), [vars(finding) for finding in findings])

    return 3 if any(finding.level == "warning" for finding in findings) else 0
