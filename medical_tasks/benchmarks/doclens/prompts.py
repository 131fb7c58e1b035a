"""Prompts of the generation tasks.

A source in numbered turns or sentences, which the answer is asked to cite.

Ours are of the protocol's facts (paper, sections 4 and A.4); the citations of examples
follow a rule (docs/doclens.md).
"""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from medical_tasks.benchmarks.doclens.data import load_items
from medical_tasks.benchmarks.doclens.official_prompts import (
    DIALOGUES,
    official_input,
    read_official,
)
from medical_tasks.benchmarks.doclens.pieces import (
    SECTIONS,
    find_markers,
    heading_section,
    numbered_dialogue,
    remove_citations,
    sentence_pieces,
)
from medical_tasks.data.task_data import check_prompt_set, check_settings
from medical_tasks.errors import MissingError, UsageError
from medical_tasks.io.files import packaged
from medical_tasks.scoring.porter import stem
from medical_tasks.spec import Item, Message, PromptSet, Row, TaskSpec, texts_sha256

_CITATIONS: Final = "citations"


def load_prompts(
    task: TaskSpec,
    name: str = "own",
    upstream: Path | None = None,
    *,
    arguments: Mapping[str, str] | None = None,
    exemplars: Sequence[Row] = (),
) -> PromptSet:
    """Makes the prompts of a task.

    `settings` say whether citations are asked for and which examples are shown.
    """
    check_prompt_set(task, name)
    citations = _asks_citations(task, arguments or {})
    if name == "official":
        return _official(task, upstream, citations=citations)

    openings, drawn = _openings(task, exemplars, citations=citations)
    form = task.options["form"]
    texts = TEXTS[form]

    def render(item: Item) -> tuple[Message, ...]:
        parts = [*openings[_section(item)], _labelled(texts, numbered_source(item))]
        return ({"role": "user", "content": "\n\n".join(parts)},)

    settings: dict[str, object] = {_CITATIONS: "yes" if citations else "no"}
    if drawn:
        settings |= {"seed": SEED, "examples": drawn}

    shown = [part for section in openings for part in (section, *openings[section])]
    return PromptSet(
        name=name,
        sha256=texts_sha256(form, *shown, LABELLED, texts["source"], texts["answer"]),
        render=render,
        settings=settings,
    )


def _asks_citations(task: TaskSpec, arguments: Mapping[str, str]) -> bool:
    check_settings(task, arguments)
    value = arguments.get(_CITATIONS, "yes")
    if value not in ("yes", "no"):
        raise UsageError(f"{task.name}: {_CITATIONS} must be yes or no, got {value!r}.")
    return value == "yes"


def numbered_source(item: Item) -> str:
    """Writes what an item cites, a turn or sentence a line.

    `[0][doctor] ...` in dialogues, `[0] ...` elsewhere.
    """
    source: list[str] = item.fields["sentences"]
    if item.fields["form"] in DIALOGUES:
        return numbered_dialogue(source)
    return "\n".join(f"[{number}] {sentence}" for number, sentence in enumerate(source))


def gold_response(task: TaskSpec, item: Item) -> str:
    """Writes an item's gold as an answer.

    The reference, with citations by the rule of `cite`; "" where it is blank.
    """
    return _answer(item, citations=True)


def _answer(item: Item, *, citations: bool) -> str:
    reference: str = item.fields["reference"]
    if not reference.strip():
        return ""
    return (
        cite(reference, Source(item.fields["sentences"]))
        if citations
        else remove_citations(reference)
    )


def _section(item: Item) -> str:
    return str(item.groups["section"]) if item.fields["form"] == "section" else ""


def _openings(
    task: TaskSpec, rows: Sequence[Row], *, citations: bool
) -> tuple[dict[str, list[str]], list[str]]:
    """Everything that stands before an item's source, by section, and the ids of the examples."""
    form = task.options["form"]
    texts = TEXTS[form]
    drawn = draw_exemplars(task, rows) if task.options["shots"] != "0" else {}
    openings = {}
    for section in SECTIONS if form == "section" else ("",):
        parts = [
            texts["given"],
            texts["task"],
            *([SECTION_TASKS[section]] if section else []),
            *([texts["citing"]] if citations else []),
        ]
        if shown := drawn.get(section):
            answers = [
                f"{_labelled(texts, numbered_source(item))}\n{_answer(item, citations=citations).strip()}"
                for item in shown
            ]
            parts += [
                ALONE if len(shown) == 1 else AMONG.format(count=len(shown)),
                *answers,
                ASKED,
            ]

        openings[section] = parts

    # The examples of all sections are of the same visits.
    examples = next(iter(drawn.values()), ())
    return openings, [
        item.cluster if form == "section" else item.id for item in examples
    ]


def _labelled(texts: Mapping[str, str], given: str) -> str:
    return LABELLED.format(source=texts["source"], given=given, answer=texts["answer"])


def _official(task: TaskSpec, upstream: Path | None, *, citations: bool) -> PromptSet:
    """The authors' prompt: their instruction and examples, then the numbered source."""
    before = read_official(task, upstream)
    if not citations:
        raise UsageError(
            f"{task.name}: the authors' prompts ask for citations. Leave {_CITATIONS}=no out, or "
            "use --prompts own."
        )

    form = task.options["form"]

    def render(item: Item) -> tuple[Message, ...]:
        source = official_input(item.fields["sentences"], form)
        return (*before[_section(item)], {"role": "user", "content": source})

    shown = [
        part
        for section in before
        for message in before[section]
        for part in (section, message["role"], message["content"])
    ]
    if form not in DIALOGUES:
        shown.append("small letters")

    return PromptSet(
        name="official",
        sha256=texts_sha256(*shown),
        render=render,
        settings={_CITATIONS: "yes"},
    )


_PARTS: Final = packaged(__file__, "prompts.json")
TEXTS: Final[Mapping[str, Mapping[str, str]]] = _PARTS["forms"]
"""What is said in each form; `given`: what stands below, and how it is numbered."""
SECTION_TASKS: Final[Mapping[str, str]] = _PARTS["sections"]
_UNCOUNTED: Final = frozenset(_PARTS["uncounted"].split())

ALONE: Final = "Here is one done already."

AMONG: Final = "Here are {count} done already."

ASKED: Final = "Now do this one."

LABELLED: Final = "{source}:\n{given}\n\n{answer}:"


SEED: Final = 17

KINDS: Final = 6
"""Kinds of radiology reports that have a train split in MIMIC-III, by the paper."""


def draw_exemplars(task: TaskSpec, rows: Sequence[Row]) -> dict[str, tuple[Item, ...]]:
    """Draws the worked examples of a task.

    Section to its examples, of the same visits for all; for other forms under "".
    """
    form, shots = task.options["form"], int(task.options["shots"])
    items = [
        item
        for item in load_items(task, rows)
        if item.fields["reference"].strip() and item.fields["sentences"]
    ]
    if form == "section":
        return _of_sections(task, items, shots)
    if form == "impression":
        return {"": _of_kinds(task, items, shots)}

    return {"": tuple(_first(task, items, shots, needs="with source and reference"))}


def _of_sections(
    task: TaskSpec, items: Sequence[Item], shots: int
) -> dict[str, tuple[Item, ...]]:
    """Only visits whose note has all four.

    An example shows how a section is written, not that there is none.
    """
    of_visit: dict[str, dict[str, Item]] = defaultdict(dict)
    for item in items:
        of_visit[item.cluster][str(item.groups["section"])] = item

    whole = [
        visit[SECTIONS[0]] for visit in of_visit.values() if len(visit) == len(SECTIONS)
    ]
    drawn = [
        item.cluster
        for item in _first(task, whole, shots, needs="whose note has all four sections")
    ]
    return {
        section: tuple(of_visit[name][section] for name in drawn)
        for section in SECTIONS
    }


def _of_kinds(task: TaskSpec, items: Sequence[Item], shots: int) -> tuple[Item, ...]:
    """Draws worked examples of the commonest kinds of reports, as many of each.

    Returns:
        One of each kind, then the second of each, so that the first examples of any
        number of shots are of different kinds.
    """
    per_kind = shots // KINDS
    of: dict[tuple[object, object], list[Item]] = defaultdict(list)
    for item in items:
        of[item.groups["modality"], item.groups["anatomy"]].append(item)

    kinds = sorted(of, key=lambda kind: (-len(of[kind]), kind))[:KINDS]
    if len(kinds) < KINDS:
        raise MissingError(
            f"{task.name}: worked examples come from {KINDS} kinds of reports (modality and "
            f"anatomy), split {task.exemplars} of "
            f"{task.dataset} has {len(kinds)}. {_next_step(task)}"
        )

    drawn = [
        _first(task, of[kind], per_kind, needs=f"of kind {' '.join(map(str, kind))}")
        for kind in kinds
    ]
    # One of each kind, then the second of each.
    return tuple(of_kind[place] for place in range(per_kind) for of_kind in drawn)


def _first(
    task: TaskSpec, items: Sequence[Item], count: int, *, needs: str
) -> list[Item]:
    if len(items) < count:
        raise MissingError(
            f"{task.name}: {count} worked examples {needs} are needed, split {task.exemplars} of "
            f"{task.dataset} has "
            f"{len(items)}. {_next_step(task)}"
        )
    return sorted(items, key=_rank)[:count]


def _rank(item: Item) -> tuple[bytes, str]:
    """The visit's place, for a section.

    Its cluster is its own id in the other forms, but for reports that share a patient.
    """
    name = item.cluster if item.fields["form"] == "section" else item.id
    return hashlib.sha256(f"{SEED}:{name}".encode()).digest(), name


def _next_step(task: TaskSpec) -> str:
    return (
        f"Build {task.dataset} again with a larger {task.exemplars} split (medical-tasks build "
        f"{task.dataset}), or use "
        f"{task.options['family']}, which shows no examples."
    )


MAX_CITED: Final = 3
"""Most turns that a sentence cites."""

MIN_ADDED: Final = 2
"""Words that a further turn has to add."""

_WORD = re.compile(r"[0-9]+(?:\.[0-9]+)?|[^\W\d_]+")
_SPEAKER = re.compile(r"\[[A-Za-z]\w*\]")
_LAST_MARKS = re.compile(r"[.!?…。！？]+\Z")


class Source:
    """The turns or sentences that can be cited, by their words."""

    def __init__(self, texts: Sequence[str]) -> None:
        bare = [
            _SPEAKER.sub("", text, count=1) if _SPEAKER.match(text) else text
            for text in texts
        ]
        self._words = [_words(text) for text in bare]
        self._longest = max(
            range(len(bare)),
            key=lambda place: (len(self._words[place]), -place),
            default=None,
        )

    def cited_by(self, sentence: str) -> tuple[int, ...]:
        """Says what a sentence cites.

        Returns one to `MAX_CITED` numbers, ascending; none where there is nothing to
        cite.
        """
        if self._longest is None:
            return ()

        left = _words(sentence)
        best, added = self._best(left)
        if not added:
            return (self._longest,)

        cited: list[int] = []
        while len(cited) < MAX_CITED and added >= (MIN_ADDED if cited else 1):
            cited.append(best)
            left -= self._words[best]
            best, added = self._best(left)

        return tuple(sorted(cited))

    def _best(self, words: frozenset[str]) -> tuple[int, int]:
        """The text that shares most of the words, of several the shortest, then the first.

        And how many it shares.
        """
        shared = [len(words & text) for text in self._words]
        place = max(
            range(len(shared)),
            key=lambda each: (shared[each], -len(self._words[each]), -each),
        )
        return place, shared[place]


def cite(text: str, source: Source) -> str:
    """Writes `[3][4]` before the full stop of sentences that cite nothing yet.

    `remove_citations` gives the text back.
    """
    pieces = sentence_pieces(text) or [text]
    return "".join(_cited(part, source) for piece in pieces for part in _parts(piece))


def _parts(piece: str) -> Iterator[str]:
    """Cuts a sentence before each heading of a section, so that none is of two sections."""
    lines: list[str] = []
    for line in piece.splitlines(keepends=True):
        if lines and heading_section(line):
            yield "".join(lines)
            lines = []
        lines.append(line)
    yield "".join(lines)


def _cited(piece: str, source: Source) -> str:
    body = piece.rstrip()
    if not body or find_markers(body):
        return piece

    head = _LAST_MARKS.sub("", body).rstrip() or body
    line = head.splitlines()[-1] + "".join(body[len(head) :].splitlines()[:1])
    if heading_section(
        line
    ):  # a marker behind it would make it a line like any other; the marks may stand on the next
        return piece

    markers = "".join(f"[{number}]" for number in source.cited_by(body))
    return f"{head} {markers}{piece[len(head) :]}" if markers else piece


def _words(text: str) -> frozenset[str]:
    return frozenset(
        stem(word) for word in _WORD.findall(text.lower()) if word not in _UNCOUNTED
    )
