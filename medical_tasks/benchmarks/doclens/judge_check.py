"""Checks a judge on claims that people labelled against texts, with DocLens' questions.

DocLens asks whether a text entails a claim. Two published sets of clinicians' labels
answer nearly the same question, and are read here in their published form:

- **VeriFact-BHC** (Chung et al., https://physionet.org/content/mimic-iii-ext-verifact-bhc/1.0.0/):
  13,290 propositions of hospital courses that people and a model wrote, each labelled
  against the patient's whole record. Form: philipchung/verifact, commit
  ef39263cea5d988e2434f96c6890791ca265a261, `packages/irr_metrics/src/irr_metrics/type_utils.py`
  (columns), `.../constants.py` (labels), `packages/llm_judge/src/llm_judge/judge_cohort.py`
  (`subject_id`), `scripts/analysis_verifact/1_verifact_BHC_dataset_statistics.py` (files) and
  `packages/rag/src/rag/readers/note_reader.py` (notes).
- **FactEHR** (Munnangi et al., https://arxiv.org/abs/2412.12422): 1,036 pairs of a note
  and a fact that models took from it, or of such facts and a sentence of the note.
  Form: som-shahlab/factehr, commit f65ff81abf55e7815b38f05dfb9ead297b54b30c,
  `docs/release_files.md` and `scripts/annotations/entailment_annotation_analysis.R` (files,
  columns, labels 1 and 0).

How labels become verdicts:

| set | label | verdict |
|---|---|---|
| VeriFact-BHC | Supported | entailed |
| VeriFact-BHC | Not Supported, Not Addressed | not entailed |
| FactEHR | 1 / 0 | entailed / not entailed |

What is lost: DocLens has no verdict "contradicted", so that it makes no difference
whether the text denies a claim or does not mention it. "Not Supported" also means
partly supported, so it is no contradiction either. VeriFact's clinicians saw the whole
record, which is too long for a prompt: the judge sees the passages that share most
words with the claim (`PASSAGES`), and what these leave out counts as its error.

    medical-tasks judge-check doclens --source FOLDER --judge JUDGE
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

from medical_tasks.benchmarks.doclens.judge_prompts import (
    check_judging,
    load_judge_prompts,
)
from medical_tasks.benchmarks.doclens.judging import claim_line
from medical_tasks.data.dataset_source import file_sha256
from medical_tasks.errors import MissingError, UsageError
from medical_tasks.guard.policy import Subject
from medical_tasks.io.csv_files import StreamedRow, stream_rows
from medical_tasks.io.files import read_text
from medical_tasks.judges.base import Judge, Judging, Label, Unscored
from medical_tasks.judges.check_figures import CheckPair, subset
from medical_tasks.judges.check_sets import (
    CheckRequest,
    CheckSet,
    CheckSetSource,
    Mode,
    cell_error,
    pair_id,
)
from medical_tasks.judges.checks import TWO_WAY
from medical_tasks.judges.rounds import ask_together
from medical_tasks.scoring.sentences import split_sentences
from medical_tasks.spec import TaskSpec

SET: Final = "doclens"
DEMO_SET: Final = "doclens_demo"
"""The set of invented claims, which corrects no score."""
STYLE: Final = "json_cot"
"""The default style of scoring."""
FORM: Final = "text"

PASSAGES: Final = 50
"""Number of passages of a patient's record for each claim; VeriFact works best with 50 facts or more."""

LABELS: Final[Mapping[str, Label]] = {
    "Supported": "entailment",
    "Not Supported": "not_entailment",
    "Not Addressed": "not_entailment",
}
"""VeriFact's labels."""
AUTHORS: Final = ("human", "llm")
"""The authors of the claims' texts."""
PROPOSITIONS: Final = ("claim", "sentence")
_JUDGED: Final[Mapping[str, Label]] = {
    "1": "entailment",
    "0": "not_entailment",
    "1.0": "entailment",
    "0.0": "not_entailment",
}
"""FactEHR's labels; R writes whole numbers either way."""
_WRITTEN_BY: Final = {"precision": "llm", "recall": "human"}
"""The authors of FactEHR's hypotheses: facts are a model's, sentences are the note's."""

PROPOSITIONS_FILE: Final = "propositions/propositions.csv.gz"
VERDICTS_FILE: Final = "propositions/human_verdicts.csv.gz"
NOTES_FILE: Final = "reference_ehr/ehr_noteevents.csv.gz"
PAIRS_FILES: Final = "all_human_model_entailment_labels*.csv"

_RATERS: Final = ("verdict1", "verdict2", "verdict3")
_SHOWN: Final = 16
"""Longest wrong value that a message quotes; a longer one may be text of a note."""
_VERIFACT: Final = "VeriFact-BHC"
_FACTEHR: Final = "FactEHR"
_STEPS: Final = (
    "Give --source the unpacked folder of VeriFact-BHC "
    "(https://physionet.org/content/mimic-iii-ext-verifact-bhc/1.0.0/, with propositions/ and "
    "reference_ehr/), or FactEHR's all_human_model_entailment_labels_120824.csv "
    "(https://stanford.redivis.com/datasets/bckk-15p0mwmz7). To try it on invented claims: "
    "judge-check doclens --config demo"
)


@dataclass(frozen=True, kw_only=True)
class LabelledClaim(CheckPair):
    """A claim, the text by which it is judged, and people's label.

    Attributes:
        claim: one sentence.
        text: the text that may entail it.
        patient: the patient in whose record the text is to be found; "" if it is given.
    """

    claim: str
    text: str = ""
    patient: str = ""


def check_set(task: TaskSpec) -> CheckSetSource:
    """The set of labelled claims for checking a judge of `task`."""
    rule = (
        "VeriFact-BHC (PhysioNet-Credentialed) and FactEHR (Stanford's agreement) hold notes of "
        "patients; both ask that models be used on your own machines, and that no third party "
        "keeps what it is sent"
    )
    return CheckSetSource(
        read=partial(_read, task),
        takes=frozenset({"config"}),
        subjects=(
            Subject(
                name=f"judge-check {SET}",
                dataset="doclens_labels",
                access="credentialed",
                rule=rule,
            ),
        ),
        task=lambda _: task,
        batched=True,
        commands={SET: " --source FOLDER", DEMO_SET: " --config demo"},
    )


def _read(task: TaskSpec, request: CheckRequest) -> CheckSet:
    """Reads the claims of one of the two sets, or of the demo, as many as requested."""
    prompts = load_judge_prompts(task)
    demo = request.config is not None
    if demo and request.config != "demo":
        raise UsageError(
            f"--config {request.config}: judge-check doclens has the configuration demo alone. "
            f"{_STEPS}."
        )

    if demo and request.source is not None:
        raise UsageError("--config demo is invented claims: give it, or --source.")

    claims, files, about = read_demo() if demo else read_labels(request)
    chosen = {pair.id for pair in subset(claims, request.max_pairs)}
    pairs = [claim for claim in claims if claim.id in chosen]
    if any(claim.patient for claim in pairs):
        notes = next(path for path in files if path.name.startswith("ehr_noteevents"))
        pairs = with_passages(pairs, notes)

    def ask(judge: Judge, mode: Mode, backwards: bool) -> list[Label | Unscored]:
        judging = Judging(judge=judge, prompts=prompts, mode=mode)
        return judge_claims(pairs, judging, backwards=backwards)

    return CheckSet(
        name=DEMO_SET if demo else SET,
        pairs=pairs,
        ask=ask,
        ways=len(TWO_WAY.classes),
        views=(TWO_WAY,),
        source={path.name: file_sha256(path) for path in files},
        prompts={"set": prompts.name, "sha256": prompts.sha256},
        about={**about, "elsewhere": True},
    )


def judge_claims(
    claims: Sequence[LabelledClaim], judging: Judging, *, backwards: bool = False
) -> list[Label | Unscored]:
    """Asks a judge about each claim, in order; a batch has the claims on one text.

    With `backwards` the claims on a text are in reverse order. The prompts do not list
    the verdicts, true and false, so these have no order.
    """
    check_judging(judging, STYLE)
    by_text: dict[str, list[LabelledClaim]] = {}
    for claim in claims:
        by_text.setdefault(claim.text, []).append(claim)

    if backwards:
        by_text = {text: group[::-1] for text, group in by_text.items()}

    lines = [
        claim_line(
            pair_id(text),
            text,
            tuple(claim.claim for claim in group),
            FORM,
            judging,
            STYLE,
        )
        for text, group in by_text.items()
    ]
    labels: dict[str, Label | Unscored] = {}
    for group, (verdicts, reasons) in zip(
        by_text.values(), ask_together(judging.judge, lines), strict=True
    ):
        for claim, verdict in zip(group, verdicts or (), strict=True):
            labels[claim.id] = _label(claim, verdict, reasons)

    return [labels[claim.id] for claim in claims]


def _label(
    claim: LabelledClaim, verdict: bool | None, reasons: Sequence[str]
) -> Label | Unscored:
    if verdict is None:
        reason = reasons[0] if reasons else "judge: no verdict"
        return Unscored(id=claim.id, reason=reason)
    return "entailment" if verdict else "not_entailment"


# --- files


def read_labels(
    request: CheckRequest,
) -> tuple[list[LabelledClaim], list[Path], dict[str, object]]:
    """Reads labels in one of the two published forms; returns claims, files, and a description."""
    if request.source is None:
        raise MissingError(f"judge-check doclens needs labelled claims. {_STEPS}.")

    source = request.source.expanduser()
    verifact = find_verifact(source)
    factehr = find_factehr(source)
    if verifact and factehr:
        raise UsageError(
            f"{source}: holds files of {_VERIFACT} and of {_FACTEHR}. Give the folder of one of "
            "them."
        )

    if verifact:
        return read_verifact(*verifact[:2]), verifact, {"claims": _VERIFACT}
    if factehr:
        return read_factehr(factehr), [factehr], {"claims": _FACTEHR}

    raise MissingError(
        f"{source}: has neither {VERDICTS_FILE} nor {PAIRS_FILES}. {_STEPS}."
    )


def find_verifact(source: Path) -> list[Path]:
    """Finds VeriFact-BHC's propositions, verdicts and notes, compressed or not; [] if there are none.

    Raises:
        MissingError: Some of the files are missing.
    """
    paths = {
        name: _existing(source / name)
        for name in (PROPOSITIONS_FILE, VERDICTS_FILE, NOTES_FILE)
    }
    present = [path for path in paths.values() if path is not None]
    if present and len(present) < len(paths):
        missing = [name for name, path in paths.items() if path is None]
        raise MissingError(
            f"{source}: {_VERIFACT} lacks {', '.join(missing)}. {_STEPS}."
        )

    return present


def _existing(packed: Path) -> Path | None:
    """The compressed file or the plain one, if there is one."""
    paths = (packed, packed.with_suffix(""))
    return next((path for path in paths if path.is_file()), None)


def find_factehr(source: Path) -> Path | None:
    """Finds FactEHR's labelled pairs: the file, or the only one in its folder."""
    if source.is_file():
        return source
    files = sorted(source.glob(PAIRS_FILES)) if source.is_dir() else []
    if len(files) > 1:
        names = ", ".join(path.name for path in files)
        raise UsageError(f"{source}: holds {names}. Give one of them to --source.")
    return files[0] if files else None


def read_verifact(propositions: Path, verdicts: Path) -> list[LabelledClaim]:
    """Reads VeriFact-BHC's propositions with the clinicians' labels, without texts, which are in the record.

    The label is `human_gt`, the majority of three clinicians or the result of an
    adjudication. The three clinicians differ from row to row.
    """
    patients = {
        row.cells["proposition_id"]: (_filled(propositions, row, "subject_id"), row)
        for row in _rows(
            propositions, ("proposition_id", "subject_id", "text"), _VERIFACT
        )
    }
    columns = ("proposition_id", "author_type", "proposition_type", "human_gt")
    claims: dict[str, LabelledClaim] = {}
    for row in _rows(verdicts, (*columns, *_RATERS), _VERIFACT):
        name = _filled(verdicts, row, "proposition_id")
        if name not in patients:
            raise cell_error(
                verdicts, row, "proposition_id", f"no row of {propositions.name} has it"
            )

        if name in claims:
            raise cell_error(verdicts, row, "proposition_id", "appears twice")

        patient, proposition = patients[name]
        stated = _one_of(verdicts, row, "human_gt", LABELS)
        ratings = [
            _one_of(verdicts, row, column, LABELS) if row.cells[column] else None
            for column in _RATERS
        ]
        claims[name] = LabelledClaim(
            id=name,
            claim=_filled(propositions, proposition, "text"),
            patient=patient,
            gold=LABELS[stated],
            cluster=patient,
            ratings=tuple(
                None if rating is None else LABELS[rating] for rating in ratings
            ),
            group=_one_of(verdicts, row, "author_type", AUTHORS),
            groups={
                "label": stated,
                "proposition": _one_of(verdicts, row, "proposition_type", PROPOSITIONS),
            },
        )

    return list(claims.values())


def read_factehr(path: Path) -> list[LabelledClaim]:
    """Reads FactEHR's pairs with an expert's label.

    Pairs for precision are about a note that may entail a fact extracted by a model;
    pairs for recall are about all facts, which may entail a sentence of the note.
    """
    columns = ("doc_id", "prompt", "index", "entailment_type", "model_name")
    texts = ("premise", "hypothesis")
    claims: dict[str, LabelledClaim] = {}
    for row in _rows(path, (*columns, *texts, "human_pred"), _FACTEHR):
        direction = _one_of(path, row, "entailment_type", _WRITTEN_BY)
        premise, hypothesis = (_filled(path, row, name) for name in texts)
        name = pair_id(*(row.cells[column] for column in columns), hypothesis)
        if name in claims:
            raise cell_error(path, row, "index", "this pair appears twice")

        claims[name] = LabelledClaim(
            id=name,
            text=premise,
            claim=hypothesis,
            gold=_JUDGED[_one_of(path, row, "human_pred", _JUDGED)],
            cluster=_filled(path, row, "doc_id"),
            group=_WRITTEN_BY[direction],
            model=row.cells["model_name"].strip(),
            words=len(premise.split()),
            groups={"direction": direction},
        )

    return list(claims.values())


def read_demo() -> tuple[list[LabelledClaim], list[Path], dict[str, object]]:
    """Reads invented claims on invented texts, with VeriFact-BHC's labels."""
    path = Path(__file__).with_name("demo_claims.json")
    claims = [
        LabelledClaim(
            id=f"demo/{number}/{index}",
            text=entry["text"],
            claim=claim,
            gold=LABELS[label],
            cluster=str(number),
            group=author,
            words=len(entry["text"].split()),
            groups={"label": label, "proposition": kind},
        )
        for number, entry in enumerate(json.loads(read_text(path)))
        for index, (author, kind, claim, label) in enumerate(entry["claims"])
    ]

    return claims, [path], {"claims": "demo"}


def _rows(path: Path, columns: Sequence[str], release: str) -> Iterable[StreamedRow]:
    """The rows of a released file, which may have further columns."""
    return stream_rows(path, columns, selected={}, release=release, others=True)


def _filled(path: Path, row: StreamedRow, column: str) -> str:
    """A cell that must not be empty."""
    text = row.cells[column].strip()
    if not text:
        raise cell_error(path, row, column, "empty; every row has a value there")
    return text


def _one_of(path: Path, row: StreamedRow, column: str, values: Iterable[str]) -> str:
    """A cell that must be one of some words; messages do not quote a long one, which may be text of a note."""
    text = row.cells[column].strip()
    allowed = list(values)
    if text not in allowed:
        got = repr(text) if len(text) <= _SHOWN else f"a text of {len(text)} characters"
        raise cell_error(path, row, column, f"must be {', '.join(allowed)}, got {got}")
    return text


# --- passages of a record


def with_passages(claims: Sequence[LabelledClaim], notes: Path) -> list[LabelledClaim]:
    """Adds to the claims the passages of their patients' notes that share most words with them."""
    records = _records(notes, {claim.patient for claim in claims})
    completed = []
    for claim in claims:
        if claim.patient not in records:
            raise UsageError(
                f"{notes}: has no note of the patient of proposition {claim.id}. Give the "
                f"folder as {_VERIFACT} was released."
            )

        text = records[claim.patient].passages(claim.claim)
        completed.append(replace(claim, text=text, words=len(text.split())))

    return completed


def _records(notes: Path, patients: set[str]) -> dict[str, Record]:
    """The records of patients: the sentences of their notes in chronological order."""
    columns = ("SUBJECT_ID", "CHARTDATE", "TEXT")
    rows = stream_rows(
        notes,
        columns,
        selected={"SUBJECT_ID": patients},
        release=_VERIFACT,
        others=True,
    )
    by_patient: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    for row in rows:
        date, text = row.cells["CHARTDATE"][: len("2000-01-01")], row.cells["TEXT"]
        by_patient[row.cells["SUBJECT_ID"]].append((date, text))

    return {
        patient: Record(sorted(dated_texts, key=lambda note: note[0]))
        for patient, dated_texts in by_patient.items()
    }


_K1: Final = 1.2
_B: Final = 0.75
"""The usual values of BM25 (Robertson and Zaragoza 2009, Found Trends Inf Retr 3:333)."""
_WORD: Final = re.compile(r"\d+(?:[.,]\d+)+|[^\W_]+")


class Record:
    """The sentences of a patient's notes, searched by words (BM25).

    Example: of two notes with the sentence "No known allergies." only the first one's is kept,
    as `2101-03-02: No known allergies.`
    """

    def __init__(self, notes: Sequence[tuple[str, str]]) -> None:
        """Splits notes into sentences, and keeps the first copy of each.

        Args:
            notes: date and text of each, in order.
        """
        dated = {
            " ".join(sentence.split()): date
            for date, text in reversed(notes)
            for sentence in reversed(split_sentences(text))
        }
        self._sentences = [
            f"{date}: {sentence}" for sentence, date in reversed(dated.items())
        ]
        counts = [Counter(_words(sentence)) for sentence in self._sentences]
        self._lengths = [count.total() for count in counts]
        self._mean = sum(self._lengths) / max(1, len(counts)) or 1.0
        self._occurrences: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
        for number, count in enumerate(counts):
            for word, times in count.items():
                self._occurrences[word].append((number, times))

    def passages(self, claim: str, most: int = PASSAGES) -> str:
        """The sentences that share most words with a claim, one per line, in the record's order."""
        scores: defaultdict[int, float] = defaultdict(float)
        total = len(self._sentences)
        for word in dict.fromkeys(_words(claim)):
            occurrences = self._occurrences.get(word, ())
            frequency = len(occurrences)
            rarity = math.log1p((total - frequency + 0.5) / (frequency + 0.5))
            for number, times in occurrences:
                length = 1.0 - _B + _B * self._lengths[number] / self._mean
                scores[number] += rarity * times * (_K1 + 1.0) / (times + _K1 * length)

        ranked = sorted(range(total), key=lambda number: (-scores[number], number))
        return "\n".join(self._sentences[number] for number in sorted(ranked[:most]))


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())
