"""Sets of labelled pairs that a judge can be checked on, each with the way it is asked; a benchmark declares its own.

ANLI (Nie et al., 2020) and MedNLI (Romanov and Shivade, 2018) are read here; DocLens
reports its judges on both (tables 4 and 5).
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
"""The part of the set of both that MedNLI is; the others are ANLI's rounds."""

_ANLI_AVERAGE: Final = {"ANLI, mean of rounds": ROUNDS}
_AVERAGES: Final = {**_ANLI_AVERAGE, "mean of the four sets": (*ROUNDS, MEDNLI)}
_OFFICIAL: Final = "its official files"
_NLI_OPTIONS: Final = frozenset({"ways", "split", "style"})


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
    """Labelled pairs and how a judge is asked about them."""

    name: str
    pairs: Sequence[CheckPair]
    # asks a judge, in one of two modes, for the label of each pair in order; if the
    # third is true, with what our prompts have an order of in reverse: the verdicts to
    # choose from, and the statements of a batch
    ask: Callable[[Judge, Mode, bool], Sequence[str | Unscored]]
    # the same with the statements of a batch, or the answers' sentences, shuffled; None
    # where the pairs are about no answer
    ask_shuffled: AskShuffled | None = None
    answers: int = 1000  # as many of each model are compared: the benchmark's questions
    whole: bool = False  # whether all pairs of a cluster are about one such answer; else each is about its own
    ways: int
    views: Sequence[View] = NLI
    source: Mapping[str, str]
    prompts: Mapping[str, Any]
    # names of those who labelled, where each is compared with the judge
    raters: Sequence[str] = ()
    # name of a mean of several groups' accuracies to the groups
    averages: Mapping[str, Sequence[str]] = field(default_factory=dict)
    about: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class CheckRequest:
    """What a user asked of `judge-check`, beside the judge; None where an option was not given."""

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

    def needed(self, name: str, wanted: str) -> Path:
        """The source."""
        if self.source is None:
            raise UsageError(
                f"judge-check {name} needs {wanted}: --source PATH. See: --help"
            )
        return self.source


@dataclass(frozen=True, kw_only=True)
class CheckSetSource:
    """A set of labelled pairs before it is read."""

    read: Callable[[CheckRequest], CheckSet]
    # fields of `CheckRequest` that it takes beside those that all do
    takes: frozenset[str]
    subjects: Sequence[Subject] = ()
    # the task whose way of judging is checked, by the `format`; None for sets of no
    # benchmark
    task: Callable[[str | None], TaskSpec] | None = None
    batched: bool = False  # whether the judge can be asked about several pairs at once
    # by the name of each set of a benchmark's own that it makes, what `judge-check`
    # needs to be told beside the judge
    commands: Mapping[str, str] = field(default_factory=dict)
    votes: int = 1  # a verdict, when `judge-check` is not told


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
    """ANLI's three rounds and MedNLI together, with the means that DocLens reports (tables 1 and 4)."""
    anli, split = request.needed("nli", _OFFICIAL), request.split or "test"
    if request.mednli is None:
        raise UsageError(
            "judge-check nli needs both: --source anli_v1.0 --mednli mli_test_v1.jsonl"
        )

    files, path = find_anli(anli, split=split), find_mednli(request.mednli, split=split)
    if set(files.values()) != set(ROUNDS):
        raise UsageError(
            f"{anli}: judge-check nli takes all three rounds of ANLI. Give the unpacked folder "
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
    """A check of entailment: a judge labels pairs that people have labelled.

    Args:
        name: of the set.
        request: how many pairs, two or three classes, and the style of the prompt.
        labelled: the pairs, of which `subset` keeps some.
        files: what they were read from, each with its group.
        averages: names of means over groups, with their groups.
    """
    ways, style = request.ways or 3, request.style or STYLE
    # Hypotheses about one premise are not independent.
    every = [
        CheckPair(
            id=each.id,
            gold=each.label,
            cluster=each.premise,
            group=each.group,
            words=len(each.premise.split()),
        )
        for each in labelled
    ]
    pairs = subset(every, request.max_pairs)
    kept = {pair.id for pair in pairs}

    def ask(judge: Judge, mode: Mode, backwards: bool) -> list[Label | Unscored]:
        wanted = [pair for pair in labelled if pair.id in kept]
        outcomes = judge.ask(
            [
                nli_question(pair, ways=ways, style=style, backwards=backwards)
                for pair in wanted
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
        # A check of another style is filed apart: it says little about the way
        # benchmarks ask.
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
"""Sets of pairs that belong to no benchmark."""


SPLITS: Final = ("train", "dev", "test")

_SHOWN = 16
_LABELS: Final[dict[int, tuple[Label, ...]]] = {
    2: ("entailment", "not_entailment"),
    3: ("entailment", "neutral", "contradiction"),
}


@dataclass(frozen=True, kw_only=True)
class LabelledPair:
    """A premise, a hypothesis and what is between them."""

    id: str
    premise: str
    hypothesis: str
    label: Label
    group: str = ""


def find_anli(
    source: Path, *, round_name: str | None = None, split: str = "test"
) -> dict[Path, str]:
    """Finds the files of ANLI, each with its round ("" for a file whose folder is named after none)."""
    source = source.expanduser()
    if source.is_file() or (source.is_dir() and (source / f"{split}.jsonl").is_file()):
        path = source if source.is_file() else source / f"{split}.jsonl"
        folder = path.resolve().parent.name
        here = folder if folder in ROUNDS else ""
        if round_name is not None and here != round_name:
            place = f"round {here}" if here else "in a folder not named after a round"
            raise UsageError(
                MESSAGES["anli_round"].format(path=path, place=place, wanted=round_name)
            )

        return {path: here}

    wanted = ROUNDS if round_name is None else (round_name,)
    found = {source / name / f"{split}.jsonl": name for name in wanted}
    missing = [str(path) for path in found if not path.is_file()]
    if missing:
        raise MissingError(
            f"ANLI: no such file: {', '.join(missing)}. {MESSAGES['anli']}"
        )

    return found


def find_mednli(source: Path, *, split: str = "test") -> Path:
    """Finds the file of MedNLI, or of one split in its folder."""
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

    Messages never quote a sentence, as notes of patients may stand in the wrong field.

    Args:
        files: each with the group of its pairs, such as a round of ANLI.
        fields: what id, premise, hypothesis and label are called.
        labels: the label of the file to ours.
    """
    form = f'{{"{fields[0]}", "{fields[1]}", "{fields[2]}", "{fields[3]}": "{"|".join(labels)}"}}'
    lines = (
        (path, line)
        for path in files
        for line in json_lines(path, read_content(path, form=form), form=form)
    )
    pairs: dict[str, LabelledPair] = {}
    twice = ""
    for path, (place, value) in lines:
        where = f"{path}, {place}"
        if not isinstance(value, dict):
            raise UsageError(f"{where}: not a JSON object. A line is like {form}.")

        for name in fields:
            if name not in value:
                raise UsageError(
                    f"{where}: field {name!r} is missing. A line is like {form}."
                )

            if not isinstance(value[name], str) or not value[name].strip():
                got = (
                    "empty text"
                    if isinstance(value[name], str)
                    else type(value[name]).__name__
                )
                raise UsageError(f"{where}, field {name!r}: must be text, got {got}.")

        uid, premise, hypothesis, label = (value[name] for name in fields)
        if label not in labels:
            # A long one, or one of several words, may be a sentence of a note in the
            # wrong field: not shown.
            short = len(label) <= _SHOWN and len(label.split()) <= 1
            got = repr(label) if short else f"a text of {len(label)} characters"
            raise UsageError(
                f"{where}, field {fields[3]!r}: must be {', '.join(labels)}, got {got}."
            )

        twice = twice or (uid if uid in pairs else "")
        pairs[uid] = LabelledPair(
            id=uid,
            premise=premise,
            hypothesis=hypothesis,
            label=labels[label],
            group=files[path],
        )

    if twice:
        # as for a label
        named = repr(twice) if " " not in twice else f"of {len(twice)} characters"
        raise UsageError(
            f"{', '.join(map(str, files))}: the id {named} appears twice. Give each file once, as "
            "it was released."
        )

    return list(pairs.values())


STYLES: Final = ("json_cot", "json", "cot", "plain")
"""JSON or a line (`cot`, `plain`), after a reason (`_cot`, `cot`) or without one."""

STYLE: Final = "json_cot"
"""What is asked for when nothing is said."""

MAX_TOKENS: Final = 512

_TEXTS: Final[Mapping[str, Any]] = json.loads(
    Path(__file__).with_name("nli_prompts.json").read_text(encoding="utf-8")
)
"""What is asked; in `forms`, by style, the form of the reply, and what is said when it is not kept to."""


def template_sha256(style: str) -> str:
    """Hash of every text of ours that goes into the question of a style."""
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
    """Makes the question whether a premise entails a hypothesis.

    The values of its verdicts are labels.
    """
    labels = _LABELS[ways][:: -1 if backwards else 1]
    classes = _TEXTS["classes"][str(ways)]
    in_json = style.startswith("json")
    shown = (
        " or ".join(f'"{label}"' for label in labels)
        if in_json
        else " or ".join(labels)
    )
    content = "\n\n".join(
        (
            _TEXTS["task"],
            turned(classes, labels) if backwards else classes,
            _TEXTS["pair"].format(
                premise=quoted(pair.premise), hypothesis=quoted(pair.hypothesis)
            ),
            _TEXTS["forms"][style]["form"].format(labels=shown),
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

        found = read_object(text, check)
        return found if isinstance(found, Unreadable) else found["label"]

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
