"""Reads the authors' prompts for models and for judges from the JSON files of their repository.

Each file is a list of messages. Its examples are messages of the system, with names
that most servers do not know, so they are sent as turns. Those of radiology contain
text of MIMIC-III.

- Zero-shot tasks use the `_dummy` files, whose one example shows only the form.
- The authors' system messages `example_user` and `example_assistant` become user and
  assistant turns.
- Questions and findings are sent on one line in lower case. Messages equal the
  authors', except for two questions of MeQSum.
- `doclens_own` and `citations=no` have none.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Final, Literal, cast

from medical_tasks.benchmarks.doclens.measures import MAX_CLAIMS, MIN_CLAIMS
from medical_tasks.benchmarks.doclens.pieces import (
    SECTIONS,
    numbered_dialogue,
    numbered_question,
)
from medical_tasks.data.dataset_source import repository_file
from medical_tasks.errors import MissingError, UsageError
from medical_tasks.io.files import packaged, read_text, readable
from medical_tasks.spec import Message, TaskSpec

OFFICIAL_STYLES: Final = ("json_cot", "cot")
"""The styles of their judge prompts: for GPT and for Mistral."""

OFFICIAL_TOKENS: Final[Mapping[str, int]] = {"json_cot": 2000, "cot": 1000}
"""The limit of reply tokens in their scripts, by style."""

DIALOGUES: Final = ("note", "section")
"""The forms of texts that summarise a dialogue."""

REPOSITORY: Final = "https://github.com/yiqingxyq/DocLens"

_AGAIN: Final = "Download it again."
_TAGGER: Final = "data_processing/sectiontagger.py"
_FOLDERS: Final = {
    "claims": "claim_evaluation/prompts",
    "citations": "citation_evaluation/prompts",
}
_NAMES: Final = packaged(__file__, "official_prompts.json")
"""By form, the stems of the files for generation and the family of the others; by family, the names
of its texts in questions; by kind, the file of the question.
"""
_ROLES: Final = {"example_user": "user", "example_assistant": "assistant"}
_SLOT: Final = re.compile("__TEXT__|__CLAIM__")
_SPEAKER: Final = re.compile(r"\[([a-z,\s_]+)\]")
_SPEAKERS: Final = re.compile(r"\[[a-z,\s_]+\] ")


def read_official(
    task: TaskSpec, upstream: Path | None
) -> dict[str, tuple[Message, ...]]:
    """Reads the messages before a task's input, by section; under "" for other forms."""
    names = _NAMES["generation"].get(task.options["form"])
    if names is None:
        raise UsageError(
            f"{task.name} has no official prompts: the authors released those of ACI-BENCH, "
            "MIMIC and MeQSum. Use --prompts own."
        )

    shots = int(task.options["shots"])
    ending = "" if shots else "_dummy"
    return {
        section: _before(
            *_read(upstream, f"prompts/{name}_annotated-citation{ending}.json"), shots
        )
        for section, name in zip(
            SECTIONS if len(names) > 1 else ("",), names, strict=True
        )
    }


def _before(path: Path, text: str, shots: int) -> tuple[Message, ...]:
    """The messages before the source: the instruction, then `shots` pairs of input and output.

    Without shots the authors have another file, `_dummy`, whose first pair shows the
    form.
    """
    instruction, *examples, _ = _messages(text)
    pairs = max(shots, 1)
    for number, message in enumerate(examples, start=2):
        name = list(_ROLES)[number % 2]
        content = message["content"]
        if (
            message.get("name") != name
            or not isinstance(content, str)
            or not content.strip()
        ):
            raise UsageError(
                f"{path}: message {number} must be a text of the system named {name}. {_AGAIN}"
            )

    if len(examples) % 2 or len(examples) < 2 * pairs:
        raise UsageError(
            f"{path}: {pairs} examples of two messages each are needed, it has {len(examples)} "
            f"example messages. {_AGAIN}"
        )

    return _sent((instruction, *examples[: 2 * pairs]))


def official_input(sentences: Sequence[str], form: str) -> str:
    """Writes a numbered source as in the authors' files.

    Dialogues are as released; others are on one line, with a space at the end. Reports
    and questions are in lower case; a user's own texts are not changed.
    """
    if form in DIALOGUES:
        return numbered_dialogue(sentences)
    line = f"{numbered_question(sentences)} "
    return line if form == "text" else line.lower()


def official_division(
    texts: Mapping[str, str],
) -> Callable[[str], dict[str, str]] | None:
    """The authors' division of notes, by the headings of their tagger; None for texts that are not divided."""
    return (
        partial(_divided, headings=_headings(texts[_TAGGER]))
        if _TAGGER in texts
        else None
    )


def _divided(note: str, headings: Mapping[str, re.Pattern[str]]) -> dict[str, str]:
    """Divides a note into all of `SECTIONS`.

    Each section begins at the first line with one of its headings; `subjective` begins
    at the first line if that has none. A section ends where the next one begins, so
    that text under its later headings belongs to another section.
    """
    starts: dict[str, int] = {}
    position = 0
    for line in note.split("\n"):
        section = next(
            (name for name, pattern in headings.items() if pattern.match(line)), None
        )
        if section is None and _IMPRESSION.match(line):
            section = "assessment_and_plan"
        if section is None and position == 0:
            section = "subjective"
        if section is not None:
            starts.setdefault(section, position)

        position += len(line) + 1

    ends = dict(zip(starts, [*list(starts.values())[1:], len(note)], strict=True))
    return {
        name: note[starts[name] : ends[name]] if name in starts else ""
        for name in SECTIONS
    }


_IMPRESSION: Final = re.compile(r"\s*IMPRESSION")


@lru_cache(maxsize=4)
def _headings(code: str) -> dict[str, re.Pattern[str]]:
    """Reads the headings of each section from the tables of the authors' tagger.

    Its code is parsed and never executed. Headings are written `history :`. They match
    with any white space or none, and without the colon on a line of their own.
    """
    lists: dict[str, list[str]] = {}
    sections: dict[str, list[str]] = {}
    for node in ast.parse(code).body:
        match node:
            case ast.Assign(
                targets=[ast.Subscript(value=ast.Name(id=table))],
                value=ast.List() as names,
            ):
                lists.setdefault(table, []).extend(ast.literal_eval(names))
            case ast.Assign(
                targets=[ast.Subscript(slice=ast.Constant(value=str(section)))],
                value=ast.Name(id=table),
            ):
                sections[section] = lists[table]

    return {
        section: re.compile(rf"\s*(?:{'|'.join(map(_heading, names))})", re.IGNORECASE)
        for section, names in sections.items()
    }


def _heading(name: str) -> str:
    pattern = r"\s*".join(map(re.escape, name.split(" ")))
    return (
        rf"{pattern}|{pattern.removesuffix(':')}\s*$" if name.endswith(":") else pattern
    )


Kind = Literal["make", "claims", "question", "same", "citation"]


def official_file(kind: Kind, style: str, *, form: str, section: str) -> str:
    """The file of a question, as a path below `prompts`."""
    family = _NAMES["family"][form]
    mistral = "" if style == "json_cot" or kind == "make" else "_Mistral"
    if family == "acibench" and (
        kind == "make" or (kind == "citation" and not mistral)
    ):
        if section not in SECTIONS:
            raise UsageError(
                f"the authors have prompts for the sections {', '.join(SECTIONS)} of a note; got "
                f"{section!r}. Use --prompts own."
            )

        family = f"{family}_{section}"

    return f"{_NAMES['file'][kind].format(family)}{mistral}.json"


def read_official_texts(task: TaskSpec, upstream: Path | None) -> dict[str, str]:
    """Reads the files of a task's judge prompts, by name.

    `claims/...` is in their folder `claim_evaluation/prompts`, and so on.
    """
    form = task.options["form"]
    kinds: tuple[Kind, ...] = (
        ("question", "same", "citation")
        if form == "question"
        else ("make", "claims", "citation")
    )
    sections = SECTIONS if _NAMES["family"][form] == "acibench" else ("",)
    names = dict.fromkeys(
        official_file(kind, style, form=form, section=section)
        for kind in kinds
        for style in OFFICIAL_STYLES
        for section in sections
    )
    texts = {}
    for name in names:
        folder, _, file = name.partition("/")
        texts[name] = _read(upstream, f"{_FOLDERS[folder]}/{file}")[1]

    if form == "note":
        texts[_TAGGER] = _read_tagger(upstream)

    return texts


def _read_tagger(upstream: Path | None) -> str:
    path = repository_file(upstream, _TAGGER, repository=REPOSITORY)
    with readable(path, again=_AGAIN, error=MissingError):
        code = read_text(path)

    try:
        headings = _headings(code)
    except (SyntaxError, ValueError, KeyError):
        headings = {}

    if set(headings) != set(SECTIONS):
        raise UsageError(
            f"{path}: has no tables of headings of {', '.join(SECTIONS)}. {_AGAIN}"
        )

    return code


def official_make_messages(text: str, *, judged: str) -> tuple[Message, ...]:
    """Asks for the claims of a text."""
    first, *examples, last = _messages(text)
    # Their script replaces the words but not the underscores around them, so that models
    # read `__1__` and `__30__`.
    instruction = (
        first["content"]
        .replace("MIN_CLAIM", str(MIN_CLAIMS))
        .replace("MAX_CLAIM", str(MAX_CLAIMS))
    )

    return _sent(
        ({**first, "content": instruction}, *examples, {**last, "content": judged})
    )


def official_claim_messages(
    text: str, *, form: str, judged: str, claims: Sequence[str]
) -> tuple[Message, ...]:
    """Asks about claims: about all with a file for GPT, about a single one with a file for Mistral."""
    if _is_mistral(text):
        return _mistral_messages(text, judged=judged, claim=claims[0])
    text_name = _NAMES["text"][_NAMES["family"][form]]
    return _gpt_messages(text, {text_name: judged, "claims": list(claims)})


def official_pair_messages(
    text: str, *, first: str, second: str
) -> tuple[Message, ...]:
    """Asks about two questions of MeQSum: whether `first` (question A) is a case of `second`, or the same."""
    if _is_mistral(text):
        return _mistral_messages(text, judged=first, claim=second)
    return _gpt_messages(text, {"question A": first, "question B": second})


def official_citation_messages(
    text: str, *, form: str, sentence: str, cited: Sequence[tuple[int, str]]
) -> tuple[Message, ...]:
    """Asks about a sentence and its citations; for Mistral they are numbered from 0."""
    if _is_mistral(text):
        lines = "\n".join(
            f"[{index}] {content}" for index, (_, content) in enumerate(cited)
        )
        return _mistral_messages(text, judged=lines, claim=sentence)

    family = _NAMES["family"][form]
    sentence_name, cited_name = _NAMES["cited"][family]
    entries = [
        {"idx": str(number)} | _turn(content, spoken=family == "acibench")
        for number, content in cited
    ]

    return _gpt_messages(text, {sentence_name: sentence, cited_name: entries})


def _turn(content: str, *, spoken: bool) -> dict[str, str]:
    speaker = _SPEAKER.search(content) if spoken else None
    if speaker is None:
        return {"content": content}
    return {"speaker": speaker[1], "content": _SPEAKERS.sub("", content)}


def _gpt_messages(text: str, question: Mapping[str, object]) -> tuple[Message, ...]:
    """The messages of a file for GPT, with the examples and the question as JSON."""
    first, *examples, last = _messages(text)
    encoded = [
        {**example, "content": json.dumps(example["content"])} for example in examples
    ]
    return _sent((first, *encoded, {**last, "content": json.dumps(question)}))


def _mistral_messages(text: str, *, judged: str, claim: str) -> tuple[Message, ...]:
    """The messages of a file for Mistral, with the slots of the last one filled."""
    values = {"__TEXT__": judged, "__CLAIM__": claim}
    *before, last = _messages(text)
    content = _SLOT.sub(lambda slot: values[slot[0]], last["content"])
    return _sent((*before, {**last, "content": content}))


def _sent(messages: Sequence[Mapping[str, Any]]) -> tuple[Message, ...]:
    return tuple(
        cast(
            Message,
            {
                "role": _ROLES.get(message.get("name", ""), message["role"]),
                "content": content
                if isinstance(content := message["content"], str)
                else json.dumps(content),
            },
        )
        for message in messages
    )


@lru_cache(maxsize=32)
def _messages(text: str) -> tuple[dict[str, Any], ...]:
    return tuple(json.loads(text))


def _is_mistral(text: str) -> bool:
    return "__CLAIM__" in str(_messages(text)[-1]["content"])


def _read(upstream: Path | None, path: str) -> tuple[Path, str]:
    source = repository_file(upstream, path, repository=REPOSITORY)
    try:
        with readable(source, again=_AGAIN, error=MissingError):
            text = read_text(source)
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{source}: is no JSON in UTF-8. {_AGAIN}") from error
    if wrong := _wrong(content, source.name):
        raise UsageError(f"{source}: {wrong}. {_AGAIN}")
    return source, text


def _wrong(content: object, name: str) -> str | None:
    """The first fault of the authors' prompt, a list of messages; None if it has none.

    A prompt ends with the user's message. That of GPT is empty in the file, and is replaced by
    what is judged; that of Mistral has the slots `__TEXT__` and `__CLAIM__`. A prompt that
    makes claims has slots for their least and largest number in its first message.
    """
    if not isinstance(content, list) or not content:
        return "a prompt of the authors is a list of messages; this is none"

    for number, message in enumerate(content, start=1):
        if rule := _wrong_message(message):
            return f"message {number} {rule}"

    first, last = content[0], content[-1]
    if last["role"] != "user":
        return "its last message is not the user's"

    mistral = name.endswith("_Mistral.json")
    slots: dict[str, object] = {}
    if "_subclaim_generation" in name:
        slots = {"__MIN_CLAIM__": first["content"], "__MAX_CLAIM__": first["content"]}
    elif mistral:
        slots = {"__TEXT__": last["content"], "__CLAIM__": last["content"]}

    for slot, text in slots.items():
        count = text.count(slot) if isinstance(text, str) else 0
        if count != 1:
            return f"{slot} must appear once, but appears {count} times"

    if mistral or (
        len(content) > 1 and _is_instruction(first) and last["content"] == ""
    ):
        return None

    return "it needs an instruction of the system first and an empty message of the user last"


def _is_instruction(message: Mapping[str, object]) -> bool:
    text = message["content"]
    return (
        message["role"] == "system"
        and "name" not in message
        and isinstance(text, str)
        and bool(text.strip())
    )


def _wrong_message(message: object) -> str | None:
    roles = ("system", "user", "assistant")
    if not isinstance(message, dict) or message.get("role") not in roles:
        return "has no role system, user or assistant"
    content = message.get("content")
    if not set(message) <= {"role", "name", "content"} or not isinstance(
        content, str | dict | list
    ):
        return "must have role and content and may have a name, no more"
    name = message.get("name")
    if name is not None and (name not in _ROLES or message["role"] != "system"):
        return f"has a name, which only the system's {' and '.join(_ROLES)} have"
    return None
