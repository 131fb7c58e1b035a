"""Links, verbs, options, tasks and files named in the documents exist."""

from __future__ import annotations

import argparse
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from medical_tasks.catalog import own_benchmarks
from medical_tasks.cli.entry import verbs
from medical_tasks.cli.parser import parser_of
from scripts import docs_site
from scripts.reference import reference_texts
from scripts.report_picture import HASHES, hashes, sources
from tests.case_tables import json_of
from tests.support import ROOT, own_tasks

PATTERNS = (
    "*.md",
    "docs/**/*.md",
    "dataset_builders/*/README.md",
    "metrics/*/README.md",
    "changelog.d/*.md",
)
DOCUMENTS = sorted(path for pattern in PATTERNS for path in ROOT.glob(pattern))
LINK = re.compile(r"\]\((?!https?://|mailto:)([^)#\s]*)#?([^)\s]*)\)")
COMMAND = re.compile(
    r"(?:^|\s)medical-tasks ([a-z]+(?:-[a-z]+)*)((?: [^\n`]*)?)", re.MULTILINE
)


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


FILE_PATH = re.compile(
    r"`((?:tests|docs|medical_tasks|benchmarks|scripts|metrics|dataset_builders)/[\w./-]+)`"
)


@pytest.mark.parametrize("path", DOCUMENTS, ids=_name)
def test_links_lead_somewhere_and_named_files_exist(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    missing = [name for name in _named_files(path, text) if not (ROOT / name).exists()]
    assert missing == []
    links = [
        (path.parent / target if target else path, anchor)
        for target, anchor in LINK.findall(text)
    ]
    broken = [
        (str(target), anchor)
        for target, anchor in links
        if anchor not in _anchors(target)
    ]
    assert broken == []


def _named_files(path: Path, text: str) -> list[str]:
    """Files that a page names; docstrings in the reference also name other projects' files."""
    return [] if path.parent.name == "reference" else FILE_PATH.findall(text)


def _anchors(path: Path) -> set[str]:
    """What a link to a file can name behind `#`, by the rule of GitHub and of the site: its headings, or nothing."""
    if path.suffix != ".md" or not path.is_file():
        return {""} if path.exists() else set()
    text = re.sub(
        r"^```.*?^```",
        "",
        path.read_text(encoding="utf-8"),
        flags=re.MULTILINE | re.DOTALL,
    )
    heads = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {
        "",
        *(re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads),
    }


def test_anchors_are_those_of_headings(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# K-QA: data, `tasks`\n\n```console\n# no heading\n```\n## 1. One\n"
    )
    assert _anchors(page) == {"", "k-qa-data-tasks", "1-one"}
    assert _anchors(tmp_path / "none.md") == set()


def test_the_index_lists_every_page_and_the_site_has_them_all(tmp_path: Path) -> None:
    docs_site.main(tmp_path)
    nav = json_of(tmp_path / "mkdocs.yml")["nav"]
    listed = [page for section in nav for pages in section.values() for page in pages]
    written = {
        path.relative_to(tmp_path / "pages").as_posix()
        for path in tmp_path.glob("pages/**/*.md")
    }
    assert sorted(listed) == sorted(written)
    assert {
        path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md")
    } <= written


def test_the_reference_has_every_verb_task_function_and_argument() -> None:
    pages = reference_texts()
    verb_heads = re.findall(r"(?m)^### (\S+)$", pages["command_line.md"])
    own = [
        verb.name for verb in verbs().values() if verb.run.startswith("medical_tasks.")
    ]
    assert [verb for verb in own if verb not in verb_heads] == []
    assert "`--open-weights" in pages["command_line.md"]  # of one target of `submit`
    assert (
        "[judge options](#judge-options), without `--evaluations`"
        in pages["command_line.md"]
    )
    assert [
        name for name in own_tasks() if f"| `{name}` |" not in pages["tasks.md"]
    ] == []
    assert "`batch_size` | a whole number from 1, or auto" in pages["arguments.md"]
    assert (
        "score(task: str, responses: Answers, *, source: StrPath | None = None"
        in pages["python.md"]
    )
    assert "- `judge_args`: settings of the judge's backend.\n" in pages["python.md"]
    assert "published for height_cm 152.4 cm or more" in pages["calculators.md"]
    assert "configs: tuple[str, ...]\n" in pages["contract.md"]
    assert "\n### site.looks\n" in pages["methods.md"]
    assert "### Scorer.score_items\n" in pages["contract.md"]
    assert [name for name, text in pages.items() if "```python\n\n```" in text] == []


def _options(verb: str, command: str) -> set[str]:
    """The options of a verb, in the form that the command names (`submit --to TARGET`), or of all its own verbs."""
    return set(_declared(parser_of(verbs()[verb], command.split())))


def _declared(parser: argparse.ArgumentParser) -> Iterator[str]:
    for action in parser._actions:
        yield from action.option_strings
        if isinstance(action, argparse._SubParsersAction):
            for own in action.choices.values():
                yield from _declared(own)


@pytest.mark.parametrize("path", DOCUMENTS, ids=_name)
def test_commands_are_real(path: Path) -> None:
    wrong = []
    for verb, rest in COMMAND.findall(path.read_text(encoding="utf-8")):
        if verb not in verbs():
            wrong.append(f"medical-tasks {verb}")
            continue
        if verb == "lighteval":  # its options are lighteval's
            continue
        command = re.split(r"[#;|&)]|`| -- ", rest)[0]  # behind --, another verb's
        options = set(re.findall(r"(?<!\S)--[a-z][a-z-]*", command))
        wrong += [
            f"medical-tasks {verb} {option}"
            for option in sorted(options - _options(verb, command))
        ]
    assert wrong == []


def test_the_documents_are_found_and_name_every_task() -> None:
    assert {"README.md", "CHANGELOG.md", "CONTRIBUTING.md"} <= {
        path.name for path in DOCUMENTS
    }
    assert len(DOCUMENTS) >= 12
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    fragments = sorted((ROOT / "changelog.d").glob("*.md"))
    changes = "\n".join(
        path.read_text(encoding="utf-8") for path in (ROOT / "CHANGELOG.md", *fragments)
    )
    assert [
        benchmark.title
        for benchmark in own_benchmarks()
        if benchmark.title not in readme
    ] == []
    assert [
        task.name
        for task in own_tasks().values()
        if f"`{task.name}` {task.version}" not in changes
    ] == []


def test_architecture_decisions_are_numbered_without_gap() -> None:
    numbers = sorted(
        int(path.name[:4]) for path in (ROOT / "docs" / "adr").glob("*.md")
    )
    assert len(numbers) >= 5
    assert numbers == list(range(1, len(numbers) + 1))


def test_no_path_of_a_machine_is_in_the_repository() -> None:
    files = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    names = files.stdout.split("\n") if files.returncode == 0 else []
    if not names:
        pytest.skip("not a git checkout")
    pattern = re.compile(r"(?<![\w.\-/])/(?:work|root|farm|home/[a-z]+)/")
    paths = []
    for name in filter(None, names):
        path = ROOT / name
        if (
            path.suffix in {".py", ".md", ".toml", ".cfg", ".json", ".txt", ".sh", ""}
            and path.is_file()
        ):
            text = path.read_text(encoding="utf-8", errors="replace")
            paths += [f"{name}: {match.group(0)}" for match in pattern.finditer(text)]
    assert paths == []


def test_the_picture_of_the_report_is_up_to_date() -> None:
    assert len(sources()) > 5
    assert HASHES.read_text(encoding="utf-8") == hashes(), (
        "the report's templates have changed: python scripts/report_picture.py"
    )
