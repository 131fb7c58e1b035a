"""Fragments become the changelog's next section, and its newest one is the suite's version."""

from __future__ import annotations

import re
import shutil
import tomllib
from pathlib import Path

import pytest
from packaging.version import Version

from medical_tasks._version import __version__
from tests.support import ROOT, run_python

_NAMED = re.compile(r"(?m)^## \[(\d+\.\d+\.\d+)\] - (\d{4}-\d\d-\d\d)$")
_OTHER = {"README.md", "template.md.jinja"}


def _kinds() -> set[str]:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return {kind["directory"] for kind in settings["tool"]["towncrier"]["type"]}


def test_every_fragment_has_a_name_a_kind_and_a_sentence() -> None:
    wrong = []
    for path in sorted((ROOT / "changelog.d").iterdir()):
        if path.name in _OTHER:
            continue
        name, _, rest = path.name.partition(".")
        text = path.read_text(encoding="utf-8").strip()
        named = name and rest in {f"{kind}.md" for kind in _kinds()}
        if not named or not text or text.startswith(("-", "*", "#")):
            wrong.append(path.name)
    assert wrong == []


def test_the_page_on_fragments_names_every_kind() -> None:
    page = (ROOT / "changelog.d" / "README.md").read_text(encoding="utf-8")
    assert set(re.findall(r"(?m)^\| `(\w+)` \|", page)) == _kinds()


def test_the_newest_section_is_that_of_this_version() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert text.count("<!-- releases -->\n\n## [") == 1
    sections = _NAMED.findall(text)
    assert len(sections) == text.count("\n## ")
    versions = [Version(version) for version, _ in sections]
    assert versions == sorted(versions, reverse=True)
    assert sections[0][0] == __version__
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {__version__}\n" in citation
    assert f'\ndate-released: "{sections[0][1]}"\n' in citation


@pytest.mark.slow
def test_a_release_moves_the_fragments_above_the_last_one(tmp_path: Path) -> None:
    pytest.importorskip("towncrier", reason="make env-dev")
    for name in ("pyproject.toml", "CHANGELOG.md"):
        shutil.copy(ROOT / name, tmp_path)
    folder = tmp_path / "changelog.d"
    folder.mkdir()
    for name in _OTHER:
        shutil.copy(ROOT / "changelog.d" / name, folder)
    (folder / "b.fixed.md").write_text("A number\nover two lines.\n", encoding="utf-8")
    (folder / "a.scores.md").write_text("[K](../docs/kqa.md).\n", encoding="utf-8")
    words = "build --yes --version 98.0.0 --date 2030-01-02"
    run_python("-m", "towncrier", *words.split(), cwd=tmp_path)
    text = (tmp_path / "CHANGELOG.md").read_text(encoding="utf-8")
    before = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    head, last = before.split("<!-- releases -->\n")
    assert text == (
        f"{head}<!-- releases -->\n\n## [98.0.0] - 2030-01-02\n\n"
        "### Scores that are not comparable with earlier ones\n\n- [K](docs/kqa.md).\n\n"
        f"### Fixed\n\n- A number\n  over two lines.\n{last}"
    )
    assert {path.name for path in folder.iterdir()} == _OTHER
