"""Claims that people labelled against texts, and a judge asked about them as DocLens asks.

DocLens asks of a claim whether a text entails it. Two published sets of clinicians'
labels ask nearly that, and are read here in their published form:

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

What is lost: DocLens has no word for "contradicted", so that a claim that the text
denies and one that it leaves out are the same; and "Not Supported" also means partly
supported, so that it is no contradiction either. VeriFact's clinicians had the whole
record before them, which no prompt holds: the judge is shown the passages of it that
share most with the claim (`PASSAGES`), and what these leave out counts as its error.

    medical-tasks judge-check doclens --source FOLDER --judge JUDGE
"""

from __future__ import annotations

import hashlib
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
from medical_tasks.judges.check_sets import CheckRequest, CheckSet, CheckSetSource, Mode
from medical_tasks.judges.checks import TWO_WAY
from medical_tasks.judges.rounds import ask_together
from medical_tasks.scoring.sentences import split_sentences
from medical_tasks.spec import TaskSpec

SET: Final = "doclens"
DEMO_SET: Final = "doclens_demo"
"""Invented claims, which correct no score."""
STYLE: Final = "json_cot"
"""As scoring asks when nothing is said."""
FORM: Final = "text"

PASSAGES: Final = 50
"""Passages of a patient's record beside each claim; VeriFact does best with 50 facts and more."""

LABELS: Final[Mapping[str, Label]] = {
    "Supported": "entailment",
    "Not Supported": "not_entailment",
    "Not Addressed": "not_entailment",
}
"""VeriFact's labels."""
AUTHORS: Final = ("human", "llm")
"""Who wrote the text that a claim is of."""
PROPOSITIONS: Final = ("claim", "sentence")
_JUDGED: Final[Mapping[str, Label]] = {
    "1": "entailment",
    "0": "not_entailment",
    "1.0": "entailment",
    "0.0": "not_entailment",
}
"""FactEHR's labels; R writes whole numbers either way."""
_WRITTEN_BY: Final = {"precision": "llm", "recall": "human"}
"""Who wrote FactEHR's hypothesis: facts are a model's, sentences are the note's."""

PROPOSITIONS_FILE: Final = "propositions/propositions.csv.gz"
VERDICTS_FILE: Final = "propositions/human_verdicts.csv.gz"
NOTES_FILE: Final = "reference_ehr/ehr_noteevents.csv.gz"
PAIRS_FILES: Final = "all_human_model_entailment_labels*.csv"

_RATERS: Final = ("verdict1", "verdict2", "verdict3")
_SHOWN: Final = 16
"""Longest wrong value that a message quotes: a longer one may be a text of a note."""
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
    """A claim, the text it is judged by, and people's label.

    Attributes:
        text: what may entail the claim.
        claim: one sentence.
        patient: whose record it is judged by, where the text is to be found there.
    """

    claim: str
    text: str = ""
    patient: str = ""


def check_set(task: TaskSpec) -> CheckSetSource:
    """The labelled claims, on which a judge of DocLens can be checked."""
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
    """The claims of one of the two sets, or of the demo, as many as asked for."""
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
    judged = subset(claims, request.max_pairs)
    kept = {pair.id for pair in judged}
    wanted = [claim for claim in claims if claim.id in kept]
    if any(claim.patient for claim in wanted):
        notes = next(path for path in files if path.name.startswith("ehr_noteevents"))
        wanted = with_passages(wanted, notes)

    def ask(judge: Judge, mode: Mode, backwards: bool) -> list[Label | Unscored]:
        judging = Judging(judge=judge, prompts=prompts, mode=mode)
        return judge_claims(wanted, judging, backwards=backwards)

    return CheckSet(
        name=DEMO_SET if demo else SET,
        pairs=wanted,
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
    """Asks a judge about each claim, in order; claims on one text together where it takes batches.

    `backwards`: the claims on a text are asked about in reverse. The verdicts, true and
    false, are listed nowhere.
    """
    check_judging(judging, STYLE)
    of_text: dict[str, list[LabelledClaim]] = {}
    for each in claims:
        of_text.setdefault(each.text, []).append(each)

    if backwards:
        of_text = {text: some[::-1] for text, some in of_text.items()}

    lines = [
        claim_line(
            _digest(text),
            text,
            tuple(each.claim for each in some),
            FORM,
            judging,
            STYLE,
        )
        for text, some in of_text.items()
    ]
    labels: dict[str, Label | Unscored] = {}
    for some, (verdicts, reasons) in zip(
        of_text.values(), ask_together(judging.judge, lines), strict=True
    ):
        for each, verdict in zip(some, verdicts or (), strict=True):
            labels[each.id] = _label(each, verdict, reasons)

    return [labels[each.id] for each in claims]


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
    """Reads labels in one of the two published forms: claims, files, and what to say of them."""
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
    """Finds VeriFact-BHC's propositions, verdicts and notes, packed or not; [] where it is not there.

    Raises:
        MissingError: some of the files are there, and others are not.
    """
    names = (PROPOSITIONS_FILE, VERDICTS_FILE, NOTES_FILE)
    found = [_packed(source / name) for name in names]
    there = [path for path in found if path is not None]
    if there and len(there) < len(names):
        lacking = [
            name for name, path in zip(names, found, strict=True) if path is None
        ]
        raise MissingError(
            f"{source}: {_VERIFACT} lacks {', '.join(lacking)}. {_STEPS}."
        )

    return there


def _packed(path: Path) -> Path | None:
    plain = path.with_suffix("")
    return next((each for each in (path, plain) if each.is_file()), None)


def find_factehr(source: Path) -> Path | None:
    """Finds FactEHR's labelled pairs: the file, or the only one in its folder."""
    if source.is_file():
        return source
    found = sorted(source.glob(PAIRS_FILES)) if source.is_dir() else []
    if len(found) > 1:
        named = ", ".join(path.name for path in found)
        raise UsageError(f"{source}: holds {named}. Give one of them to --source.")
    return found[0] if found else None


def read_verifact(propositions: Path, verdicts: Path) -> list[LabelledClaim]:
    """Reads VeriFact-BHC's propositions with the clinicians' labels; their texts are in the record.

    The label is `human_gt`, the majority of three clinicians or what an adjudication
    decided. The three of a proposition are others from row to row.
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
            raise _wrong(
                verdicts, row, "proposition_id", f"no row of {propositions.name} has it"
            )

        if name in claims:
            raise _wrong(verdicts, row, "proposition_id", "appears twice")

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
            ratings=tuple(None if one is None else LABELS[one] for one in ratings),
            group=_one_of(verdicts, row, "author_type", AUTHORS),
            groups={
                "label": stated,
                "proposition": _one_of(verdicts, row, "proposition_type", PROPOSITIONS),
            },
        )

    return list(claims.values())


def read_factehr(path: Path) -> list[LabelledClaim]:
    """Reads FactEHR's pairs with the label of an expert.

    Pairs for precision ask whether a note entails a fact that a model took from it,
    those for recall whether the facts together entail a sentence of the note.
    """
    columns = ("doc_id", "prompt", "index", "entailment_type", "model_name")
    texts = ("premise", "hypothesis")
    claims: dict[str, LabelledClaim] = {}
    for row in _rows(path, (*columns, *texts, "human_pred"), _FACTEHR):
        direction = _one_of(path, row, "entailment_type", _WRITTEN_BY)
        premise, hypothesis = (_filled(path, row, name) for name in texts)
        name = _digest(*(row.cells[column] for column in columns), hypothesis)
        if name in claims:
            raise _wrong(path, row, "index", "this pair appears twice")

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
    """Invented claims on invented texts, labelled as VeriFact-BHC's are."""
    path = Path(__file__).with_name("demo_claims.json")
    claims = [
        LabelledClaim(
            id=f"demo/{number}/{place}",
            text=entry["text"],
            claim=claim,
            gold=LABELS[label],
            cluster=str(number),
            group=author,
            words=len(entry["text"].split()),
            groups={"label": label, "proposition": kind},
        )
        for number, entry in enumerate(json.loads(read_text(path)))
        for place, (author, kind, claim, label) in enumerate(entry["claims"])
    ]

    return claims, [path], {"claims": "demo"}


def _rows(path: Path, columns: Sequence[str], release: str) -> Iterable[StreamedRow]:
    """The rows of a released file, which may have further columns."""
    return stream_rows(path, columns, wanted={}, release=release, others=True)


def _filled(path: Path, row: StreamedRow, column: str) -> str:
    """A cell that must hold something."""
    text = row.cells[column].strip()
    if not text:
        raise _wrong(path, row, column, "empty; every row has a value there")
    return text


def _one_of(path: Path, row: StreamedRow, column: str, values: Iterable[str]) -> str:
    """A cell that must be one of some words; a long one may be a text, and is not quoted."""
    text = row.cells[column].strip()
    known = list(values)
    if text not in known:
        got = repr(text) if len(text) <= _SHOWN else f"a text of {len(text)} characters"
        raise _wrong(path, row, column, f"must be {', '.join(known)}, got {got}")
    return text


def _wrong(path: Path, row: StreamedRow, column: str, rule: str) -> UsageError:
    return UsageError(f"{path}, row {row.number}, column {column!r}: {rule}.")


def _digest(*texts: str) -> str:
    whole = "\0".join(texts).encode("utf-8", "surrogatepass")
    return hashlib.sha256(whole).hexdigest()[:16]


# --- passages of a record


def with_passages(claims: Sequence[LabelledClaim], notes: Path) -> list[LabelledClaim]:
    """The claims with the passages of each patient's notes that share most with them."""
    records = _records(notes, {claim.patient for claim in claims})
    made = []
    for claim in claims:
        if claim.patient not in records:
            raise UsageError(
                f"{notes}: has no note of the patient of proposition {claim.id}. Give the "
                f"folder as {_VERIFACT} was released."
            )

        text = records[claim.patient].passages(claim.claim)
        made.append(replace(claim, text=text, words=len(text.split())))

    return made


def _records(notes: Path, patients: set[str]) -> dict[str, Record]:
    """The records of patients: the sentences of their notes in the order of time."""
    columns = ("SUBJECT_ID", "CHARTDATE", "TEXT")
    rows = stream_rows(
        notes,
        columns,
        wanted={"SUBJECT_ID": patients},
        release=_VERIFACT,
        others=True,
    )
    of_patient: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    for row in rows:
        date, text = row.cells["CHARTDATE"][: len("2000-01-01")], row.cells["TEXT"]
        of_patient[row.cells["SUBJECT_ID"]].append((date, text))

    return {
        patient: Record(sorted(some, key=lambda note: note[0]))
        for patient, some in of_patient.items()
    }


_K1: Final = 1.2
_B: Final = 0.75
"""Of BM25 (Robertson and Zaragoza 2009, Found Trends Inf Retr 3:333): the usual values."""
_WORD: Final = re.compile(r"\d+(?:[.,]\d+)+|[^\W_]+")


class Record:
    """The sentences of a patient's notes, searched by words (BM25)."""

    def __init__(self, notes: Sequence[tuple[str, str]]) -> None:
        """Takes notes apart; of a sentence that was copied the first is kept.

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
        self._places: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
        for place, count in enumerate(counts):
            for word, times in count.items():
                self._places[word].append((place, times))

    def passages(self, claim: str, most: int = PASSAGES) -> str:
        """The sentences that share most with a claim, in the record's order, a line each."""
        scores: defaultdict[int, float] = defaultdict(float)
        for word in dict.fromkeys(_words(claim)):
            places = self._places.get(word, ())
            rare = math.log1p(
                (len(self._sentences) - len(places) + 0.5) / (len(places) + 0.5)
            )
            for place, times in places:
                length = 1.0 - _B + _B * self._lengths[place] / self._mean
                scores[place] += rare * times * (_K1 + 1.0) / (times + _K1 * length)

        ranked = sorted(
            range(len(self._sentences)), key=lambda place: (-scores[place], place)
        )
        return "\n".join(self._sentences[place] for place in sorted(ranked[:most]))


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())
