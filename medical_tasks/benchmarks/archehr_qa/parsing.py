r"""Reads replies: answers with their citations, and lists of ids.

Answers with citations belong to the shared tasks of 2025 and 2026, lists of ids to
subtasks 2 and 4. The readers never fail. `scoring` has the shared tasks' own reading,
bug for bug.

Answers, besides the official form:

| written | read |
|---|---|
| `\| 1 , 2 \|`, `\|1;2\|`, `\|1 and 2\|`, `\|1\|\|2\|`, `\|1\| \|2\|` | 1 2 |
| `\|1-3\|`, `\|S1\|`, `\|"1"\|`, `\|[1]\|`, `\|01\|`, `\|sentence 1\|` | 1 2 3, then 1. Ranges ascend, over at most 100 sentences |
| `\|1\|.`, `\|1\|**`, `(\|1\|)`, `[[1]]` | 1; adjoining marks are dropped |
| `A. \|1\| B. \|2\|` | two sentences |
| `[1, 2]`, `[1][2]`, `【1】【2】`, `(sentences 1 and 2)`, in a line without bars | 1 2 |
| `\|none\|`, `\|n/a\|`, `\|-\|` | nothing |
| `\|1 or 2\|`, `\|not 3\|`, `\|see above\|` | unclear |
| `\|1\|` alone in a line | belongs to the previous sentence |
| a fenced block; reasoning | the last block; the text outside |
| `A. \|1\| and so on` | no citation |
| `\|x\|` | an unknown id |
| `[8.2 -> 6.9]`, `[**2150-1-1**]`, `[120-80]`, `[1950]` | prose |

Ids are read from the first form that fits: JSON (a list, an object with one list or one
named `essential`, or objects with `sentence_id`, omitting those with another
`relevance`); groups in bars or brackets; a list, labelled or not (`Essential sentences:
1, 3-5`); lines beginning with an id and a mark (`3. `). Reading stops at a heading such
as `Supplementary:` and skips lines like `2: not relevant`.

Pairs are read from lines `1: 2,3`; else from lines ending in a group, in order (`||`
for none); else from JSON: `{"1": ["2", "3"]}`, a list of lists, or objects with
`answer_id` and `evidence_id`. An unreadable reply has no ids.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise, takewhile
from typing import Final, Generic, TypeVar

from medical_tasks.benchmarks.archehr_qa.declarations import WORD_LIMIT
from medical_tasks.scoring.normal_form import alike
from medical_tasks.scoring.reasoning import without_reasoning

EMPTY: Final = "empty"
NO_CITATIONS: Final = "no citations"
UNKNOWN_IDS: Final = "unknown ids"
TOO_LONG: Final = "too long"
WRONG_FORM: Final = "wrong form"
OPEN_ID: Final = "?"
"""The id cited by a group that leaves open which sentences it means; no note has it."""
OPEN_GROUP: Final = "citations that leave open which sentences they mean"
"""The reason for an unclear reply."""
PROBLEMS: Final = (EMPTY, NO_CITATIONS, UNKNOWN_IDS, TOO_LONG, WRONG_FORM)
"""The possible problems of an answer, in order."""

SENTENCE_ENDS: Final = (".", "!", "?")
_CLOSERS: Final = "\"'\u201d\u2019)]*_"
_END_MARK: Final = re.compile(r"[ \t]*([.!?]+)(?=\s|$)")


@dataclass(frozen=True, kw_only=True, slots=True)
class Sentence:
    """A sentence of an answer, or a line of it without words.

    Attributes:
        text: its text without citations, with an end mark; "" for citations alone.
        citations: the cited ids in order, without repeats.
    """

    text: str
    citations: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """An answer as it counts: at most 75 words, with their citations.

    Attributes:
        sentences: the sentences within the limit; the last one may be cut.
        text: these on one line, which is compared with references.
        citations: their cited ids, known or not, in order of first mention.
        words: number of words of the whole answer, without citations.
        problems: those of `PROBLEMS` that it has; none if it is in the official form,
            cited, short enough, and has known ids.
        unclear: why it leaves open which sentences it cites; "" if it does not.
    """

    sentences: tuple[Sentence, ...]
    text: str
    citations: tuple[str, ...]
    words: int
    problems: tuple[str, ...]
    unclear: str = ""


def read_answer(text: str, known_ids: Collection[str]) -> Answer:
    """Reads an answer: its text, its citations and its problems.

    Citations have two forms: the shared task's, after a sentence and between bars, or
    brackets, which models use on their own. A line in the first form is not read for
    the second.

    Example: "He had a stroke. |1,2|" and "He had a stroke [1, 2]." both have the text
    "He had a stroke." and cite 1 and 2; the second has the problem `WRONG_FORM`, since
    the script would read no citation.
    """
    reply = without_reasoning(text).strip()
    inside = unfenced(reply)
    lines = [line.strip() for line in inside.split("\n") if line.strip()]
    groups = [citation_groups(line, known_ids) for line in lines]
    whole = _attached(chain.from_iterable(map(_sentences, lines, groups)))
    words = sum(len(sentence.text.split()) for sentence in whole)
    kept = whole if words <= WORD_LIMIT else _cut(whole)
    citations = _union(kept)
    has_problem = {
        EMPTY: words == 0,
        NO_CITATIONS: not citations,
        UNKNOWN_IDS: not set(_union(whole)) <= set(known_ids),
        TOO_LONG: words > WORD_LIMIT,
        WRONG_FORM: inside != reply or any(map(_off_form, lines, groups)),
    }

    return Answer(
        sentences=kept,
        text=" ".join(sentence.text for sentence in kept if sentence.text),
        citations=citations,
        words=words,
        problems=tuple(problem for problem in PROBLEMS if has_problem[problem]),
        unclear=_why_unclear(chain.from_iterable(groups)),
    )


def _why_unclear(groups: Iterable[Group]) -> str:
    return OPEN_GROUP if any(group.unclear for group in groups) else ""


def _sentences(line: str, groups: list[Group]) -> Iterator[Sentence]:
    """Cuts a line after each group of citations at the end of a sentence, and nowhere else.

    Example: `He bled [1]. He rested. He went home [2].` gives two sentences, `He bled.`
    citing 1, and `He rested. He went home.` citing 2.
    """
    text, start = "", 0
    cited: list[str] = []
    for group in groups:
        text += line[start : group.start].rstrip()
        cited += group.ids
        start = group.end
        if mark := _END_MARK.match(line, start):
            start = mark.end()
            if not _ended(text):
                text += mark[1]

        if _ended(text):
            yield _sentence(text, cited)
            text, cited = "", []

    text += line[start:]
    words = any(map(str.isalnum, text))
    if words or cited or (text.strip() and not groups):
        yield _sentence(text if words or not groups else "", cited)


def _ended(text: str) -> bool:
    return text.rstrip(_CLOSERS).endswith(SENTENCE_ENDS)


def _sentence(text: str, cited: list[str]) -> Sentence:
    text = text.strip()
    # The script looks only at the last character, so that a quotation gets a second
    # mark; the compared texts follow it.
    if text and not text.endswith(SENTENCE_ENDS):
        text += "."
    return Sentence(text=text, citations=_distinct(cited))


def _attached(sentences: Iterable[Sentence]) -> tuple[Sentence, ...]:
    """Moves citations without text to the sentence before them."""
    attached: list[Sentence] = []
    for sentence in sentences:
        if sentence.text or not attached:
            attached.append(sentence)
        else:
            attached[-1] = replace(
                attached[-1], citations=_union((attached[-1], sentence))
            )
    return tuple(attached)


def _cut(sentences: tuple[Sentence, ...]) -> tuple[Sentence, ...]:
    """The sentences within the limit of words; a cut one keeps its citations."""
    kept: list[Sentence] = []
    left = WORD_LIMIT
    for sentence in sentences:
        words = sentence.text.split()[:left]
        if words or not sentence.text:
            kept.append(Sentence(text=" ".join(words), citations=sentence.citations))

        left -= len(words)
        if not left:
            break

    return tuple(kept)


def _union(sentences: Iterable[Sentence]) -> tuple[str, ...]:
    return tuple(
        dict.fromkeys(cited for sentence in sentences for cited in sentence.citations)
    )


def _off_form(line: str, groups: list[Group]) -> bool:
    """Whether a line has citations that the official script reads differently, or not at all."""
    pieces = line.rsplit("|", 2)
    if len(pieces) != 3:  # text, ids and the rest
        return bool(groups) or "|" in line

    text, ids, rest = pieces
    read = dict.fromkeys(cited for cited in ids.split(",") if cited.strip())
    # The script and we split off the same group: in `A. |1| B. |1|` it leaves a group in
    # the text.
    same = [(group.start, *group.ids) for group in groups] == [(len(text), *read)]

    return (
        not same
        or not any(map(str.isalnum, text))
        or bool(rest.strip())
        or bool(bracket_groups(text))
    )


NO_IDS: Final = "no ids found"
"""Problem of a reply with text but without readable ids."""

_MARKS: Final = r"[\s|\[\](){}.,;:\"'`*-]*+"
_NOTHING: Final = re.compile(
    rf"{_MARKS}(?:none|nothing|no sentences?)?{_MARKS}", re.IGNORECASE
)
_LABEL: Final = re.compile(
    r"^\W*(?:(?:the|relevant|essential|needed|necessary|evidence|cited|note|answer|citations?|sentences?|ids?|numbers?|are|is)\b\W*)+",
    re.IGNORECASE,
)
_LIST_WORDS: Final = re.compile(
    r"(?:[\s,;&.()]|and\b|[sS#]?[0-9]++|[-\u2010-\u2015\u2212])*+"
)
_NUMBERED: Final = re.compile(
    r"^\W*(?:answer[ \t]+)?(?:sentence[ \t]+)?([0-9]{1,4})(?:[\])]?[ \t]*(?::|->|=)|[ "
    r"\t]*[.)](?![^\s|\[]))[ \t]*(.*)$",
    re.IGNORECASE,
)
_LEADING: Final = re.compile(
    r"^[\s*\u2022-]*\(?(?:sentence[ \t]+)?[sS#]?([0-9]{1,4})(?:[.):](?=\s|$)|$)(.*)$",
    re.IGNORECASE,
)
_DISMISSED: Final = re.compile(
    r"\W*(?:not[ "
    r"-](?:relevant|essential|needed|necessary)|irrelevant|non-?essential|supplementary)(?:[ "
    r"\t]+sentences?)?"
    r"[*_]*(?::|\W*$)",
    re.IGNORECASE,
)
# "[**" is a mark of de-identification
_EMPHASIS: Final = re.compile(r"(?<!\[)\*\*(?!\])|`")
_BESIDE: Final = re.compile(r"\bsentences?\b|\([^()0-9]{0,200}\)$", re.IGNORECASE)


_Cited = TypeVar("_Cited")


@dataclass(frozen=True, kw_only=True, slots=True)
class Reply(Generic[_Cited]):
    """The sentences or pairs that a reply names.

    Attributes:
        cited: the names, known or not, without repeats.
        problems: short classes of problems; none for a reply that names nothing on
            purpose.
        unclear: why it leaves open which sentences it names; "" if it does not.
    """

    cited: tuple[_Cited, ...]
    problems: tuple[str, ...] = ()
    unclear: str = ""


def read_evidence(text: str, known_ids: Collection[str]) -> Reply[str]:
    """Reads which sentences a reply names.

    The first form that fits counts: JSON (a list of ids, or of objects with a
    sentence's id and perhaps its `relevance`, alone in an object or named `essential`);
    groups; a list of ids between lines without numbers; lines that begin with an id and
    a mark. A heading for supplementary or irrelevant sentences ends the reading.
    """
    reply = _plain_reply(text)
    if _NOTHING.fullmatch(reply):
        return Reply(cited=())

    value = _json(reply)
    if value is not None:
        ids = _json_ids(value, known_ids)
        return Reply(
            cited=_distinct(ids or ()), problems=(NO_IDS,) if ids is None else ()
        )

    lines = list(takewhile(lambda line: not _DISMISSED.match(line), _lines(reply)))
    groups = [group for line in lines for group in citation_groups(line, known_ids)]
    bare = [_BESIDE.sub(" ", _LABEL.sub("", line)) for line in lines]
    listed = [cited for group in groups for cited in group.ids] or _named_ids(
        lines, bare, known_ids
    )
    unclear = _why_unclear(groups)
    if not listed and _names_openly(lines, bare):
        unclear = OPEN_GROUP

    return Reply(
        cited=_distinct(listed or (OPEN_ID,) * bool(unclear)),
        problems=() if listed or unclear else (NO_IDS,),
        unclear=unclear,
    )


def _distinct(ids: Iterable[_Cited]) -> tuple[_Cited, ...]:
    return tuple(dict.fromkeys(ids))


def _names_openly(lines: Sequence[str], bare: Sequence[str]) -> bool:
    """Whether a reply names sentences but leaves open which, in any words: "one or two"."""
    named = any(
        "sentence" in line.lower() or re.search("[0-9]", line) for line in lines
    )
    return named and all(map(_is_only_open, bare))


def _named_ids(
    lines: Sequence[str], bare: Sequence[str], known_ids: Collection[str]
) -> list[str]:
    """The ids of lines without groups: lists between lines without numbers, or one id per line."""
    lists = [rest for rest in bare if _LIST_WORDS.fullmatch(rest)]
    if any(re.search("[0-9]", rest) and rest not in lists for rest in bare):
        leading = [match for line in lines if (match := _LEADING.match(line))]
        lists = [match[1] for match in leading if not _DISMISSED.fullmatch(match[2])]
    return [
        cited for rest in lists for cited in read_ids(rest.replace(".", " "), known_ids)
    ]


def read_alignment(
    text: str, known_ids: Collection[str], answer_ids: Sequence[str] = ()
) -> Reply[tuple[str, str]]:
    """Reads pairs of an answer's sentence and a sentence of its evidence.

    The forms are lines `1: 2,3`; if no line is numbered, lines that end with a group, in
    the answer's order; or JSON: an object from numbers to lists, a list of lists, or a
    list of objects with `answer_id` and `evidence_id`. A number that is not in
    `answer_ids` is a sentence's position.
    """
    reply = _plain_reply(text)
    if _NOTHING.fullmatch(reply):
        return Reply(cited=())

    rows = _json_rows(_json(reply), known_ids, answer_ids)
    if rows is None:
        lines = _lines(reply)
        numbered = [match for line in lines if (match := _NUMBERED.match(line))]
        rows = [(match[1], _listed_ids(match[2], known_ids)) for match in numbered]
        if not rows:
            by_line = [citation_groups(line, known_ids) for line in lines]
            rows = [
                (str(number), [cited for group in groups for cited in group.ids])
                for number, groups in enumerate(filter(None, by_line), 1)
            ]

    pairs = [
        (_answer_id(name, answer_ids), cited) for name, ids in rows for cited in ids
    ]
    return Reply(cited=_distinct(pairs), problems=() if rows else (NO_IDS,))


def _plain_reply(text: str) -> str:
    """A reply without reasoning, fence and emphasis."""
    return _EMPHASIS.sub("", unfenced(without_reasoning(text).strip())).strip()


def _lines(reply: str) -> list[str]:
    return [line.strip() for line in reply.splitlines() if line.strip()]


def _listed_ids(rest: str, known_ids: Collection[str]) -> Sequence[str]:
    """Reads the ids after the number of an answer's sentence, `2, 3` or `|2, 3|`.

    A text that is not entirely a list names nothing, since its numbers may be doses.
    """
    groups = citation_groups(rest, known_ids)
    if groups:
        return [cited for group in groups for cited in group.ids]

    rest = _BESIDE.sub(" ", rest)
    return (
        read_ids(rest.replace(".", " "), known_ids)
        if _LIST_WORDS.fullmatch(rest)
        else ()
    )


def _json(text: str) -> object:
    if not text.startswith(("[", "{")):
        return None
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value


def _json_ids(value: object, known_ids: Collection[str]) -> list[str] | None:
    """Reads the ids of a JSON reply; None for an unknown form.

    Example: `["1", 3]`, `{"answer": ["1", "3"]}` and `{"essential": ["1", "3"],
    "other": ["2"]}` all name 1 and 3. Objects count if they are essential or have no
    label. True and false are not ids, although Python treats them as numbers.
    """
    if isinstance(value, dict):
        lists = [ids for ids in value.values() if isinstance(ids, list)]
        value = lists[0] if len(lists) == 1 else value.get("essential")

    if not isinstance(value, list):
        return None

    ids: list[str] = []
    for name in value:
        if isinstance(name, dict):
            if str(name.get("relevance", "essential")).strip().lower() != "essential":
                continue

            name = name.get("sentence_id", name.get("id"))

        if not _is_id(name):
            return None

        ids += read_ids(str(name), known_ids)

    return ids


def _is_id(value: object) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)


def _answer_id(name: str, answer_ids: Sequence[str]) -> str:
    """The answer's sentence with this name, else the one at this position from 1.

    Example: with the ids 5 and 6, `6` is sentence 6 and `1` is sentence 5. `9` stays
    `9`, which no answer has, so that the pair counts as wrong.
    """
    if name in answer_ids:
        return name

    position = int(name)
    return (
        answer_ids[position - 1]
        if 0 < position <= len(answer_ids) and str(position) not in answer_ids
        else str(position)
    )


def _json_rows(
    value: object, known_ids: Collection[str], answer_ids: Sequence[str]
) -> list[tuple[str, Sequence[str]]] | None:
    """Pairs of a JSON reply, by the answer's sentence; None for an unknown form.

    Example, of the three known forms:

        >>> forms = {"2": ["1", "4"]}, [["1"], ["4"]], [{"answer_id": "1", "evidence_id": ["4"]}]
        >>> for form in forms:
        ...     print([(name, list(ids)) for name, ids in _json_rows(form, ["1", "4"], ["1", "2"])])
        [('2', ['1', '4'])]
        [('1', ['1']), ('2', ['4'])]
        [('1', ['4'])]
    """
    pairs: list[tuple[str, object]] = []
    if isinstance(value, dict):
        pairs = [(str(name).strip(), ids) for name, ids in value.items()]
    elif not isinstance(value, list) or not value:
        return None
    elif all(isinstance(ids, list) for ids in value):
        pairs = [(str(number), ids) for number, ids in enumerate(value, 1)]
    elif all(isinstance(link, dict) for link in value):
        pairs = [
            (str(link.get("answer_id")).strip(), link.get("evidence_id"))
            for link in value
        ]
    else:
        return None

    if not all(
        name in answer_ids or re.fullmatch("[0-9]{1,4}", name) for name, _ in pairs
    ):
        return None

    return [(name, _row_ids(ids, known_ids)) for name, ids in pairs]


def _row_ids(value: object, known_ids: Collection[str]) -> Sequence[str]:
    ids = _json_ids(value, known_ids)
    if ids is None and _is_id(value):
        return read_ids(str(value), known_ids)
    return ids or ()


MAX_RANGE: Final = 100
"""Largest number of sentences in a cited range."""

# ---- Groups of citations: the rules ----

_DASH = "[-\u2010-\u2015\u2212]"
_RANGED: Final = re.compile(
    rf"(?<=\d)(?:\s*(?:{_DASH}|~|\.{{2,3}}|…)\s*|\s+(?:to|through)\s+)(?=[sS#]?\d)",
    re.IGNORECASE,
)
_SEPARATOR: Final = re.compile(
    r"[,;&\s/+|]+|[\])}]+(?=[\[({])|\b(?:and|as\s+well\s+as)\b", re.IGNORECASE
)
_RANGE: Final = re.compile(rf"[sS#]?(\d{{1,6}}){_DASH}[sS#]?(\d{{1,6}})", re.ASCII)
_RANGE_BEGIN: Final = re.compile(rf"(\d+)\s*{_DASH}", re.ASCII)
_NUMBER: Final = re.compile(r"[sS#№]?0*(\d{1,6})", re.ASCII)
_AROUND_ID: Final = "\"'`[](){}<>*\\^†_.:=\u200b\u2060\ufeff"
_NUMBER_WORDS: Final = {
    word: str(number)
    for number, word in enumerate(
        "one two three four five six seven eight nine ten".split(), 1
    )
}
_NAMED: Final = "sentences?|sent|ids?|notes?|lines?|refs?|references?|citations?|cited?|cites|sources?|evidence"
"""Names of a number in a citation."""
_SAID: Final = re.compile(
    rf"(?:{_NAMED}|see|from|numbers?|nos?|both|and|as well as|plus|to)", re.IGNORECASE
)
_PREFIX: Final = re.compile(rf"(?:{_NAMED})[_=:#.-]{{1,2}}(?=[sS#]?\d)", re.IGNORECASE)
_NONE: Final = re.compile(
    r"[^\w?]*(?:none|nothing|null|n/?a|not applicable|uncited|not cited"
    r"|no (?:citations?|sentences?|evidence|ids?|sources?))[^\w?]*|[^\w?.]*",
    re.IGNORECASE,
)
"""A group that explicitly cites nothing."""
_UNSURE: Final = re.compile(
    r"\?|[<>]\s*\d|\d\s*\+(?!\s*\d)|\.{3}\s*$|\b(?:or|maybe|perhaps|possibly|probably|not|but|except|any|either|around|about|above"
    r"|below|all|first|last|same|ibid|if|some|unsure|unknown|unclear|etc|ff|on|before|after)\b",
    re.IGNORECASE,
)
"""Words and signs that leave open which sentences a group means."""

# Items of a list with the signs around them; each sign matches in one way only, so that
# it takes linear time.
_LISTED: Final = re.compile(
    rf"(?:[\s,;&:\[\](){{}}<>\"'`*_^†\\#№+=]|\.(?!\d)|{_DASH}|/(?=[\s\[]*[sS#]?\d)|(?:{_SAID.pattern})(?![A-Za-z])"
    r"|[sS#]?[0-9]{1,4}(?![0-9A-Za-z%]))*+",
    re.IGNORECASE,
)
_LONGEST_LIST: Final = 600
_ITEM = rf"(?:(?:{_NAMED})(?:[ .:#=_-]|number |no\. ){{0,3}})?[sS#^]?[0-9]{{1,3}}"
_ITEMS = (
    rf"{_ITEM}(?:(?: ?[,;&/|] ?(?:and )?| and | to | ?{_DASH} ?| ){_ITEM}){{0,99}}"
    r" ?,?\^?(?:†(?:source)?)?"
)
_SQUARE = rf"\\?\[\[? ?(?:see )?{_ITEMS} ?\\?\]?\](?:\(#?[0-9]{{1,3}}\))?"
_BRACKET: Final = re.compile(
    rf"(?P<all>{_SQUARE}(?:(?: ?[,;&] ?| and | |{_DASH}){_SQUARE}|{_SQUARE})*|\{{{{?{_ITEMS}\}}\}}?"
    rf"|<(?:sup|cite|ref)>{_ITEMS}</(?:sup|cite|ref)>|\((?:see )?(?:{_NAMED})\b[ "
    rf".:#]{{0,3}}{_ITEMS}\)|\([sS]{_ITEMS}\))",
    re.IGNORECASE,
)
_OPEN_BRACKET: Final = re.compile(
    r"\[([^\[\]|]{1,60})\]|\(((?:sentences?|sent)\b[^()|]{1,60})\)", re.I
)
_LAST: Final = re.compile(r"\|([^|]*)\|$")
_PAIRS: Final = {"(": ")", "[": "]", "{": "}", "*": "*", "_": "_", "`": "`", '"': '"'}
_LIST_WORD: Final = re.compile(
    rf"(?:{_SAID.pattern})[:.,;]?|[sS#]?[0-9]+(?:[^\w\s][0-9]+)*[^\w\s]?", re.IGNORECASE
)
_FIRST: Final = re.compile(r"[ \t.!?\"'\u201c(]*+(.)")
_DIGIT: Final = re.compile(r"\d", re.ASCII)


@dataclass(frozen=True, kw_only=True, slots=True)
class Group:
    """A group of citations in a line.

    Attributes:
        start: start of the group.
        end: end of the group.
        ids: the ids in order, without repeats, known or not; `OPEN_ID` if unclear.
        unclear: whether they name sentences but leave open which ("2 or 3", "not 4").
    """

    start: int
    end: int
    ids: tuple[str, ...]
    unclear: bool = False


def read_ids(text: str, known_ids: Collection[str]) -> tuple[str, ...]:
    """Reads a list of ids, without repeats.

    Words are ids that no note has, and so is a range that runs backwards or over
    `MAX_RANGE` sentences.

    Example: "sentences 2-3 and S5" names 2, 3 and 5; "n/a" names nothing; "5-2" names
    "5-2".
    """
    if _NONE.fullmatch(text):
        return ()

    ids: list[str] = []
    for piece in _SEPARATOR.split(_RANGED.sub("-", alike(text))):
        token = piece.strip(_AROUND_ID)
        if token not in known_ids:
            token = _PREFIX.sub("", token)
            if _SAID.fullmatch(token):
                continue

        if any(map(str.isalnum, token)):
            ids += _resolved(_NUMBER_WORDS.get(token.lower(), token), known_ids)

    return tuple(dict.fromkeys(ids))


def citation_groups(line: str, known_ids: Collection[str]) -> list[Group]:
    """Lists the groups of a line in the official form; without any, those in brackets.

    Example, with a note of the sentences 1 to 4:

        He bled. |1-3|             cites 1, 2 and 3
        He bled (sentence 2).      cites 2
        He bled. |one or two|      cites `OPEN_ID`: which ones is left open
        His pressure [120-80].     cites nothing: sentence 120 does not exist
    """
    return pipe_groups(line, known_ids) or bracket_groups(line, known_ids)


def pipe_groups(line: str, known_ids: Collection[str]) -> list[Group]:
    """Finds the groups of a line in the official form, and in similar forms; `||` is a group without ids.

    The group at the line's end may contain any words. One within the line contains only
    numbers, and a sentence or group follows it.
    """
    line = alike(line)
    if "|" not in line:
        return []

    end = _end(line)
    groups = [
        _group(line, start, stop, known_ids)
        for start, stop in _listed_between_bars(line)
    ]
    if not groups or groups[-1].end != end:
        last = _LAST.search(line[:end])
        if last is not None and (_may_be_ids(last[1]) or _is_open(last[1])):
            groups = [group for group in groups if group.end <= last.start()]
            groups.append(_group(line, last.start(), end, known_ids))

    if not groups or groups[-1].end != end:
        groups = [
            group
            for group in groups
            if (first := _FIRST.match(line, group.end)) and first[1].isupper()
        ]

    return [_widened(line, group) for group in groups]


def _listed_between_bars(line: str) -> Iterator[tuple[int, int]]:
    """The spans of bars with only lists of numbers between them.

    Example, a line with one group of two lists, and a bar that belongs to the text:

        >>> line = "He bled |1|2|. The ratio a|b fell."
        >>> [line[start:end] for start, end in _listed_between_bars(line)]
        ['|1|2|']
    """
    bars = [position for position, sign in enumerate(line) if sign == "|"]
    first = 0
    for number, (bar, following) in enumerate(pairwise(bars)):
        if following - bar < _LONGEST_LIST and _LISTED.fullmatch(
            line, bar + 1, following
        ):
            continue

        if number > first:
            yield bars[first], bar + 1

        first = number + 1

    if len(bars) - 1 > first:
        yield bars[first], bars[-1] + 1


def _group(line: str, start: int, end: int, known_ids: Collection[str]) -> Group:
    """The group between two bars, with its ids.

    Hedging words, as in `|1 or 2|`, make the reply unclear, since a guess at their
    meaning would decide its score.
    """
    text = line[start + 1 : end - 1]
    if _is_open(text) and text.strip() not in known_ids:
        return Group(start=start, end=end, ids=(OPEN_ID,), unclear=True)
    return Group(start=start, end=end, ids=read_ids(text.replace("|", " "), known_ids))


def _is_open(text: str) -> bool:
    """Whether a group leaves open which sentences it means."""
    return (
        bool(_UNSURE.search(text))
        and len(text) < _LONGEST_LIST
        and not _NONE.fullmatch(text)
    )


def bracket_groups(line: str, known_ids: Collection[str] = ()) -> list[Group]:
    """Finds groups in brackets, `[1, 2]`, `[1][2]` or `(sentence 1)`.

    A range begins with a known id, if any is known.
    """
    line = alike(line)
    if not any(sign in line for sign in "[({<"):
        return []

    groups = []
    for match in _BRACKET.finditer(line):
        text = re.sub(
            r"[\[\](){}<>^|]|</?\w+>|\(#?\d+\)|†\w*", " ", _LINKED.sub("", match[0])
        )
        ids = read_ids(text, ())
        begun = {str(int(first)) for first in _RANGE_BEGIN.findall(text)}
        # "[120-80]" is a blood pressure, "[70-100]" a normal range.
        if all(id_.isdecimal() for id_ in ids) and (
            not known_ids or all(first in known_ids for first in begun)
        ):
            groups.append(
                _widened(line, Group(start=match.start(), end=match.end(), ids=ids))
            )

    for match in () if groups else _OPEN_BRACKET.finditer(line):
        if _is_only_open(match[1] or match[2]):
            groups.append(
                Group(
                    start=match.start(), end=match.end(), ids=(OPEN_ID,), unclear=True
                )
            )

    return groups


def _is_only_open(text: str) -> bool:
    """Whether a text only leaves open which sentences it means."""
    rest = _SAID.sub("", _UNSURE.sub("", text)).strip(" ,.;:0123456789()")
    return _is_open(text) and not rest


_LINKED: Final = re.compile(
    r"(?<=\])\(#?[0-9]{1,3}\)|</?(?:sup|cite|ref)>", re.IGNORECASE
)


def _end(line: str) -> int:
    end = len(line)
    while end and line[end - 1] != "|" and not line[end - 1].isalnum():
        end -= 1
    return end


def _widened(line: str, group: Group) -> Group:
    """The group with surrounding brackets or emphasis and a backslash before it, which would stay in the compared text."""
    start, end = group.start, group.end
    while start and end < len(line) and _PAIRS.get(line[start - 1]) == line[end]:
        start, end = start - 1, end + 1
    if start and line[start - 1] == "\\":
        start -= 1
    return replace(group, start=start, end=end)


def _may_be_ids(text: str) -> bool:
    """Whether words between pipes may be ids: at most two, or a list of numbers; others are a table's cell."""
    words = text.split()
    return (
        len(words) <= 2
        or (len(words) <= 4 and _DIGIT.search(text) is not None)
        or all(map(_LIST_WORD.fullmatch, words))
    )


def _resolved(token: str, known_ids: Collection[str]) -> tuple[str, ...]:
    """The ids of one token of a list.

    Example: `2-4` gives 2, 3 and 4; `5-2` stays one id, `5-2`, which no note has, so
    that a reply cannot gain by a meaningless range.
    """
    if token in known_ids:
        return (token,)

    if spread := _RANGE.fullmatch(token):
        first, last = int(spread[1]), int(spread[2])
        return (
            tuple(map(str, range(first, last + 1)))
            if 0 <= last - first < MAX_RANGE
            else (token,)
        )

    number = _NUMBER.fullmatch(token)
    return (number[1],) if number else (token,)


_FENCE: Final = re.compile(
    r"^[ \t]*```[^\n`]*\n(.*?)(?:^[ \t]*```[^\n]*$|\Z)", re.DOTALL | re.MULTILINE
)
_FENCE_LINE: Final = re.compile(r"^[ \t]*```[^\n]*\n?", re.MULTILINE)


def unfenced(text: str) -> str:
    """The content of the last fenced block with text, even if it never ends; else the text itself."""
    blocks = [block for block in _FENCE.findall(text) if block.strip()]
    return blocks[-1] if blocks else _FENCE_LINE.sub("", text)
