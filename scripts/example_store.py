"""The example leaderboard's entries of answers that others published, made anew.

    python scripts/example_store.py --source ncbi-nlp/MedCalc-Bench=CLONE --source wyim/aci-bench=CLONE \
        --source justlab-ai/oss-20b-aci-bench=CLONE \
        --data datasets [--store space/example-store]

`published_answers.json` lists the files of the answers: repository, commit, path,
SHA-256 and licence of each. A source is a clone with its history (`git clone
https://github.com/OWNER/NAME`), or a folder with the downloaded files. `--data` has the
datasets that the answers are to, built by `medical-tasks build`: medcalc_bench (v1.0
and corrected) and aci_bench.

Each file's answers become a run that is marked as imported, its package one without
their texts and without figures of a judge. The package is verified by scoring again,
and takes the place of the entries of published answers that the store has; all others
stay. First the decisions that MedCalc-Bench's authors recorded beside the answers are
compared with `accuracy_official`. The tables of `measurements/README.md` are written
from the packages.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import io
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TypedDict

from medical_tasks.benchmarks.medcalc_bench.official import official_check
from medical_tasks.benchmarks.medcalc_bench.spec import BENCHMARK as MEDCALC
from medical_tasks.catalog import task_spec
from medical_tasks.errors import MedicalTasksError, MissingError
from medical_tasks.guard.policy import Attestation
from medical_tasks.importing.matching import Questions, counts
from medical_tasks.importing.published import ERROR, PublishedAnswer
from medical_tasks.leaderboard.board import Board
from medical_tasks.leaderboard.maintaining import check_store, verified_report
from medical_tasks.leaderboard.storage import LocalStorage
from medical_tasks.leaderboard.submission_package.contents import (
    Submitter,
    VerifyOptions,
)
from medical_tasks.leaderboard.submission_package.package_file import write_package
from medical_tasks.options import Score
from medical_tasks.runs.imported import PublishedSource, SourceAnswers, SourceRun
from medical_tasks.runs.rescoring import rescore
from medical_tasks.runs.results import Json, JsonDict, ReportedFigure
from medical_tasks.scoring.means import proportion_interval
from medical_tasks.spec import Item, TaskSpec

ROOT = Path(__file__).resolve().parents[1]
CATALOGUE = Path(__file__).with_name("published_answers.json")
STORE = ROOT / "space" / "example-store"
TABLES = dict.fromkeys(
    ("medcalc", "notes", "labels"), ROOT / "measurements" / "README.md"
)
LONGEST_QUOTE = 8  # words in a row that a package may share with an answer
ASKED = ("Calculator Name", "Patient Note", "Question")  # what prompts name of a row
FAILED = "[FAILED]"  # in place of a note
# share of correct answers in percent, of those to items of the task
RECORDED = "right as recorded"


class PaperFigure(TypedDict):
    """A figure of a paper: `where` it stands, and its `value` in percent."""

    where: str
    value: float


class ModelFacts(TypedDict, total=False):
    """Facts about a model; `parameters` in billions, the licence of its weights."""

    open_weights: bool
    parameters: float
    licence: str


@dataclass(frozen=True, kw_only=True)
class PublishedFile:
    """A file of answers in a public repository."""

    repository: str
    commit: str
    path: str
    sha256: str
    licence: str

    @property
    def address(self) -> str:
        """The address at which anybody can read it."""
        return f"https://github.com/{self.repository}/blob/{self.commit}/{self.path}"

    @property
    def name(self) -> str:
        """The name without its folders."""
        return self.path.rpartition("/")[2]


@dataclass(frozen=True, kw_only=True)
class PublishedModel:
    """An entry of the board: one model's published answers to one task."""

    task: str
    model: str
    organisation: str
    file: PublishedFile
    reported: Mapping[str, float]  # by the source of these very answers, in percent
    paper: PaperFigure | None  # of the same model over all items
    note: str
    settings: Mapping[str, float] = field(default_factory=dict)  # of the source
    unknown: Sequence[str] | None = None  # the catalogue's where it has no others
    facts: ModelFacts = field(default_factory=ModelFacts)


@dataclass(frozen=True, kw_only=True)
class Catalogue:
    """The content of `published_answers.json`."""

    accepted: datetime
    unknown: Sequence[str]
    entries: Sequence[PublishedModel]
    decisions: Sequence[PublishedFile]  # further files with recorded decisions

    @classmethod
    def read(cls) -> Catalogue:
        """Reads the file."""
        held = json.loads(CATALOGUE.read_text(encoding="utf-8"))
        return cls(
            accepted=datetime.strptime(held["accepted"], "%Y-%m-%dT%H:%M:%SZ").replace(
                tzinfo=UTC
            ),
            unknown=held["unknown"],
            entries=[
                PublishedModel(**{**entry, "file": PublishedFile(**entry["file"])})
                for entry in held["entries"]
            ],
            decisions=[PublishedFile(**file) for file in held["decisions"]],
        )


def read_file(file: PublishedFile, sources: Mapping[str, Path]) -> bytes:
    """Reads the file's content from a clone or a folder; it must have the catalogue's hash."""
    folder = sources.get(file.repository)
    again = f"Clone https://github.com/{file.repository} and give --source {file.repository}=CLONE"
    if folder is None:
        raise MissingError(f"{file.path}: its repository is not here. {again}.")
    blob = ["git", "-C", str(folder), "cat-file", "blob", f"{file.commit}:{file.path}"]
    done = subprocess.run(blob, capture_output=True, check=False)
    contents = [] if done.returncode else [done.stdout]
    contents += [
        path.read_bytes() for path in sorted(folder.rglob(file.name)) if path.is_file()
    ]
    for content in contents:
        if hashlib.sha256(content).hexdigest() == file.sha256:
            return content
    raise MissingError(
        f"{folder}: has no {file.path} of commit {file.commit[:10]} with SHA-256 {file.sha256[:12]}. {again}."
    )


def records(content: bytes, name: str) -> list[dict[str, str]]:
    """Reads the records of a file: JSON Lines, or CSV."""
    text = content.decode("utf-8")
    if name.endswith(".csv"):
        csv.field_size_limit(len(content))
        return list(csv.DictReader(io.StringIO(text, newline="")))
    if name.endswith(".json"):
        listed: list[dict[str, str]] = json.loads(text)["predictions"]
        return listed
    return [json.loads(line) for line in text.split("\n") if line.strip()]


def answers_of(task: TaskSpec, content: bytes, name: str) -> Iterator[PublishedAnswer]:
    """Yields the answers of the authors' files, with their questions."""
    for number, record in enumerate(records(content, name), start=1):
        at = f"record {number}"
        if (
            "encounter_id" in record
        ):  # an id of the release, whose turns DocLens cuts otherwise
            yield PublishedAnswer(
                at=at, ids=(record["encounter_id"],), text=record["note"]
            )
            continue
        if "prediction" in record:  # named by id and recording, as `D2N088-virtassist`
            note = None if record["prediction"] == FAILED else record["prediction"]
            yield PublishedAnswer(
                at=at, ids=(record["file"].partition("-")[0],), text=note
            )
            continue
        for answer in MEDCALC.published_answers(task, record):
            question = "\n".join(record[name] for name in ASKED)
            text = answer.text if isinstance(answer.text, str) else None
            yield PublishedAnswer(
                at=at, ids=(answer.item,), questions=(question,), text=text
            )


@dataclass
class AuthorsFile(PublishedSource):
    """Answers that a benchmark's authors published."""

    entry: PublishedModel
    content: bytes
    unknown: Sequence[str]
    matched: Set[str] = frozenset()  # places of the answers that were matched

    @property
    def name(self) -> str:  # type: ignore[override]  # a source's own name may be computed
        """The name of this source among others."""
        return f"{self.entry.organisation} {self.entry.file.name}"

    def find_answers(self, task: TaskSpec, items: Sequence[Item]) -> SourceRun:
        """Finds the items by the text of their questions: rows were numbered otherwise before."""
        file = self.entry.file
        answers = list(answers_of(task, self.content, file.name))
        matches = Questions(task, items).matches(answers)
        first: dict[str, PublishedAnswer] = {}
        for match in matches:
            if match.item is not None:  # an early file asks one question twenty times
                first.setdefault(match.item, match.answer)
        self.matched = {answer.at for answer in first.values()}
        texts = {
            item: answer.text
            for item, answer in first.items()
            if answer.text is not None
        }
        lost = dict.fromkeys(first.keys() - texts.keys(), ERROR)
        origin: JsonDict = {
            "kind": self.entry.organisation,
            "address": file.address,
            "licence": file.licence,
            "files": {file.name: file.sha256},
            "model": self.entry.model,
            "settings": dict(self.entry.settings),
            "unknown": list(
                self.unknown if self.entry.unknown is None else self.entry.unknown
            ),
            "matched": counts(matches),
        }
        reported = [
            ReportedFigure(metric=name, value=value)
            for name, value in self.entry.reported.items()
        ]
        if recorded := recorded_results(self.content, file.name, self.matched):
            share = round(100 * sum(recorded) / len(recorded), 2)
            reported.append(ReportedFigure(metric=RECORDED, value=share))
        return SourceRun(
            model=self.entry.model,
            repeats=[SourceAnswers(texts=texts, unanswered=lost)],
            origin=origin,
            reported=reported,
        )


def recorded_results(content: bytes, name: str, places: Set[str]) -> list[bool]:
    """Reads whether the authors recorded the answers in these places as right."""
    return [
        record["Result"] == "Correct"
        for number, record in enumerate(records(content, name), start=1)
        if "Result" in record and f"record {number}" in places
    ]


def recorded_decisions(content: bytes, name: str) -> tuple[int, int]:
    """Counts the decisions in a file of MedCalc-Bench's authors, and those that equal ours.

    Decided are the answers that they read, with their limits of 5 percent around the
    gold.
    """
    rows = records(content, name)
    same = 0
    for row in rows:
        gold = str(row["Ground Truth Answer"])
        low, high = limits(gold)
        decision = official_check(
            str(row["LLM Answer"]),
            calculator_id=row["Calculator ID"],
            gold=gold,
            lower=low,
            upper=high,
        )
        same += decision.correct == (row["Result"] == "Correct")
    return len(rows), same


def limits(gold: str) -> tuple[str, str]:
    """Returns the limits of a gold answer; for dates and ages these are the answer itself."""
    try:
        value = float(gold)
    except ValueError:
        return gold, gold
    low, high = sorted((value * 0.95, value * 1.05))
    return str(low), str(high)


def check_no_text(package: Path, texts: Sequence[str]) -> None:
    """Refuses a package that shares a run of words with an answer."""
    import zipfile

    with zipfile.ZipFile(package) as opened:
        held = " ".join(opened.read(name).decode("utf-8") for name in opened.namelist())
    words = held.split()
    runs = {
        tuple(words[at : at + LONGEST_QUOTE])
        for at in range(len(words) - LONGEST_QUOTE + 1)
    }
    for text in texts:
        own = text.split()
        if any(
            tuple(own[at : at + LONGEST_QUOTE]) in runs
            for at in range(len(own) - LONGEST_QUOTE + 1)
        ):
            raise ValueError(f"{package}: quotes an answer")


def make_package(
    entry: PublishedModel,
    content: bytes,
    catalogue: Catalogue,
    data: Path,
    folder: Path,
) -> Path:
    """Scores an entry's answers, and writes the package."""
    source = AuthorsFile(entry, content, catalogue.unknown)
    run = folder / "run"
    rescore(
        Score(task=entry.task, responses=Path(entry.file.name), data=data, out=run),
        source,
    )
    submitter = Submitter(
        model=entry.model,
        organisation=entry.organisation,
        url=f"https://github.com/{entry.file.repository}",
        notes=" ".join(
            filter(None, (f"Answers published by {entry.organisation}.", entry.note))
        ),
        open_weights=entry.facts.get("open_weights"),
        parameters=entry.facts.get("parameters"),
        licence=entry.facts.get("licence", ""),
    )
    package = folder / "package.zip"
    options = VerifyOptions(data=data, responses=run)
    judged = not task_spec(entry.task).judge
    write_package(
        run, package, submitter, options=options, answers=False, judged=judged
    )
    check_no_text(
        package,
        [
            answer.text or ""
            for answer in answers_of(task_spec(entry.task), content, entry.file.name)
        ],
    )
    return package


def labels(entry: PublishedModel, data: Path) -> dict[str, str]:
    """Returns the argument with the corrected labels, which verifying needs."""
    is_medcalc = task_spec(entry.task).benchmark == MEDCALC
    return (
        {"corrected": str(data / task_spec(entry.task).dataset)} if is_medcalc else {}
    )


def fill(
    store: Path, catalogue: Catalogue, contents: Mapping[str, bytes], data: Path
) -> None:
    """Replaces the store's entries of published answers."""
    board = Board(LocalStorage(store))
    for submission in board.submissions():
        entries = board.results(submission.id)["tasks"].values()
        if any("imported" in entry["recipe"] for entry in entries):
            shutil.rmtree(store / "submissions" / submission.id)
            shutil.rmtree(store / "events" / submission.id)
    board = Board(LocalStorage(store), clock=lambda: catalogue.accepted)
    first: dict[tuple[str, str], str] = {}
    for entry in catalogue.entries:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            package = make_package(
                entry, contents[entry.file.sha256], catalogue, data, folder
            )
            submitted = board.submit(package.read_bytes())
            options = VerifyOptions(
                data=data, responses=folder / "run", task_args=labels(entry, data)
            )
            report = verified_report(board, submitted.id, options, Attestation())
        who = (entry.organisation, entry.model)
        board.decide(
            submitted.id,
            "accepted",
            by="the maintainers",
            reason="Published answers, scored here.",
            verified=report,
            replaces=first.get(who, ""),
        )
        first.setdefault(who, submitted.id)
        print(
            f"{submitted.id}: {entry.model}, {entry.organisation}, {entry.task}",
            flush=True,
        )
    if problems := check_store(board).problems:
        raise ValueError("; ".join(problems))


@dataclass(frozen=True, kw_only=True)
class Shown:
    """A result of the store, as the tables show it."""

    model: str
    organisation: str
    task: str
    entry: Json
    right: Mapping[str, float]  # by item id, of MedCalc-Bench

    @property
    def is_published(self) -> bool:
        """Whether others published the answers."""
        return "imported" in self.entry["recipe"]

    def figure(self, name: str, *, decimals: int = 1, n: bool = False) -> str:
        """A metric in percent with its interval, `20.6 (18.2 to 23.3)`; with `n` its items too."""
        metric = self.entry["metrics"].get(name)
        if metric is None or metric["value"] is None:
            return "-"
        ends = (metric["value"], metric["ci_low"], metric["ci_high"])
        return in_percent(*ends, decimals=decimals, n=metric["n"] if n else None)

    def reported(self, name: str) -> str:
        """A figure that the source reports of these answers."""
        values = (
            figure["value"]
            for figure in self.entry.get("reported", ())
            if figure["metric"] == name
        )
        value = next(values, None)
        return "-" if value is None else f"{value:.2f}"

    def on_items_of(self, other: Shown) -> str:
        """The accuracy on the items that another result covers, with Wilson's interval."""
        values = [self.right[item] for item in other.right]
        interval = proportion_interval(values)
        return in_percent(interval.value, interval.ci_low, interval.ci_high)


def in_percent(
    value: float, low: float, high: float, *, decimals: int = 1, n: int | None = None
) -> str:
    """Writes a figure with its interval and number of items."""
    items = "" if n is None else f", {n:,}"
    return f"{100 * value:.{decimals}f} ({100 * low:.1f} to {100 * high:.1f}{items})"


def shown_results(store: Path) -> list[Shown]:
    """Lists the accepted results of a store: published answers in the catalogue's order, then others."""
    board = Board(LocalStorage(store))
    results = []
    for submission in board.submissions("accepted"):
        items = board.package(submission.id).items
        results += [
            Shown(
                model=submission.submitter.model,
                organisation=submission.submitter.organisation,
                task=task,
                entry=board.results(submission.id)["tasks"][task],
                right={
                    row["id"]: row["accuracy"]
                    for row in items
                    if row["task"] == task and row.get("accuracy") is not None
                },
            )
            for task in submission.tasks
        ]
    order = {
        (entry.organisation, entry.model, entry.task): position
        for position, entry in enumerate(Catalogue.read().entries)
    }

    def sort_key(result: Shown) -> tuple[int, str, str]:
        return (
            order.get((result.organisation, result.model, result.task), len(order)),
            result.task,
            result.model,
        )

    return sorted(results, key=sort_key)


def tables(store: Path) -> dict[str, str]:
    """Writes the tables of the documents, by name."""
    shown = shown_results(store)
    medcalc = [
        result for result in shown if task_spec(result.task).benchmark == MEDCALC
    ]
    return {
        "medcalc": answers_table(medcalc),
        "notes": notes_table(
            [result for result in shown if result.task == "aci_bench"]
        ),
        "labels": labels_table([result for result in medcalc if result.is_published]),
    }


def answers_table(results: Sequence[Shown]) -> str:
    """Writes the table of MedCalc-Bench: figures of the paper, of its authors' records, and ours."""
    papers = {
        (entry.organisation, entry.model, entry.task): entry.paper
        for entry in Catalogue.read().entries
    }
    # the catalogue begins with it
    whole = next(result for result in results if result.is_published)
    rows = [
        "| model | task | items | paper, 1,047 items | recorded | `accuracy_official` | `accuracy` "
        f"| {whole.model} on these items |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for result in results:
        paper = papers.get((result.organisation, result.model, result.task))
        is_partial = result.is_published and len(result.right) < len(whole.right)
        cells = (
            result.model,
            result.task,
            f"{len(result.right):,}",
            f"{paper['value']:.2f} ({paper['where']})" if paper else "-",
            result.reported(RECORDED),
            result.figure("accuracy_official"),
            result.figure("accuracy"),
            whole.on_items_of(result) if is_partial else "-",
        )
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def labels_table(results: Sequence[Shown]) -> str:
    """Writes the table of MedCalc-Bench by four sets of labels."""
    names = ("accuracy", "accuracy_recomputed", "accuracy_agreed", "accuracy_corrected")
    heads = " | ".join(f"`{name}`" for name in names)
    rows = [f"| model | task | {heads} |", "|---|---|---|---|---|---|"]
    for result in results:
        figures = [result.figure(name, n=True) for name in names]
        rows.append(f"| {' | '.join((result.model, result.task, *figures))} |")
    return "\n".join(rows)


def notes_table(results: Sequence[Shown]) -> str:
    """Writes the table of ACI-BENCH: ROUGE as its authors report it, and ours."""
    pairs = (("ROUGE-1", "rouge1"), ("ROUGE-2", "rouge2"), ("ROUGE-L", "rougeLsum"))
    heads = " | ".join(f"{theirs} | `{ours}`" for theirs, ours in pairs)
    rows = [f"| system | {heads} |", "|---|---|---|---|---|---|---|"]
    for result in results:
        cells = [
            cell
            for theirs, ours in pairs
            for cell in (result.reported(theirs), result.figure(ours, decimals=2))
        ]
        rows.append(f"| {' | '.join((result.model, *cells))} |")
    return "\n".join(rows)


def in_document(document: str, name: str, table: str) -> str:
    """Puts a table between its marks in a document."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    head, rest = document.split(begin)
    return f"{head}{begin}\n{table}\n{end}{rest.split(end)[1]}"


def write_tables(store: Path) -> None:
    """Writes the tables into the documents."""
    for name, table in tables(store).items():
        path = TABLES[name]
        path.write_text(
            in_document(path.read_text(encoding="utf-8"), name, table), encoding="utf-8"
        )


def main() -> int:
    """Makes the entries and the tables; 1 if a recorded decision is not reproduced."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--source", action="append", default=[], metavar="OWNER/NAME=FOLDER"
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--store", type=Path, default=STORE)
    arguments = parser.parse_args()
    sources = {
        name: Path(folder)
        for name, _, folder in (source.partition("=") for source in arguments.source)
    }
    catalogue = Catalogue.read()
    try:
        files = [entry.file for entry in catalogue.entries] + list(catalogue.decisions)
        contents = {file.sha256: read_file(file, sources) for file in files}
        decided = [
            recorded_decisions(contents[file.sha256], file.name)
            for file in files
            if file.path.endswith(".jsonl")
        ]
        recorded = sum(total for total, _ in decided)
        same = sum(equal for _, equal in decided)
        print(
            f"{same:,} of {recorded:,} recorded decisions are those of accuracy_official"
        )
        fill(arguments.store, catalogue, contents, arguments.data)
    except MedicalTasksError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    write_tables(arguments.store)
    return int(same != recorded)


if __name__ == "__main__":
    sys.exit(main())
