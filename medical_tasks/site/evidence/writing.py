"""`site evidence`: writes the answers to all lines as a page, JSON and CSV, and two exports.

They hold no text of notes, answers or raters, but figures, pseudonyms and hashes. Nothing
is written if the check of the folder is missing, outdated, or found text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Literal

from medical_tasks._version import __version__
from medical_tasks.errors import UsageError
from medical_tasks.io.files import WholeFile, make_folder, read_text
from medical_tasks.io.output import tell
from medical_tasks.io.tables import write_table
from medical_tasks.leaderboard.export import export_run
from medical_tasks.report.html_parts import document, html_table, rendered
from medical_tasks.report.table import Cell, Column, Row, Table
from medical_tasks.report.texts import TextPlaces
from medical_tasks.runs.numbers import number
from medical_tasks.runs.recipes import mapping
from medical_tasks.site.checking import require_clean
from medical_tasks.site.deciding import CANDIDATE, noted_heads
from medical_tasks.site.evidence.facts import POOLED, Facts, Figure, in_words
from medical_tasks.site.evidence.lines import FRAMEWORKS, LINES, TRIPOD, EvidenceLine
from medical_tasks.site.folder import Site, note_step, open_site
from medical_tasks.site.history import WHAT_A_CHAIN_CANNOT_SHOW, verified
from medical_tasks.site.options import Evidence
from medical_tasks.site.sharing import SHARE_FILE

Status = Literal["measured", "not done", "does not apply"]
PAGE, JSON_FILE, CSV_FILE = "index.html", "evidence.json", "evidence.csv"
EXPORTS: Final = ("tripod-llm", "chai-card")
"""Forms of `export` that are written beside the evidence."""
_TRIPOD_FILE: Final = "tripod_llm.md"
_TRIPOD_ROW: Final = re.compile(r"\| (\d+) \| (.+?) \| (.*?) ?\|")
_NOTHING: Final = frozenset({"", "left open", "unknown", "not recorded"})
"""What the export says of an item on which a run has no information."""
_OTHER_JUDGE: Final = "name a model as judge in site.toml (judge.name), then medical-tasks site run {folder}"
_FOR_PEOPLE: Final = (
    "people write this; the guideline's checklist says what belongs there"
)
_COLUMNS: Final = (
    "framework",
    "item",
    "question",
    "status",
    "what",
    "value",
    "ci_low",
    "ci_high",
    "n",
    "unit",
    "source",
    "field",
    "words",
    "how",
)


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A line with its answer.

    Attributes:
        key: the key of the line.
        framework: the framework that asks.
        item: the framework's item.
        question: the question in our words.
        status: whether it was measured.
        figures: what was measured, if anything. Figures decided by a judge that
            compares words are shown, and do not answer the line.
        how: how to measure it, if it was not.
    """

    key: str
    framework: str
    item: str
    question: str
    status: Status
    figures: Sequence[Figure] = ()
    how: str = ""


def answer_lines(facts: Facts, tripod: str = "") -> list[Answer]:
    """Answers every line.

    Args:
        facts: the site's facts.
        tripod: the export for TRIPOD-LLM, whose items become lines.
    """
    answers = [_answer(facts, line) for line in LINES]
    return [*answers, *_tripod_answers(tripod)]


def _answer(facts: Facts, line: EvidenceLine) -> Answer:
    status: Status = "does not apply"
    figures: Sequence[Figure] = ()
    if not line.uses or facts.site.settings.use in line.uses:
        figures = line.find(facts)
        answered = any(not figure.by_words for figure in figures)
        status = "measured" if answered else "not done"

    how = _OTHER_JUDGE if figures else line.how
    return Answer(
        key=line.key,
        framework=line.framework,
        item=line.item,
        question=line.question,
        status=status,
        figures=tuple(figures),
        how=_command(facts, how) if status == "not done" else "",
    )


def _command(facts: Facts, how: str) -> str:
    """Fills the site's task, model and configuration into a command."""
    data = mapping(facts.candidate.entry["recipe"].get("data"))
    return how.format(
        folder=".",
        task=facts.task.name,
        dataset=facts.task.dataset,
        model=_named_model(facts.site.settings.models.candidate),
        config=data.get("config"),
    )


def _named_model(name: str) -> str:
    """The model as a command names it; `MODEL` instead of a path on this machine."""
    return "MODEL" if "//" in name or "~" in name or "\\" in name else name


def _tripod_answers(text: str) -> Iterator[Answer]:
    """The items of TRIPOD-LLM, as its export fills them in."""
    for line in text.splitlines():
        match = _TRIPOD_ROW.fullmatch(line.strip())
        if match is None:
            continue

        item, topic, entry = match.groups()
        sentences = entry.strip().rstrip(".").split(". ")
        contents = [sentence.strip().rpartition(": ")[2] for sentence in sentences]
        is_open = all(content in _NOTHING for content in contents)
        source = f"evidence/{_TRIPOD_FILE}"
        figure = in_words(topic, entry.strip(), source, f"item {item}")
        yield Answer(
            key=f"tripod-{item}",
            framework=TRIPOD,
            item=f"item {item}",
            question=f"What is to be reported on: {topic}?",
            status="not done" if is_open else "measured",
            figures=() if is_open else (figure,),
            how=_FOR_PEOPLE if is_open else "",
        )


def write_evidence(site: Site) -> list[Answer]:
    """Writes the evidence of a site into its folder `evidence`.

    Raises:
        MissingError: there is no run yet, or the folder was not checked.
        RefusedError: the check is outdated, or found text of notes.
        UsageError: the history of decisions was changed.
    """
    require_clean(site)
    chain = verified(site.gates, heads=noted_heads(site))
    if not chain.sound:
        raise UsageError(
            f"{chain.summary} No evidence is written from a history that was changed. Restore it "
            "from a copy."
        )

    facts = Facts(site)
    folder = make_folder(site.evidence)
    data = site.private / "data"
    places = TextPlaces(data=data if data.is_dir() else None, items=False)
    exported: list[Path] = []
    for form in EXPORTS:
        done = export_run(
            site.runs / CANDIDATE, form, folder, places=places, force=True
        )
        exported += done.files

    tripod = next((path for path in exported if path.name == _TRIPOD_FILE), None)
    answers = answer_lines(facts, "" if tripod is None else read_text(tripod))
    content = {
        "format": 1,
        "site": site.settings.name,
        "use": site.settings.use,
        "made": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "suite": f"medical-tasks {__version__}",
        "history": {"lines": chain.lines, "head": chain.head},
        "lines": [_plain(answer) for answer in answers],
    }
    with WholeFile(folder / JSON_FILE) as file:
        file.write(
            json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
        )

    write_table(folder / CSV_FILE, [_COLUMNS, *_csv_rows(answers)])
    with WholeFile(folder / PAGE) as file:
        file.write(page(content, answers, [path.name for path in exported]))

    return answers


def _plain(answer: Answer) -> dict[str, object]:
    """An answer as JSON values."""
    return {
        **asdict(answer),
        "figures": [figure._asdict() for figure in answer.figures],
    }


def _csv_rows(answers: Sequence[Answer]) -> Iterator[Sequence[object]]:
    """A row for each figure; one row for a line without figures."""
    for answer in answers:
        first = (answer.framework, answer.item, answer.question, answer.status)
        for figure in answer.figures:
            yield (
                *first,
                figure.name,
                figure.value,
                figure.low,
                figure.high,
                figure.n or None,
                figure.unit,
                figure.source,
                figure.field,
                figure.remark,
                answer.how,
            )

        if not answer.figures:
            yield (*first, *[None] * (len(_COLUMNS) - len(first) - 1), answer.how)


def page(
    content: Mapping[str, object], answers: Sequence[Answer], exported: Sequence[str]
) -> str:
    """The evidence as one self-contained page."""
    sections = [
        (
            _anchor(framework),
            framework,
            html_table(_table(framework, own)),
            sum(answer.status == "measured" for answer in own),
            sum(answer.status != "does not apply" for answer in own),
            [answer.item for answer in own if answer.status == "does not apply"],
        )
        for framework in FRAMEWORKS
        if (own := [answer for answer in answers if answer.framework == framework])
    ]
    body = rendered(
        "evidence.html",
        room="site/evidence",
        content=content,
        sections=sections,
        exported=exported,
        cannot_show=WHAT_A_CHAIN_CANNOT_SHOW,
    )

    return document(f"Evidence: {content['site']}", body)


def _anchor(framework: str) -> str:
    return "-".join(framework.lower().split())


def _table(framework: str, answers: Sequence[Answer]) -> Table:
    """The lines of a framework, a row for each figure."""
    columns = (
        Column(name="item", label="Item", header=True),
        Column(name="question", label="Question"),
        Column(name="status", label="Status", facet=True),
        Column(name="what", label="What"),
        Column(name="value", label="Value", kind="number"),
        Column(name="interval", label="95 % interval", kind="range"),
        Column(name="n", label="n", kind="number"),
        Column(name="source", label="From, or how to"),
    )
    applicable = (answer for answer in answers if answer.status != "does not apply")
    rows = [row for answer in applicable for row in _rows(answer)]

    return Table(
        id=_anchor(framework),
        columns=columns,
        rows=rows,
        caption=framework,
        show_caption=False,
    )


def _rows(answer: Answer) -> Iterator[Row]:
    first = (
        answer.item,
        answer.question,
        Cell(answer.status, strong=answer.status == "not done"),
    )
    for figure in answer.figures:
        ends = ""
        if figure.low is not None and figure.high is not None:
            low, high = (number(end, figure.unit) for end in (figure.low, figure.high))
            ends = f"{low} to {high}"

        value = "" if figure.value is None else number(figure.value, figure.unit)
        unit = figure.unit or "%" if value else ""
        yield Row(
            cells=(
                *first,
                Cell(figure.name, note=figure.remark),
                Cell(value, sort=figure.value, note=unit),
                Cell(ends, sort=figure.low),
                Cell(f"{figure.n:,}" if figure.n else "", sort=figure.n),
                Cell(figure.source, note=figure.field),
            )
        )

    if not answer.figures:
        yield Row(cells=(*first, "", "", "", "", answer.how))


def run(options: Evidence) -> int:
    """Writes the evidence, and prints how many lines are answered."""
    site = open_site(options.folder)
    answers = write_evidence(site)
    counts = {
        status: sum(answer.status == status for answer in answers)
        for status in ("measured", "not done", "does not apply")
    }
    pooled = site.path / POOLED  # read with the shared file that it must hold
    note_step(
        site,
        "evidence",
        inputs=[
            *("site.toml:name", "site.toml:strata", "site.toml:reviewers"),
            *(site.runs, site.gates, site.checks, site.sample.parent, site.review),
            *(pooled, *([site.share / SHARE_FILE] if pooled.is_file() else [])),
        ],
        outputs=[site.evidence / name for name in (PAGE, JSON_FILE, CSV_FILE)],
        figures={**counts, "head": verified(site.gates).head},
    )
    summary = ", ".join(f"{count} {status}" for status, count in counts.items())
    tell(f"{site.evidence / PAGE}: {summary}", counts)

    return 0
