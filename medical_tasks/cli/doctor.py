"""The command `doctor`."""

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
    lines_by_heading = {
        heading: [
            f"  {finding.subject}: {finding.text}"
            for finding in findings
            if finding.level == level
        ]
        for level, heading in _HEADINGS.items()
    }
    sections = [
        "\n".join([styled(f"{heading}:", "bold"), *lines])
        for heading, lines in lines_by_heading.items()
        if lines
    ]
    tell("\n\n".join(sections), [vars(finding) for finding in findings])

    return 3 if any(finding.level == "warning" for finding in findings) else 0
