"""EHRNoteQA's prompts in four formats (paper, sections 4.1 and 4.3, appendix E; figure 11).

Shared text comes first, so that servers can cache the notes. Notes that are too long
are shortened from the oldest on, by a rule of ours.
"""

from __future__ import annotations

import ast
import dataclasses
import itertools
import math
import re
import string
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Final, Literal

from medical_tasks.benchmarks.ehrnoteqa.declarations import SHOWS_CHOICES
from medical_tasks.benchmarks.ehrnoteqa.notes import NoteRow, prepared_text
from medical_tasks.benchmarks.ehrnoteqa.questions import LETTERS
from medical_tasks.data.dataset_source import repository_file
from medical_tasks.data.task_data import check_prompt_set
from medical_tasks.data.upstream_source import parse_python
from medical_tasks.errors import UsageError
from medical_tasks.io.files import packaged
from medical_tasks.models.base import ChoiceScores
from medical_tasks.scoring.choice_orders import PARAPHRASE, is_control
from medical_tasks.spec import (
    Item,
    Message,
    PersonQuestion,
    PromptSet,
    Row,
    TaskSpec,
    texts_sha256,
)

REPOSITORY: Final = "https://github.com/ji-youn-kim/EHRNoteQA"

_TEXTS: Final = packaged(__file__, "prompts.json")
# The marker comes between a shortened note's header and the rest.
INTRODUCTION, NOTE, QUESTION, CHOICES, CHOICE, MARKER = (
    str(_TEXTS[name])
    for name in ("introduction", "note", "question", "choices", "choice", "marker")
)
FORMS: Final[dict[str, str]] = _TEXTS["forms"]
"""The last paragraph of each format."""
PARAPHRASED: Final[dict[str, dict[str, str]]] = _TEXTS["paraphrased"]
"""Introduction and last paragraph of a format in other words, a control for other orders."""

# The authors' names of the formats, and of the form for GPT models; their other form is
# for one family of models.
_OFFICIAL_KEYS: Final[Mapping[str, str]] = {"open": "openended", "mc": "multichoice"}
_OFFICIAL_FORM: Final = "gpt"
_OFFICIAL_CHOICES: Final = tuple(f"choice_{letter.lower()}" for letter in LETTERS)


def load_prompts(
    task: TaskSpec, name: str = "own", upstream: Path | None = None
) -> PromptSet:
    """Builds the prompts of a task.

    All can shorten the notes; those of the probability tasks have continuations.
    """
    form = task.options["format"]
    check_prompt_set(task, name)
    if name == "official":
        if "wording" in task.options:
            raise UsageError(
                f"{task.name}: wording={PARAPHRASE} is a second wording of our prompts, and the "
                "authors released none of theirs. Leave it out, or use --prompts own."
            )

        template = _official_template(task, upstream)

        def render_official(item: Item) -> tuple[Message, ...]:
            # An open question may have no choices; its template has no slot for them.
            values = dict(zip(_OFFICIAL_CHOICES, item.fields["choices"], strict=False))
            values |= {
                "note": note_blocks(item.fields["notes"]),
                "question": item.fields["question"],
            }
            return ({"role": "user", "content": fill_template(template, values)},)

        sha256 = texts_sha256(template, NOTE, MARKER)
        return PromptSet(
            name=name, sha256=sha256, render=render_official, shorten=shortened
        )

    def render(item: Item) -> tuple[Message, ...]:
        return ({"role": "user", "content": _prompt(item, form)},)

    # Only the texts of this format, so that changes do not affect the hashes of others.
    own = (*((CHOICES, CHOICE) if form in SHOWS_CHOICES else ()), FORMS[form])
    if "wording" in task.options:
        own = (*own, *PARAPHRASED[form].values())

    return PromptSet(
        name=name,
        sha256=texts_sha256(INTRODUCTION, NOTE, MARKER, QUESTION, *own),
        render=render,
        continuations={"mc_prob_index": _letters, "mc_prob_value": _texts}.get(form),
        shorten=shortened,
    )


def note_blocks(notes: Sequence[Row]) -> str:
    """Joins notes of the dataset with their marks and blank lines, like the authors' block."""
    return "\n\n".join(
        NOTE.format(number=number, text=note["text"])
        for number, note in enumerate(notes, start=1)
    )


def gold_response(task: TaskSpec, item: Item) -> str:
    """Writes gold as an answer: text, letter and text, or certain `ChoiceScores`; "" without gold."""
    form = task.options["format"]
    if not item.fields["choices"]:
        return "\n".join(item.fields["evidence"]) if form == "open" else ""

    letters, texts, right = _letters(item), _texts(item), item.fields["answer"]
    if form == "open":
        return texts[letters.index(right)]
    if form == "mc":
        return CHOICE.format(letter=right, text=texts[letters.index(right)])

    logprobs = tuple(0.0 if letter == right else -math.inf for letter in letters)
    return ChoiceScores(logprobs=logprobs, tokens=(1,) * len(letters)).to_text()


def person_question(task: TaskSpec, item: Item) -> PersonQuestion:
    """The question, with its choices if a letter is the answer, and the notes."""
    question = str(item.fields["question"]).strip()
    with_choices = task.options["format"] in SHOWS_CHOICES
    if with_choices:
        question = f"{question}\n{_choice_lines(item)}"

    return PersonQuestion(
        question=question,
        to_read=note_blocks(item.fields["notes"]),
        choices=_letters(item) if with_choices else (),
    )


def _choice_lines(item: Item) -> str:
    pairs = zip(_letters(item), _texts(item), strict=True)
    return "\n".join(CHOICE.format(letter=letter, text=text) for letter, text in pairs)


def _prompt(item: Item, form: str) -> str:
    """An item's question: introduction, notes, question, choices, and the form of the answer.

    A control (`is_control`) asks the same in other words, to measure a model's
    sensitivity to wording.
    """
    question = QUESTION.format(question=str(item.fields["question"]).strip())
    introduction, last = INTRODUCTION, FORMS[form]
    if is_control(item):
        texts = PARAPHRASED[form]
        introduction, last = texts["introduction"], texts["last"]

    sections = [introduction, note_blocks(item.fields["notes"]), question]
    if form in SHOWS_CHOICES:
        sections.append(CHOICES.format(choices=_choice_lines(item)))

    return "\n\n".join([*sections, last])


def _letters(item: Item) -> tuple[str, ...]:
    return tuple(LETTERS[: len(item.fields["choices"])])


def _texts(item: Item) -> tuple[str, ...]:
    return tuple(str(text).strip() for text in item.fields["choices"])


def _official_template(task: TaskSpec, upstream: Path | None) -> str:
    key = _OFFICIAL_KEYS.get(task.options["format"])
    if key is None:
        raise UsageError(
            f"{task.name} has no official prompts: the authors asked for probabilities through "
            "the LM evaluation harness and "
            "released no prompts of it. Use --prompts own."
        )

    path, prompts = read_prompt_dict(upstream, "generation")
    forms = prompts.get(key)
    slots = ("note", "question", *(_OFFICIAL_CHOICES if key == "multichoice" else ()))

    return check_template(
        forms.get(_OFFICIAL_FORM) if isinstance(forms, Mapping) else None,
        slots,
        where=f"{path}, {key!r}, {_OFFICIAL_FORM!r}",
    )


_WORD = re.compile(r"\S+")
# The three lines that `prepared_text` adds before a note; in sets without them a note
# has no header.
_LABELS: Final = tuple(
    line.partition(":")[0] + ":"
    for line in prepared_text("", patient_id="", hadm_id="", charttime="").splitlines()[
        :3
    ]
)
_HEADER = re.compile("".join(rf"{re.escape(label)}[^\n]*\n" for label in _LABELS))


def shortened(item: Item, words: int) -> Item:
    """Removes so many words from an item's notes, from the oldest note's body on; headers stay."""
    if words < 0:
        raise ValueError(f"words must be at least 0, got {words}")
    if words == 0:
        return item

    notes, left = [], words
    for note in item.fields["notes"]:
        shorter, removed = _without(note, left)
        notes.append(shorter)
        left -= removed

    return dataclasses.replace(item, fields={**item.fields, "notes": notes})


def _without(note: NoteRow, words: int) -> tuple[NoteRow, int]:
    """A note without so many words, or without all of its words, and the number of removed words."""
    text = note["text"]
    header = _HEADER.match(text)
    start = header.end() if header else 0
    starts = [
        match.start()
        for match in itertools.islice(_WORD.finditer(text, start), words + 1)
    ]
    removed = min(words, len(starts))
    if removed == 0:
        return note, 0

    rest = text[starts[removed] :] if removed < len(starts) else ""
    shortened_text = text[:start] + MARKER.format(words=removed) + rest
    return {**note, "text": shortened_text}, removed


# The authors' prompts are in two files `utils.py` of their repository, each with one
# dict of texts, which is read as data and never executed. They fill them by
# `str.format_map`; we fill them piece by piece, so that braces in notes and answers stay.

_NAME: Final = "PROMPT_DICT"
_AGAIN: Final = "Download it again."


def read_prompt_dict(
    upstream: Path | None, purpose: Literal["generation", "evaluation"]
) -> tuple[Path, Mapping[object, object]]:
    """Reads the authors' dict of prompts for models or for the judge."""
    path = repository_file(upstream, f"src/{purpose}/utils.py", repository=REPOSITORY)
    tree = parse_python(
        path, lambda _: UsageError(f"{path}: is no Python file in UTF-8. {_AGAIN}")
    )
    values = [
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        and [target.id for target in node.targets if isinstance(target, ast.Name)]
        == [_NAME]
    ]
    if len(values) != 1:
        raise UsageError(
            f"{path}: assigns {_NAME} {len(values)} times, needs to do it once. {_AGAIN}"
        )

    try:
        prompts = ast.literal_eval(values[0])
    except (ValueError, TypeError, RecursionError, MemoryError) as error:
        raise UsageError(
            f"{path}: {_NAME} holds more than literals. {_AGAIN}"
        ) from error

    if not isinstance(prompts, dict):
        raise UsageError(f"{path}: {_NAME} is no dict. {_AGAIN}")

    return path, prompts


def check_template(text: object, slots: Collection[str], *, where: str) -> str:
    """Checks that one of the authors' texts has each slot once, and no other."""
    if not isinstance(text, str):
        raise UsageError(f"{where}: is no text. {_AGAIN}")

    try:
        fields = [
            field
            for _, *field in string.Formatter().parse(text)
            if field[0] is not None
        ]
    except ValueError as error:
        raise UsageError(
            f"{where}: has an unpaired brace ({error}). {_AGAIN}"
        ) from error

    if sorted(str(name) for name, *_ in fields) != sorted(slots) or any(
        form or turn for _, form, turn in fields
    ):
        required = ", ".join(f"{{{slot}}}" for slot in slots)
        raise UsageError(
            f"{where}: must have each of {required} once and no other slot; it has {len(fields)} in "
            f"all. {_AGAIN}"
        )

    return text


def fill_template(text: str, values: Mapping[str, str]) -> str:
    """Fills a text that passed `check_template`."""
    return "".join(
        literal + ("" if name is None else values[name])
        for literal, name, *_ in string.Formatter().parse(text)
    )
