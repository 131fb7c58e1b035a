"""Reads replies that are ids alone: of a note's sentences (subtask 2), of what each sentence of an answer rests on (subtask 4)."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, Final

from medical_tasks.benchmarks.archehr_qa.citation_groups import bracket_groups, pipe_groups, read_ids
from medical_tasks.benchmarks.archehr_qa.reply_text import unfenced
from medical_tasks.scoring.reasoning import spoken

__all__ = ["NO_IDS", "IdReply", "PairReply", "read_alignment", "read_evidence"]

NO_IDS: Final = "no ids found"
"""Problem of a reply that says something, and nothing that can be read."""

_MARKS: Final = r"[\s|\[\](){}.,;:\"'`*-]*+"
_NOTHING: Final = re.compile(rf"{_MARKS}(?:none|nothing|no sentences?)?{_MARKS}", re.IGNORECASE)
_LABEL: Final = re.compile(
    r"^\W*(?:(?:the|relevant|essential|needed|necessary|evidence|cited|note|answer|citations?|sentences?|ids?|numbers?|are|is)\b\W*)+",
    re.IGNORECASE,
)
_LIST_WORDS: Final = re.compile(r"(?:[\s,;&.()]|and\b|[sS#]?[0-9]++|[-\u2010-\u2015\u2212])*+")
_NUMBERED: Final = re.compile(
    r"^\W*(?:answer[ \t]+)?(?:sentence[ \t]+)?([0-9]{1,4})(?:[\])]?[ \t]*(?::|->|=)|[ \t]*[.)](?![^\s|\[]))[ \t]*(.*)$",
    re.IGNORECASE,
)
_LEADING: Final = re.compile(
    r"^[\s*\u2022-]*\(?(?:sentence[ \t]+)?[sS#]?([0-9]{1,4})(?:[.):](?=\s|$)|$)(.*)$", re.IGNORECASE
)
_DISMISSED: Final = re.compile(
    r"\W*(?:not[ -](?:relevant|essential|needed|necessary)|irrelevant|non-?essential|supplementary)(?:[ \t]+sentences?)?"
    r"[*_]*(?::|\W*$)",
    re.IGNORECASE,
)
_EMPHASIS: Final = re.compile(r"(?<!\[)\*\*(?!\])|`")  # "[**" is a mark of de-identification
_BESIDE: Final = re.compile(r"\bsentences?\b|\([^()0-9]{0,200}\)$", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True, slots=True)
class IdReply:
    """Ids of a reply.

    Attributes:
        ids: in their order, each once; also such as the note does not have.
        problems: short classes; none for a reply that says nothing at all.
    """

    ids: tuple[str, ...]
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class PairReply:
    """What sentences of an answer rest on.

    Attributes:
        pairs: id of the answer's sentence and id of a sentence of the note, known or not; each pair once.
        problems: short classes; none for a reply that says nothing at all.
    """

    pairs: tuple[tuple[str, str], ...]
    problems: tuple[str, ...] = ()


def read_evidence(text: str, known_ids: Collection[str]) -> IdReply:
    """Reads which sentences a reply names.

    It is read as the first of these that fits: JSON (a list of ids, or an object with one list in it or one named `essential`, or a
    list of objects with a sentence's id, of which a `relevance` other than essential leaves it out); groups `|1,2|` or `[1, 2]`; a
    list of ids, behind a label or not (`Essential sentences: 1, 3-5`), between lines without numbers; lines that begin with an id
    and a mark. What a heading calls supplementary or not relevant ends what is read; a line that calls its id so is passed over.

    Args:
        text: a model's reply.
        known_ids: ids of the note's sentences.
    """
    said = _said(text)
    if _NOTHING.fullmatch(said):
        return IdReply(ids=())
    value = _json(said)
    if value is not None:
        read = _json_ids(value, known_ids)
        return IdReply(ids=tuple(dict.fromkeys(read or ())), problems=(NO_IDS,) if read is None else ())
    lines = list(takewhile(lambda line: not _DISMISSED.match(line), _lines(said)))
    groups = [group for line in lines for group in pipe_groups(line, known_ids) or bracket_groups(line, known_ids)]
    rests = [_BESIDE.sub(" ", _LABEL.sub("", line)) for line in lines]
    if any(group.ids for group in groups):
        listed = tuple(cited for group in groups for cited in group.ids)
    elif all(_LIST_WORDS.fullmatch(rest) or not re.search("[0-9]", rest) for rest in rests):
        lists = [rest for rest in rests if _LIST_WORDS.fullmatch(rest)]
        listed = tuple(cited for rest in lists for cited in read_ids(rest.replace(".", " "), known_ids))
    else:
        leading = [found for line in lines if (found := _LEADING.match(line)) and not _DISMISSED.fullmatch(found[2])]
        listed = tuple(cited for found in leading for cited in read_ids(found[1], known_ids))
    return IdReply(ids=tuple(dict.fromkeys(listed)), problems=() if listed else (NO_IDS,))


def read_alignment(text: str, known_ids: Collection[str], answer_ids: Sequence[str] = ()) -> PairReply:
    """Reads what each sentence of an answer rests on.

    It is read strictly: lines `1: 2,3` (the answer's sentence, then an id list, with bars or brackets or without); where no line
    is numbered, lines that end with a group, in the answer's order (`||` for a sentence that rests on nothing); or JSON, an object
    from number to list, a list of lists, or a list of objects with `answer_id` and `evidence_id`. Other lines are passed over.

    Args:
        text: a model's reply.
        known_ids: ids of the note's sentences.
        answer_ids: ids of the answer's sentences, in order; a number that is none of them means the sentence at that place.
    """
    said = _said(text)
    if _NOTHING.fullmatch(said):
        return PairReply(pairs=())
    rows = _json_rows(_json(said), known_ids, answer_ids)
    if rows is None:
        lines = _lines(said)
        numbered = [(found[1], found[2]) for line in lines if (found := _NUMBERED.match(line))]
        if numbered:
            rows = [(number, _listed_ids(rest, known_ids)) for number, rest in numbered]
        else:
            found_groups = (pipe_groups(line, known_ids) or bracket_groups(line, known_ids) for line in lines)
            grouped = [groups for groups in found_groups if groups]
            rows = [
                (str(place), [cited for group in groups for cited in group.ids])
                for place, groups in enumerate(grouped, 1)
            ]
    pairs = tuple(dict.fromkeys((_answer_id(name, answer_ids), cited) for name, ids in rows for cited in ids))
    return PairReply(pairs=pairs, problems=() if rows else (NO_IDS,))


def _said(text: str) -> str:
    return _EMPHASIS.sub("", unfenced(spoken(text).strip())).strip()


def _lines(said: str) -> list[str]:
    return [line.strip() for line in said.splitlines() if line.strip()]


def _listed_ids(rest: str, known_ids: Collection[str]) -> Iterable[str]:
    """Ids behind a number: of groups, or of nothing but a list."""
    groups = pipe_groups(rest, known_ids) or bracket_groups(rest, known_ids)
    if groups:
        return [cited for group in groups for cited in group.ids]
    rest = _BESIDE.sub(" ", rest)
    return read_ids(rest.replace(".", " "), known_ids) if _LIST_WORDS.fullmatch(rest) else ()


def _json(text: str) -> Any:
    """The value of a reply that is JSON as a whole; None of any other."""
    if not text.startswith(("[", "{")):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _json_ids(value: Any, known_ids: Collection[str]) -> tuple[str, ...] | None:
    if isinstance(value, dict):
        lists = [each for each in value.values() if isinstance(each, list)]
        value = lists[0] if len(lists) == 1 else value.get("essential")
    if not isinstance(value, list):
        return None
    ids: list[str] = []
    for each in value:
        if isinstance(each, dict):
            if str(each.get("relevance", "essential")).strip().lower() != "essential":
                continue
            each = next((each[name] for name in ("sentence_id", "id") if name in each), None)
        if isinstance(each, bool) or not isinstance(each, str | int):
            return None
        ids += read_ids(str(each), known_ids)
    return tuple(ids)


def _answer_id(name: str, answer_ids: Sequence[str]) -> str:
    if name in answer_ids:
        return name
    place = int(name)
    return answer_ids[place - 1] if 0 < place <= len(answer_ids) and str(place) not in answer_ids else str(place)


def _json_rows(
    value: Any, known_ids: Collection[str], answer_ids: Sequence[str]
) -> list[tuple[str, Iterable[str]]] | None:
    if isinstance(value, dict):
        pairs = [(str(name).strip(), ids) for name, ids in value.items()]
    elif isinstance(value, list) and value and all(isinstance(each, list) for each in value):
        pairs = [(str(place), ids) for place, ids in enumerate(value, 1)]
    elif isinstance(value, list) and value and all(isinstance(each, dict) for each in value):
        pairs = [(str(each.get("answer_id")).strip(), each.get("evidence_id")) for each in value]
    else:
        return None
    if not all(name in answer_ids or re.fullmatch("[0-9]{1,4}", name) for name, _ in pairs):
        return None
    rows: list[tuple[str, Iterable[str]]] = []
    for name, ids in pairs:
        found = _json_ids(ids, known_ids)
        if found is None:
            found = read_ids(str(ids), known_ids) if isinstance(ids, str | int) and not isinstance(ids, bool) else ()
        rows.append((name, found))
    return rows
