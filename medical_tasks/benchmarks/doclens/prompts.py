"""DocLens' prompts of the generation tasks, with a source in numbered turns or sentences to cite.

Ours were written from the protocol's facts (paper, sections 4 and A.4); the citations
in examples and of `baseline/reference` follow a rule: a sentence cites the turn with
which it shares most word stems, and up to two more that each add at least two; one that
shares none cites the turn with most content words.
"""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
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
    """Builds the prompts of a task.

    Their `settings` say whether they ask for citations, and which examples they have.
    """
    check_prompt_set(task, name)
    citations = _asks_citations(task, arguments or {})
    if name == "official":
        return _official(task, upstream, citations=citations)

    openings, drawn = _openings(task, exemplars, citations=citations)
    form = task.options["form"]
    texts = TEXTS[form]

    def render(item: Item) -> tuple[Message, ...]:
        source = _labelled(texts, numbered_source(item))
        content = "\n\n".join([*openings[_section(item)], source])
        return ({"role": "user", "content": content},)

    settings: dict[str, object] = {_CITATIONS: "yes" if citations else "no"}
    if drawn:
        settings |= {"seed": SEED, "examples": drawn}

    hashed = list(
        chain.from_iterable(
            (section, *opening) for section, opening in openings.items()
        )
    )
    return PromptSet(
        name=name,
        sha256=texts_sha256(form, *hashed, LABELLED, texts["source"], texts["answer"]),
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
    """Writes an item's source, one turn or sentence per line: `[0][doctor] ...` in dialogues, else `[0] ...`."""
    source: list[str] = item.fields["sentences"]
    if item.fields["form"] in DIALOGUES:
        return numbered_dialogue(source)
    return "\n".join(f"[{number}] {sentence}" for number, sentence in enumerate(source))


def gold_response(task: TaskSpec, item: Item) -> str:
    """Writes an item's gold as an answer: the reference with citations by `cite`; "" if it is blank."""
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
    """The texts before an item's source, by section, and the ids of the examples."""
    form = task.options["form"]
    texts = TEXTS[form]
    drawn = draw_exemplars(task, rows) if task.options["shots"] != "0" else {}
    openings = {}
    for section in SECTIONS if form == "section" else ("",):
        opening = [
            texts["given"],
            texts["task"],
            *([SECTION_TASKS[section]] if section else []),
            *([texts["citing"]] if citations else []),
        ]
        if examples := drawn.get(section):
            opening += [
                ALONE if len(examples) == 1 else AMONG.format(count=len(examples)),
                *(_example(texts, item, citations=citations) for item in examples),
                ASKED,
            ]

        openings[section] = opening

    # The examples of all sections are from the same visits.
    examples = next(iter(drawn.values()), ())
    return openings, [
        item.cluster if form == "section" else item.id for item in examples
    ]


def _example(texts: Mapping[str, str], item: Item, *, citations: bool) -> str:
    answer = _answer(item, citations=citations).strip()
    return f"{_labelled(texts, numbered_source(item))}\n{answer}"


def _labelled(texts: Mapping[str, str], source: str) -> str:
    return LABELLED.format(source=texts["source"], given=source, answer=texts["answer"])


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

    hashed: list[str] = []
    for section, messages in before.items():
        for message in messages:
            hashed += [section, message["role"], message["content"]]

    if form not in DIALOGUES:
        hashed.append("small letters")

    return PromptSet(
        name="official",
        sha256=texts_sha256(*hashed),
        render=render,
        settings={_CITATIONS: "yes"},
    )


_TEXTS: Final = packaged(__file__, "prompts.json")
TEXTS: Final[Mapping[str, Mapping[str, str]]] = _TEXTS["forms"]
"""The texts of each form; `given` describes the source and its numbers."""
SECTION_TASKS: Final[Mapping[str, str]] = _TEXTS["sections"]
_UNCOUNTED: Final = frozenset(_TEXTS["uncounted"].split())

ALONE: Final = "Here is one done already."

AMONG: Final = "Here are {count} done already."

ASKED: Final = "Now do this one."

LABELLED: Final = "{source}:\n{given}\n\n{answer}:"


SEED: Final = 17

KINDS: Final = 6
"""Number of kinds of radiology reports with a train split in MIMIC-III, by the paper."""


def draw_exemplars(task: TaskSpec, rows: Sequence[Row]) -> dict[str, tuple[Item, ...]]:
    """Draws the worked examples of a task by section, from the same visits for all; under "" for other forms."""
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
    """Draws visits whose notes have all four sections, so that no example shows an empty one."""
    visits: dict[str, dict[str, Item]] = defaultdict(dict)
    for item in items:
        visits[item.cluster][str(item.groups["section"])] = item

    whole = [
        visit[SECTIONS[0]] for visit in visits.values() if len(visit) == len(SECTIONS)
    ]
    drawn = [
        item.cluster
        for item in _first(task, whole, shots, needs="whose note has all four sections")
    ]
    return {
        section: tuple(visits[name][section] for name in drawn) for section in SECTIONS
    }


def _of_kinds(task: TaskSpec, items: Sequence[Item], shots: int) -> tuple[Item, ...]:
    """Draws worked examples of the most frequent kinds of reports, equally many of each.

    Returns:
        One of each kind, then the second of each, so that the first examples of any
        number of shots are of different kinds.
    """
    per_kind = shots // KINDS
    by_kind: dict[tuple[object, object], list[Item]] = defaultdict(list)
    for item in items:
        by_kind[item.groups["modality"], item.groups["anatomy"]].append(item)

    kinds = sorted(by_kind, key=lambda kind: (-len(by_kind[kind]), kind))[:KINDS]
    if len(kinds) < KINDS:
        raise MissingError(
            f"{task.name}: worked examples come from {KINDS} kinds of reports (modality and "
            f"anatomy), split {task.exemplars} of "
            f"{task.dataset} has {len(kinds)}. {_next_step(task)}"
        )

    drawn = [
        _first(
            task, by_kind[kind], per_kind, needs=f"of kind {' '.join(map(str, kind))}"
        )
        for kind in kinds
    ]
    return tuple(chain.from_iterable(zip(*drawn, strict=True)))


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
    """The rank of an item; sections have that of their visit.

    In other forms the cluster is the item's id, except for reports that share a patient.
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
"""Largest number of turns that a sentence cites."""

MIN_ADDED: Final = 2
"""Smallest number of words that a further turn must add."""

_WORD = re.compile(r"[0-9]+(?:\.[0-9]+)?|[^\W\d_]+")
_SPEAKER = re.compile(r"\[[A-Za-z]\w*\]")
_LAST_MARKS = re.compile(r"[.!?…。！？]+\Z")


class Source:
    """The words of the turns or sentences that can be cited.

    A sentence first cites the text that shares most words with it, then the one that shares
    most of the words that are left, as long as that adds at least two words, up to three
    texts. A sentence that shares no word cites the longest text.

    Example:
        >>> source = Source(["I have chest pain.", "Since Monday morning.", "Okay."])
        >>> source.cited_by("Chest pain since Monday morning."), source.cited_by("Thanks!")
        ((0, 1), (1,))
    """

    def __init__(self, texts: Sequence[str]) -> None:
        bare = [
            _SPEAKER.sub("", text, count=1) if _SPEAKER.match(text) else text
            for text in texts
        ]
        self._words = [_words(text) for text in bare]
        self._longest = max(
            range(len(bare)),
            key=lambda number: (len(self._words[number]), -number),
            default=None,
        )

    def cited_by(self, sentence: str) -> tuple[int, ...]:
        """The numbers that a sentence cites, ascending: one to `MAX_CITED`, or none for an empty source."""
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
        """The text that shares most words, of several the shortest, then the first; and the number of shared words."""
        shared = [len(words & text) for text in self._words]
        best = max(
            range(len(shared)),
            key=lambda number: (shared[number], -len(self._words[number]), -number),
        )
        return best, shared[best]


def cite(text: str, source: Source) -> str:
    """Adds `[3][4]` before the full stop of sentences without citations; `remove_citations` undoes it."""
    sentences = chain.from_iterable(
        map(_within_sections, sentence_pieces(text) or [text])
    )
    return "".join(_cited(sentence, source) for sentence in sentences)


def _within_sections(piece: str) -> Iterator[str]:
    """Cuts a sentence before each heading, so that none is in two sections."""
    lines: list[str] = []
    for line in piece.splitlines(keepends=True):
        if lines and heading_section(line):
            yield "".join(lines)
            lines = []
        lines.append(line)
    yield "".join(lines)


def _cited(piece: str, source: Source) -> str:
    """Adds markers before a sentence's last marks: `Chest pain.` becomes `Chest pain [0].`.

    Sentences with markers, and headings, stay unchanged.
    """
    body = piece.rstrip()
    if not body or find_markers(body):
        return piece

    head = _LAST_MARKS.sub("", body).rstrip() or body
    line = head.splitlines()[-1] + "".join(body[len(head) :].splitlines()[:1])
    if heading_section(line):
        # With a marker it would no longer be a heading; its marks may be on the next line.
        return piece

    markers = "".join(f"[{number}]" for number in source.cited_by(body))
    return f"{head} {markers}{piece[len(head) :]}" if markers else piece


def _words(text: str) -> frozenset[str]:
    return frozenset(
        stem(word) for word in _WORD.findall(text.lower()) if word not in _UNCOUNTED
    )
