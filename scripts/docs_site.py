"""Writes what the docs site is built from: `python scripts/docs_site.py FOLDER` makes FOLDER/pages and FOLDER/mkdocs.yml.

Pages are the repository's own Markdown files, at the places they have there, so that
links hold, and a reference made from the code. The navigation is the list of
docs/README.md; cards, reference and decisions are added.
"""

from __future__ import annotations

import argparse
import inspect
import json
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

import medical_tasks
from medical_tasks import api
from medical_tasks.calculators.index import CALCULATORS
from medical_tasks.catalog import benchmarks
from medical_tasks.cli.calc import render_inputs
from medical_tasks.cli.entry import verbs
from medical_tasks.cli.parser import description_of, forms_apart, parser_of
from medical_tasks.judges.chat import CHAT_JUDGE_OPTIONS
from medical_tasks.judges.nli import NLI_OPTIONS
from medical_tasks.models.inspect_options import INSPECT_OPTIONS
from medical_tasks.models.opener import (
    CHAT_OPTIONS,
    HF_OPTIONS,
    RAY_OPTIONS,
    TESTED_OPTIONS,
    VLLM_OPTIONS,
)
from medical_tasks.models.server import SERVED_OPTIONS

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


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table."""
    lines = [heads, ["---"] * len(heads), *rows]
    return (
        "\n".join(
            f"| {' | '.join(str(cell).replace('|', '&#124;') for cell in line)} |"
            for line in lines
        )
        + "\n"
    )


def command_line() -> Iterator[str]:
    """Every verb's help, by its own parser."""
    wide = partial(argparse.RawDescriptionHelpFormatter, width=110)
    yield "# Command line\n\n    medical-tasks VERB --help\n"
    known = verbs()
    for group in dict.fromkeys(each.group for each in known.values()):
        members = {
            each.name: each.summary for each in known.values() if each.group == group
        }
        yield f"## {group}\n"
        yield table(
            ("verb", "use"),
            [(f"[{verb}](#{verb})", use) for verb, use in members.items()],
        )
        for verb in members:
            yield f"### {verb}\n"
            if known[verb].options is None:
                yield f"```text\nusage: medical-tasks {verb} ...\n\n{description_of(known[verb])}\n```\n"
                continue
            for words in forms_apart(known[verb]):
                parser = parser_of(known[verb], [*words, "--help-all"])
                parser.formatter_class = wide
                yield f"```text\n{parser.format_help()}\n```\n"


def python() -> Iterator[str]:
    """What `medical_tasks` offers, and the classes that its functions return."""
    names = {name: getattr(medical_tasks, name) for name in medical_tasks.__all__}
    names |= {
        name: each
        for name, each in inspect.getmembers(api, inspect.isclass)
        if each.__module__ == "medical_tasks.api.results"
    }
    yield f"# Python\n\n{inspect.cleandoc(api.__doc__ or '')}\n"
    for name, value in names.items():
        if name[0] != "_":
            sign = re.sub(r"(: |-> )'([^']*)'", r"\1\2", str(inspect.signature(value)))
            told = re.sub(
                r"(?m)^(Args|Returns|Raises):$",
                r"**\1**\n",
                inspect.cleandoc(value.__doc__ or ""),
            )
            told = re.sub(r"(?m)^    (\w+): ", r"- `\1`: ", told)
            yield f"## {name}\n\n```python\n{name}{sign}\n```\n\n{told}\n"


def tasks() -> Iterator[str]:
    """Every task, the settings that tasks take, and the metrics that they report."""
    yield "# Tasks and metrics\n\n    medical-tasks list\n"
    for benchmark in benchmarks():
        settings: dict[tuple[str, ...], list[str]] = {}
        metrics: dict[tuple[str, ...], list[str]] = {}
        for task in benchmark.tasks:
            for name, meaning in {**task.arguments, **task.scoring_arguments}.items():
                settings.setdefault((f"`{name}`", meaning), []).append(task.name)
            for metric in task.metrics:
                span = f"{metric.limits[0]:g} to {metric.limits[1]:g} {metric.unit}"
                metrics.setdefault(
                    (f"`{metric.name}`", metric.description, span, metric.needs), []
                ).append(task.name)
        yield f"## {benchmark.title}\n"
        asked = [
            (f"`{t.name}`", t.title, t.dataset, t.split, t.version, t.generation_size)
            for t in benchmark.tasks
        ]
        yield table(
            ("task", "asked", "dataset", "split", "version", "longest answer"), asked
        )
        for heads, found in (
            (("--task-args", "meaning"), settings),
            (("metric", "meaning", "range", "needs"), metrics),
        ):
            every = len(benchmark.tasks)
            rows = [
                (*row, "all" if len(of) == every else ", ".join(of))
                for row, of in found.items()
            ]
            yield table((*heads, "tasks"), rows) if rows else ""


def arguments() -> Iterator[str]:
    """What `--model-args` and `--judge-args` take, by kind."""
    yield "# Arguments of models and judges\n\n    medical-tasks run --tasks T --model M --model-args K=V,...\n"
    more = {
        name: reader
        for name, reader in TESTED_OPTIONS.items()
        if name not in CHAT_OPTIONS
    }
    kinds = {
        "hf": HF_OPTIONS,
        "vllm": VLLM_OPTIONS,
        "ray": RAY_OPTIONS,
        "judge nli": NLI_OPTIONS,
        "inspect": INSPECT_OPTIONS,
        "judge inspect": INSPECT_OPTIONS,
    }
    for kind, taken in {"openai-api": CHAT_OPTIONS, **SERVED_OPTIONS}.items():
        kinds |= {
            kind: {**taken, **more},
            f"judge {kind}": {**taken, **CHAT_JUDGE_OPTIONS},
        }
    for kind in sorted(kinds, key=lambda kind: (kind.startswith("judge"), kind)):
        rows = [(f"`{name}`", rule) for name, (_, rule) in sorted(kinds[kind].items())]
        yield f"## {kind}\n\n{table(('argument', 'value'), rows)}"


def calculators() -> Iterator[str]:
    """Inputs, units, published ranges and sources of the calculators."""
    yield "# Inputs of the calculators\n\n    medical-tasks calc NAME --inputs\n"
    for entry in CALCULATORS:
        yield f"## {entry.name}\n\n```text\n{render_inputs(entry)}\n```\n"


REFERENCE = (command_line, python, tasks, arguments, calculators)


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
    (pages / "reference").mkdir()
    for make in REFERENCE:
        (pages / "reference" / f"{make.__name__}.md").write_text(
            "\n".join(make()), encoding="utf-8"
        )
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
    listed["Reference"] += [f"reference/{make.__name__}.md" for make in REFERENCE]
    config = {
        "INHERIT": str(ROOT / "scripts/mkdocs.yml"),
        "nav": [{name: places} for name, places in listed.items()],
    }
    (folder / "mkdocs.yml").write_text(json.dumps(config, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
