"""Sets of labelled pairs for checking a judge, each with its questions; a benchmark declares its own.

This module reads ANLI (Nie et al., 2020) and MedNLI (Romanov and Shivade, 2018);
DocLens reports its judges on both (tables 4 and 5).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal

from medical_tasks.data.dataset_source import file_sha256
from medical_tasks.errors import MissingError, UsageError
from medical_tasks.guard.policy import Subject
from medical_tasks.io.csv_files import StreamedRow
from medical_tasks.io.json_records import json_lines
from medical_tasks.io.tables import read_content
from medical_tasks.judges.base import (
    Judge,
    Label,
    Pair,
    Question,
    Unreadable,
    Unscored,
    turned,
)
from medical_tasks.judges.check_figures import CheckPair, subset
from medical_tasks.judges.checks import NLI, View
from medical_tasks.judges.reading import (
    Checker,
    one_of,
    quoted,
    read_choice,
    read_object,
    schema_of,
)
from medical_tasks.judges.shuffling import AskShuffled
from medical_tasks.models.checkpoint import MESSAGES
from medical_tasks.spec import TaskSpec

Mode = Literal["single", "batched"]

ROUNDS: Final = ("R1", "R2", "R3")

MEDNLI: Final = "MedNLI"
"""The group of MedNLI's pairs in the set of both; the other groups are ANLI's rounds."""

_ANLI_AVERAGE: Final = {"ANLI, mean of rounds": ROUNDS}
_AVERAGES: Final = {**_ANLI_AVERAGE, "mean of the four sets": (*ROUNDS, MEDNLI)}
_OFFICIAL: Final = "its official files"
_NLI_OPTIONS: Final = frozenset({"ways", "split", "style"})


def pair_id(*texts: str) -> str:
    """An id for texts that must not appear in results: 16 hexadecimal digits of their hash."""
    content = "\0".join(texts).encode("utf-8", "surrogatepass")
    return hashlib.sha256(content).hexdigest()[:16]


def cell_error(path: Path, row: StreamedRow, column: str, rule: str) -> UsageError:
    """The error for a cell of a file of labels that breaks a rule."""
    return UsageError(f"{path}, row {row.number}, column {column!r}: {rule}.")


def _mednli_subject(name: str) -> Subject:
    return Subject(
        name=f"judge-check {name}",
        dataset="mednli",
        access="credentialed",
        rule=(
            "MedNLI (PhysioNet-Credentialed, https://physionet.org/content/mednli/): its premises "
            "are sentences of MIMIC-III notes; PhysioNet's rule is to use models on your own "
            "machines, and that no third party may keep what it is sent"
        ),
    )


@dataclass(frozen=True, kw_only=True)
class CheckSet:
    """Labelled pairs, and how a judge is asked about them."""

    name: str
    pairs: Sequence[CheckPair]
    # asks a judge, in one of two modes, for the label of each pair in order; if the
    # third argument is true, in reverse order: the possible verdicts of our prompts, and
    # the statements of a batch
    ask: Callable[[Judge, Mode, bool], Sequence[str | Unscored]]
    # the same with the statements of a batch, or the answers' sentences, shuffled; None
    # if the pairs are about no answer
    ask_shuffled: AskShuffled | None = None
    answers: int = (
        1000  # number of answers of each compared model: the benchmark's questions
    )
    whole: bool = False  # whether all pairs of a cluster are about one answer
    ways: int
    views: Sequence[View] = NLI
    source: Mapping[str, str]
    prompts: Mapping[str, Any]
    # names of the raters, if the judge is compared with each
    raters: Sequence[str] = ()
    # maps the name of a mean of groups' accuracies to the groups
    averages: Mapping[str, Sequence[str]] = field(default_factory=dict)
    about: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class CheckRequest:
    """The options of `judge-check` without those of the judge; None for an option left out."""

    source: Path | None = None
    max_pairs: int | None = None
    prompts: str = "own"
    upstream: Path | None = None
    format: str | None = None
    raters: Sequence[str] = ()
    data: Path | None = None
    config: str | None = None
    ways: int | None = None
    round: str | None = None
    split: str | None = None
    style: str | None = None
    mednli: Path | None = None

    def needed(self, name: str, contents: str) -> Path:
        """Returns the source, or raises UsageError that says what it should contain."""
        if self.source is None:
            raise UsageError(
                f"judge-check {name} needs {contents}: --source PATH. See: --help"
            )
        return self.source


@dataclass(frozen=True, kw_only=True)
class CheckSetSource:
    """A set of labelled pairs that has not been read yet."""

    read: Callable[[CheckRequest], CheckSet]
    # fields of `CheckRequest` that it uses, beside those of all sets
    takes: frozenset[str]
    subjects: Sequence[Subject] = ()
    # the task whose judging is checked, by `format`; None for sets of no benchmark
    task: Callable[[str | None], TaskSpec] | None = None
    batched: bool = False  # whether one question can be about several pairs
    # the options of `judge-check`, beside the judge's, by the name of each of the
    # benchmark's own sets that this source can give
    commands: Mapping[str, str] = field(default_factory=dict)
    votes: int = 1  # default of votes per verdict in `judge-check`


def _read_anli(request: CheckRequest) -> CheckSet:
    files = find_anli(
        request.needed("anli", _OFFICIAL),
        round_name=request.round,
        split=request.split or "test",
    )
    averages = _ANLI_AVERAGE if set(files.values()) == set(ROUNDS) else {}
    return _nli_set("anli", request, read_anli(files), files, averages)


def _read_mednli(request: CheckRequest) -> CheckSet:
    path = find_mednli(
        request.needed("mednli", _OFFICIAL), split=request.split or "test"
    )
    return _nli_set("mednli", request, read_mednli(path), {path: ""}, {})


def _read_both(request: CheckRequest) -> CheckSet:
    """Reads ANLI's three rounds and MedNLI together, with the means of DocLens (tables 1 and 4)."""
    anli, split = request.needed("nli", _OFFICIAL), request.split or "test"
    if request.mednli is None:
        raise UsageError(
            "judge-check nli needs both: --source anli_v1.0 --mednli mli_test_v1.jsonl"
        )

    files, path = find_anli(anli, split=split), find_mednli(request.mednli, split=split)
    if set(files.values()) != set(ROUNDS):
        raise UsageError(
            f"{anli}: judge-check nli needs all three rounds of ANLI. Give the unpacked folder "
            "anli_v1.0."
        )

    pairs = [
        *read_anli(files),
        *(replace(pair, group=MEDNLI) for pair in read_mednli(path)),
    ]
    if len({pair.id for pair in pairs}) < len(pairs):
        raise UsageError(
            f"{path}: has ids of {anli}. Give MedNLI's own file to --mednli."
        )

    return _nli_set("nli", request, pairs, {**files, path: ""}, _AVERAGES)


def _nli_set(
    name: str,
    request: CheckRequest,
    labelled: Sequence[LabelledPair],
    files: Mapping[Path, str],
    averages: Mapping[str, Sequence[str]],
) -> CheckSet:
    """Builds a check of entailment: a judge labels pairs that people have labelled.

    Args:
        name: name of the set.
        request: the number of pairs, two or three classes, and the prompt's style.
        labelled: all pairs, of which `subset` keeps some.
        files: the files they were read from, each with its group.
        averages: names of means over groups, with their groups.
    """
    ways, style = request.ways or 3, request.style or STYLE
    # Hypotheses about one premise are not independent.
    every = [
        CheckPair(
            id=pair.id,
            gold=pair.label,
            cluster=pair.premise,
            group=pair.group,
            words=len(pair.premise.split()),
        )
        for pair in labelled
    ]
    pairs = subset(every, request.max_pairs)
    chosen = {pair.id for pair in pairs}

    def ask(judge: Judge, mode: Mode, backwards: bool) -> list[Label | Unscored]:
        outcomes = judge.ask(
            [
                nli_question(pair, ways=ways, style=style, backwards=backwards)
                for pair in labelled
                if pair.id in chosen
            ]
        )
        return [
            outcome if isinstance(outcome, Unscored) else outcome.value
            for outcome in outcomes
        ]

    return CheckSet(
        name=name,
        pairs=pairs,
        ask=ask,
        ways=ways,
        source={
            "/".join(filter(None, (group, path.name))): file_sha256(path)
            for path, group in files.items()
        },
        # A check of another style has a key of its own, since it says little about
        # benchmarks' prompts.
        prompts={
            "set": "own" if style == STYLE else f"own_{style}",
            "sha256": template_sha256(style),
        },
        averages=averages,
        about={"style": style},
    )


GENERAL_SETS: Final[Mapping[str, CheckSetSource]] = {
    "anli": CheckSetSource(read=_read_anli, takes=_NLI_OPTIONS | {"round"}),
    "mednli": CheckSetSource(
        read=_read_mednli, takes=_NLI_OPTIONS, subjects=(_mednli_subject("mednli"),)
    ),
    "nli": CheckSetSource(
        read=_read_both,
        takes=_NLI_OPTIONS | {"mednli"},
        subjects=(_mednli_subject("nli"),),
    ),
}
"""Sets of pairs that belong to no benchmark, by their name in `judge-check`."""


SPLITS: Final = ("train", "dev", "test")

_SHOWN = 16
_LABELS: Final[dict[int, tuple[Label, ...]]] = {
    2: ("entailment", "not_entailment"),
    3: ("entailment", "neutral", "contradiction"),
}


@dataclass(frozen=True, kw_only=True)
class LabelledPair:
    """A premise, a hypothesis and the label of their relation."""

    id: str
    premise: str
    hypothesis: str
    label: Label
    group: str = ""


def find_anli(
    source: Path, *, round_name: str | None = None, split: str = "test"
) -> dict[Path, str]:
    """Finds the files of ANLI, each with its round; "" if its folder is not named after one."""
    source = source.expanduser()
    path = source / f"{split}.jsonl" if source.is_dir() else source
    if path.is_file():
        folder = path.resolve().parent.name
        own_round = folder if folder in ROUNDS else ""
        if round_name is not None and own_round != round_name:
            actual = (
                f"round {own_round}"
                if own_round
                else "in a folder not named after a round"
            )
            raise UsageError(
                MESSAGES["anli_round"].format(
                    path=path, place=actual, wanted=round_name
                )
            )

        return {path: own_round}

    rounds = ROUNDS if round_name is None else (round_name,)
    files = {source / name / f"{split}.jsonl": name for name in rounds}
    missing = [str(path) for path in files if not path.is_file()]
    if missing:
        raise MissingError(
            f"ANLI: no such file: {', '.join(missing)}. {MESSAGES['anli']}"
        )

    return files


def find_mednli(source: Path, *, split: str = "test") -> Path:
    """Finds the file of MedNLI, or the split's file in its folder."""
    source = source.expanduser()
    path = source / f"mli_{split}_v1.jsonl" if source.is_dir() else source
    if not path.is_file():
        raise MissingError(f"MedNLI: no such file: {path}. {MESSAGES['mednli']}")
    return path


def read_anli(files: Mapping[Path, str]) -> list[LabelledPair]:
    """Reads files of ANLI in order."""
    fields = ("uid", "context", "hypothesis", "label")
    return _read(
        files, fields, {"e": "entailment", "n": "neutral", "c": "contradiction"}
    )


def read_mednli(path: Path) -> list[LabelledPair]:
    """Reads a file of MedNLI. Messages never quote its sentences."""
    labels: tuple[Label, ...] = _LABELS[3]
    return _read(
        {path: ""},
        ("pairID", "sentence1", "sentence2", "gold_label"),
        dict(zip(labels, labels, strict=True)),
    )


def _read(
    files: Mapping[Path, str], fields: Sequence[str], labels: Mapping[str, Label]
) -> list[LabelledPair]:
    """Reads pairs from lines of JSON; ids must differ over all files.

    Messages never quote a sentence, as text of a patient's note may be in the wrong
    field.

    Args:
        files: each with the group of its pairs, such as a round of ANLI.
        fields: the names of id, premise, hypothesis and label in the files.
        labels: maps the files' labels to ours.
    """
    form = f'{{"{fields[0]}", "{fields[1]}", "{fields[2]}", "{fields[3]}": "{"|".join(labels)}"}}'
    pairs: dict[str, LabelledPair] = {}
    repeated = ""
    for path, group in files.items():
        content = read_content(path, form=form)
        for line, value in json_lines(path, content, form=form):
            where = f"{path}, {line}"
            uid, premise, hypothesis, label = _field_texts(where, value, fields, form)
            if label not in labels:
                raise UsageError(
                    f"{where}, field {fields[3]!r}: must be {', '.join(labels)}, got "
                    f"{_shown(label)}."
                )

            repeated = repeated or (uid if uid in pairs else "")
            pairs[uid] = LabelledPair(
                id=uid,
                premise=premise,
                hypothesis=hypothesis,
                label=labels[label],
                group=group,
            )

    if repeated:
        shown = (
            repr(repeated) if " " not in repeated else f"of {len(repeated)} characters"
        )
        raise UsageError(
            f"{', '.join(map(str, files))}: the id {shown} appears twice. Give each file once, as "
            "it was released."
        )

    return list(pairs.values())


def _field_texts(
    where: str, value: object, fields: Sequence[str], form: str
) -> list[str]:
    """The texts of a line's fields, none of them empty."""
    if not isinstance(value, dict):
        raise UsageError(f"{where}: not a JSON object. A line is like {form}.")

    for name in fields:
        if name not in value:
            raise UsageError(
                f"{where}: field {name!r} is missing. A line is like {form}."
            )

        text = value[name]
        if not isinstance(text, str) or not text.strip():
            got = "empty text" if isinstance(text, str) else type(text).__name__
            raise UsageError(f"{where}, field {name!r}: must be text, got {got}.")

    return [value[name] for name in fields]


def _shown(label: str) -> str:
    """A label for a message; a long one, or several words, may be a sentence of a note."""
    short = len(label) <= _SHOWN and len(label.split()) <= 1
    return repr(label) if short else f"a text of {len(label)} characters"


STYLES: Final = ("json_cot", "json", "cot", "plain")
"""The reply's form: JSON or a line (`cot`, `plain`), after a reason (`_cot`, `cot`) or without one."""

STYLE: Final = "json_cot"
"""The default style."""

MAX_TOKENS: Final = 512

_TEXTS: Final[Mapping[str, Any]] = json.loads(
    Path(__file__).with_name("nli_prompts.json").read_text(encoding="utf-8")
)
"""The texts of the prompt; `forms` has, by style, the form of the reply and the re-ask."""


def template_sha256(style: str) -> str:
    """Hashes every text of ours that goes into the question of a style."""
    classes = _TEXTS["classes"]
    texts = (
        _TEXTS["task"],
        classes["3"],
        classes["2"],
        _TEXTS["pair"],
        *_TEXTS["forms"][style].values(),
    )
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


def nli_question(
    pair: LabelledPair, *, ways: int = 3, style: str = STYLE, backwards: bool = False
) -> Question:
    """Asks whether a premise entails a hypothesis; its verdicts are labels."""
    labels = _LABELS[ways][:: -1 if backwards else 1]
    classes = _TEXTS["classes"][str(ways)]
    in_json = style.startswith("json")
    alternatives = " or ".join(f'"{label}"' if in_json else label for label in labels)
    content = "\n\n".join(
        (
            _TEXTS["task"],
            turned(classes, labels) if backwards else classes,
            _TEXTS["pair"].format(
                premise=quoted(pair.premise), hypothesis=quoted(pair.hypothesis)
            ),
            _TEXTS["forms"][style]["form"].format(labels=alternatives),
        )
    )
    values: dict[Label, Any] = {label: label for label in labels}
    values["not_entailment"] = "not_entailment"
    if ways == 2:
        values["neutral"] = values["contradiction"] = "not_entailment"

    check = ({"reason": _any_text} if style == "json_cot" else {}) | {
        "label": one_of(*labels)
    }

    def read(text: str) -> Any | Unreadable:
        if not in_json:
            return read_choice(text, labels)

        reply = read_object(text, check)
        return reply if isinstance(reply, Unreadable) else reply["label"]

    return Question(
        id=pair.id,
        messages=({"role": "user", "content": content},),
        template=template_sha256(style),
        read=read,
        again=_TEXTS["forms"][style]["again"],
        max_tokens=MAX_TOKENS,
        pair=Pair(premise=pair.premise, hypothesis=pair.hypothesis, values=values),
        schema=schema_of(check) if in_json else None,
    )


_any_text: Final = Checker(
    lambda value: isinstance(value, str), "must be a text", {"type": "string"}
)
