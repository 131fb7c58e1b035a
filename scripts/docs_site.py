"""Writes what the docs site is built from: `python scripts/docs_site.py FOLDER` makes FOLDER/pages and FOLDER/mkdocs.yml.

Pages are the repository's own Markdown files, at the places they have there, so that
links hold. The navigation is the list of docs/README.md; cards and decisions are added.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COPIED = (
    "*.md",
    "LICENSE",
    "examples/*.ipynb",
    "docs/**/*.*",
    *(
        f"{folder}/README.md"
        for folder in (
            "changelog.d",
            "measurements",
            "dataset_builders/*",
            "metrics/*",
            "examples/*",
        )
    ),
)
ADDED = {
    "Metrics": "metrics/*/README.md",
    "Data": "dataset_builders/*/README.md",
    "Decisions": "docs/adr/*.md",
}


def main(folder: Path) -> None:
    """Writes pages and navigation."""
    pages = folder / "pages"
    shutil.rmtree(pages, ignore_errors=True)
    for path in sorted(path for pattern in COPIED for path in ROOT.glob(pattern)):
        (pages / path.relative_to(ROOT)).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, pages / path.relative_to(ROOT))
        if (
            path.suffix == ".md"
        ):  # in a table, GitHub wants a bar in code escaped; the site shows the backslash
            text = re.sub(
                r"`[^`\n]+`",
                lambda code: code[0].replace(r"\|", "|"),
                path.read_text(encoding="utf-8"),
            )
            (pages / path.relative_to(ROOT)).write_text(text, encoding="utf-8")
    listed: dict[str, list[str]] = {"Home": ["README.md", "docs/README.md"]}
    for line in (ROOT / "docs/README.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            listed[line[3:]] = []
        elif link := re.match(r"- \[.+\]\((.+)\)$", line):
            listed[next(reversed(listed))].append(
                (ROOT / "docs" / link[1]).resolve().relative_to(ROOT).as_posix()
            )
    for section, pattern in ADDED.items():
        listed[section] += sorted(
            path.relative_to(ROOT).as_posix() for path in ROOT.glob(pattern)
        )
    config = {
        "INHERIT": str(ROOT / "scripts/mkdocs.yml"),
        "nav": [{name: places} for name, places in listed.items()],
    }
    (folder / "mkdocs.yml").write_text(json.dumps(config, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
