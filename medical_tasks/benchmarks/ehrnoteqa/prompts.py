"""Prompts of EHRNoteQA in four formats (paper, sections 4.1 and 4.3, appendix E; figure 11).

What they share comes first, so that servers cache the notes. Notes too long lose words
from the oldest on, a rule of ours.
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
# The marker stands in a note between its header and what is left of it.
INTRODUCTION, NOTE, QUESTION, CHOICES, CHOICE, MARKER = (
    str(_TEXTS[name])
    for name in ("introduction", "note", "question", "choices", "choice", "marker")
)
FORMS: Final[dict[str, str]] = _TEXTS["forms"]
"""The last paragraph of each format."""
PARAPHRASED: Final[dict[str, dict[str, str]]] = _TEXTS["paraphrased"]
"""Introduction and last paragraph of a format in other words, a control for other orders."""

# The authors' names of the formats, and of the form they asked GPT models in; the other
# is that of one family of models.
_OFFICIAL_KEYS: Final[Mapping[str, str]] = {"open": "openended", "mc": "multichoice"}
_OFFICIAL_FORM: Final = "gpt"
_OFFICIAL_CHOICES: Final = tuple(f"choice_{letter.lower()}" for letter in LETTERS)


def load_prompts(
    task: TaskSpec, name: str = "own", upstream: Path | None = None
) -> PromptSet:
    """Makes the prompts of a task.

    All can leave out words of the notes, those of the probability tasks have
    continuations.
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
        return ({"role": "user", "content": _asked(item, form)},)

    # The texts of this format alone: the hash of another one does not change with them.
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
    """Puts notes, as the dataset has them, between their marks, one blank line apart.

    The authors' block is the same.
    """
    return "\n\n".join(
        NOTE.format(number=number, text=note["text"])
        for number, note in enumerate(notes, start=1)
    )


def gold_response(task: TaskSpec, item: Item) -> str:
    """Writes gold as an answer: text, letter and text, or sure `ChoiceScores`.

    "" where the set knows no answer.
    """
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
    """The question with its choices, of which a letter is the answer, and the notes."""
    question, letters = str(item.fields["question"]).strip(), _letters(item)
    shown = task.options["format"] in SHOWS_CHOICES
    if shown:
        pairs = zip(letters, _texts(item), strict=True)
        lines = (CHOICE.format(letter=letter, text=text) for letter, text in pairs)
        question = "\n".join([question, *lines])

    return PersonQuestion(
        question=question,
        to_read=note_blocks(item.fields["notes"]),
        choices=letters if shown else (),
    )


def _asked(item: Item, form: str) -> str:
    """An item's question: introduction, notes, question, choices, and what to answer.

    A control (`is_control`) asks the same in other words: what changes there is a
    model's sensitivity to wording.
    """
    question = QUESTION.format(question=str(item.fields["question"]).strip())
    introduction, last = INTRODUCTION, FORMS[form]
    if is_control(item):
        texts = PARAPHRASED[form]
        introduction, last = texts["introduction"], texts["last"]

    parts = [introduction, note_blocks(item.fields["notes"]), question]
    if form in SHOWS_CHOICES:
        pairs = zip(_letters(item), _texts(item), strict=True)
        lines = (CHOICE.format(letter=letter, text=text) for letter, text in pairs)
        parts.append(CHOICES.format(choices="\n".join(lines)))

    return "\n\n".join([*parts, last])


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
# The three lines that `prepared_text` puts before a note; notes of sets without them
# are all body.
_LABELS: Final = tuple(
    line.partition(":")[0] + ":"
    for line in prepared_text("", patient_id="", hadm_id="", charttime="").splitlines()[
        :3
    ]
)
_HEADER = re.compile("".join(rf"{re.escape(label)}[^\n]*\n" for label in _LABELS))


def shortened(item: Item, words: int) -> Item:
    """Leaves out so many words of an item's notes.

    The oldest note's first, from the beginning of its body. Headers stay.
    """
    if words < 0:
        raise ValueError(f"words must be at least 0, got {words}")
    if words == 0:
        return item

    notes, left = [], words
    for note in item.fields["notes"]:
        shorter, gone = _without(note, left)
        notes.append(shorter)
        left -= gone

    return dataclasses.replace(item, fields={**item.fields, "notes": notes})


def _without(note: NoteRow, words: int) -> tuple[NoteRow, int]:
    """A note without so many words, or all it has, and their number."""
    text = note["text"]
    header = _HEADER.match(text)
    start = header.end() if header else 0
    places = [
        match.start()
        for match in itertools.islice(_WORD.finditer(text, start), words + 1)
    ]
    gone = min(words, len(places))
    if gone == 0:
        return note, 0

    kept = text[places[gone] :] if gone < len(places) else ""
    return {**note, "text": text[:start] + MARKER.format(words=gone) + kept}, gone


# The authors' prompts: two files `utils.py` of their repository, each with one dict of
# texts, read as data and never run. Theirs are filled by `str.format_map`; here by
# parts, so that braces in notes and answers stay what they are.

_NAME: Final = "PROMPT_DICT"
_AGAIN: Final = "Download it again."


def read_prompt_dict(
    upstream: Path | None, part: Literal["generation", "evaluation"]
) -> tuple[Path, Mapping[object, object]]:
    """Reads the dict of prompts of one half of the authors' repository.

    `part`: for models or for the judge.
    """
    path = repository_file(upstream, f"src/{part}/utils.py", repository=REPOSITORY)
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
    """Checks one of the authors' texts."""
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
        named = ", ".join(f"{{{slot}}}" for slot in slots)
        raise UsageError(
            f"{where}: must have each of {named} once and no other slot; it has {len(fields)} in "
            f"all. {_AGAIN}"
        )

    return text


def fill_template(text: str, values: Mapping[str, str]) -> str:
    """Fills a text that `check_template` has passed."""
    parts = string.Formatter().parse(text)
    return "".join(
        literal + ("" if name is None else values[name]) for literal, name, *_ in parts
    )
