r"""Finds where a reply gives its answer, and reads it: `docs/medcalc_scoring.md`.

1. Reasoning is removed: blocks such as `<think>`, `[THINK]`, `◁think▷` and gpt-oss'
   analysis channel, unclosed ones to the end of the reply.
2. The form that was asked for comes first, wherever it is closed, broken or decorated: the
   last "answer" of an object, `<answer>`, `\boxed`, "Final answer:", "####". A correction
   after it counts ("Wait, that is wrong. It is 12.").
3. Then the running text is read: names are masked (`statements`), and rules find the
   quantities that are not the answer (`rules`).
4. The last sentence that gives a value by name ("the BMI is 24.7") or as a result ("This
   gives 24.7.") states the answer, before values in passing. A value of something else
   ("The weight is 70.") is no answer, nor is one in passing that more than a few words
   follow. Of two quantities of one dimension the one in the asked unit counts ("412 ms
   (0.412 s)"). Alternatives and ranges are right where all are, wrong where none is, and
   else unclear.

How values are read:

- Markup, dashes, minus signs and digits of all scripts are normalised; struck-out text
  is removed.
- **Numbers**: thousands separators (1,234; 1'234), decimal commas ("12,95"; "25,238" is
  25238), `1.2 × 10⁻⁴`, mixed fractions, words ("twenty-five point two"). Digits in
  names, ages, stages, days and steps do not count.
- **Scores** must be whole. "3/9" and "3 out of 9" are 3. A number with a unit that a
  score cannot have (`7 %`) is no score.
- **Measurements**: the number decides. Another unit counts in
  `right_number_wrong_unit`.
- **Per cent**: "84 %" may also mean 0.84 where the gold is a fraction (calculators 40
  and 46 give percentages).
- **Dates**: M/D/Y, ISO 8601, and written out. Day-first dates are wrong; two-digit
  years are 1970 to 2069.
- **Gestational age**: weeks and days in any notation ("34w3d", "34 3/7").
- **Limits** that coincide require the gold's every digit. Rows without limits get 5 %.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from medical_tasks.io.patterns import Pattern
from medical_tasks.scoring.normal_form import MAX_REPLY
from medical_tasks.scoring.numbers.quantities import plain
from medical_tasks.scoring.numbers.rules import (
    NAME,
    OTHER_COLUMN,
    RETRACTION,
    refusals,
)
from medical_tasks.scoring.numbers.statements import (
    BY_NAME,
    RESULT,
    Statement,
    read_statement,
)
from medical_tasks.scoring.numbers.subject import Subject
from medical_tasks.scoring.reasoning import without_reasoning

__all__ = ["final_words", "read_answer"]

MAX_PASSAGE: Final = 4_000
"""How much of a passage is read, in characters from its end."""
ENDINGS: Final = (250, 1_000)
"""How much of a longer passage is read first: mostly its last sentence says it."""
MAX_FORM: Final = 300
"""How much is read after "Final answer:" and the like."""
MAX_WORDS: Final = 30
"""How many words of forms are looked at, from the last on."""
MAX_LABEL: Final = 60
"""How far such a word is from the ends of what introduces an answer, in characters."""
MAX_FORMS: Final = 5
"""How many forms are tried, from the last on, while nothing can be read in them."""
CUT_OFF: Final = Statement(why="the reply is cut off before its answer", unclear=True)

_SIGNS: Final = {
    **dict.fromkeys("“”„", '"'),
    **dict.fromkeys("‘’", "'"),
    "：": ":",
    "İ": "I",
}
"""One sign for each quote, and no capital whose small letter is longer."""
_ODD_SIGN: Final = Pattern(
    rf"[{''.join(_SIGNS)}\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]"
)
_RARE_BLANKS: Final = ("   ", "\t", "\r", "\v", "\f", "\x1c", "\x1d", "\x1e", "\x1f")
_BLANKS: Final = Pattern(r"[^\S\n]{3,}+")


class Form(NamedTuple):
    """An answer in the form that was asked for.

    Attributes:
        start: where it begins in the reply.
        end: where it ends.
        text: what is given as the answer.
        strict: whether the form holds nothing else, so that an empty one is no answer.
    """

    start: int
    end: int
    text: str
    strict: bool


def read_answer(response: str, subject: Subject) -> Statement:
    """Reads the answer of a reply."""
    text = _plain_reply(response)
    answer = _answer_of_object(text)
    if answer is not None:
        return read_statement(answer[-MAX_PASSAGE:], subject, named=True)

    forms = _forms(text)
    if (
        "{" in text
        and _CUT_OFF_OBJECT.search(text)
        and not any(form.strict for form in forms)
    ):
        return CUT_OFF

    for form in reversed(forms[-MAX_FORMS:]):
        statement = read_statement(form.text[-MAX_PASSAGE:], subject, named=True)
        if statement.settled or form.strict:
            return _unless_taken_back(statement, text[form.end :], subject)

    return _read_prose(text, subject)


def _answer_of_object(text: str) -> str | None:
    """The answer of a reply that is the very object asked for, as most are; else None."""
    if not text.startswith("{") or not text.endswith("}"):
        return None

    try:
        value = json.loads(text).get("answer")
    except (ValueError, RecursionError):
        return None

    return (
        str(value)
        if isinstance(value, str | int | float) and value is not True
        else None
    )


def final_words(response: str) -> str:
    """The text of the answer's field, or the last line of a reply without one."""
    text = _plain_reply(response)
    fields = [form.text for form in _forms(text) if form.strict]
    lines = [line for line in text.split("\n") if line.strip()]
    return (fields or lines or [""])[-1]


def _plain_reply(response: str) -> str:
    text = without_reasoning(response[-MAX_REPLY:])
    if not text.isascii():
        text = _ODD_SIGN.sub(lambda sign: _SIGNS.get(sign[0], " "), text)
    return (
        _BLANKS.sub(" ", text) if any(blank in text for blank in _RARE_BLANKS) else text
    )


def _unless_taken_back(statement: Statement, tail: str, subject: Subject) -> Statement:
    """The statement, or what the text after it replaces it with."""
    if len(tail) > MAX_FORM * 4 or not RETRACTION.search(
        f"\n{plain(tail[:MAX_FORM]).lower()}"
    ):
        return statement

    later = read_statement(tail, subject)
    return (
        later
        if later.stated
        else Statement(why="taken back", unclear=True, settled=True)
    )


def _read_prose(text: str, subject: Subject) -> Statement:
    """Reads running text: what stands under "Interpretation" explains the answer before it."""
    lines, closing = _lines(text)
    if "\n|" in text:
        lines = _without_other_columns(lines, subject)

    body = "\n".join(lines[:closing]).rstrip()
    sentence = body[max(body.rfind("\n"), body.rfind(". ")) + 1 :]
    statement = read_statement(sentence[-MAX_PASSAGE:], subject)
    if statement.tier == BY_NAME or (
        statement.tier == RESULT and not refusals(body[-ENDINGS[0] :].lower())
    ):
        return statement

    statement = _read_endings(body, sentence, statement, subject)
    if statement.stated or closing is None:
        return statement

    return read_statement("\n".join(lines)[-MAX_PASSAGE:], subject)


def _read_endings(
    body: str, sentence: str, statement: Statement, subject: Subject
) -> Statement:
    """Reads longer and longer endings of a text, whose last sentence is read as `statement`."""
    for size in (size for size in ENDINGS if size < len(body)):
        _, _, ending = body[-size:].partition("\n" if "\n" in body[-size:] else ". ")
        if ending != sentence:
            statement = read_statement(ending, subject)
        if statement.stated:
            return statement
    return (
        read_statement(body[-MAX_PASSAGE:], subject) if sentence != body else statement
    )


def _lines(text: str) -> tuple[list[str], int | None]:
    """The lines that may state something, without bullets, and where a closing part begins."""
    lines: list[str] = []
    closing = None
    for line in text.split("\n"):
        first = line.lstrip()[:1]
        if not first or (
            (first in "-*•|[rRsSlL" or ";" in line) and _NO_STATEMENT.match(line)
        ):
            continue

        if (
            lines
            and closing is None
            and len(line) < _LONGEST_HEADING
            and _CLOSING.fullmatch(line)
        ):
            closing = len(lines)

        lines.append(_BULLETS.sub("", line) if first in "-*•>" else line)

    return lines, closing


def _without_other_columns(lines: Sequence[str], subject: Subject) -> list[str]:
    """The lines without the cells of tables that stand under "Previous", "Normal" and the like."""
    kept: list[str] = []
    others: set[int] = set()
    in_table = False
    for line in lines:
        is_row = line.lstrip().startswith("|")
        cells = line.split("|") if is_row else [line]
        if is_row and not in_table:
            heads = [subject.masked(cell, NAME).lower() for cell in cells]
            others = {at for at, head in enumerate(heads) if OTHER_COLUMN.search(head)}
        elif is_row:
            cells = ["" if at in others else cell for at, cell in enumerate(cells)]

        in_table = is_row
        kept.append("|".join(cells))

    return kept


_LONGEST_HEADING: Final = 120
_BULLETS: Final = Pattern(r"^\s*(?:[-*•]\s+|>\s+(?![\d.~≈-]))+")
_CLOSING: Final = Pattern(
    r"""(?ix) [\W_]* (?: (?:clinical\s+)?interpretation | risk\s+(?:categories|classes|groups|levels|stratification)
    | for\s+reference | references? | reference\s+ranges? | classification | categories | legend
    | scale | inputs?(?:\s+used)? | explanation | notes? | discussion | next\s+steps | sources?
    | recommendations? | cut-?offs? | what\s+(?:this|it)\s+means | (?:key\s+)?takeaways?
    | disclaimer | (?:important\s+)?considerations | reasoning ) [\W_]*"""
)
_NO_STATEMENT: Final = Pattern(
    # An item of a list of classes ("- 0-1: low risk", "- Normal: < 100"), or of a
    # bibliography.
    r"""(?ix) \s*[-*•]\s*[*_]*(?:scores?\s+|points?\s+)?(?:[<>≤≥]=?\s*)?[0-9.]+
        (?:\s*(?:-|–|to)\s*[0-9.]+|\s+or\s+\w+|\s*\+)?\s*(?:points?)?[*_]*\s*[:=]\s*[*_]*\s*[A-Za-z]
    | \s*\|\s*(?:[<>≤≥]=?\s*[0-9.]+|[0-9.]+\s*(?:(?:-|–|to)\s*[0-9.]+|\+)|[0-9]{1,2})\s*\|
        \s*(?:very\s+)?(?:low|mild|moderate|medium|intermediate|high|severe|normal)\b[^|0-9]*\|?\s*$
    | \s*[-*•]\s+[*_]*(?:very\s+)?(?:low|mild|moderate|medium|intermediate|high|severe|normal
        |borderline|abnormal|minimal|critical)\b[^:\n]{0,20}:
    | \s*\[[0-9]{1,3}\](?:\s(?!\s*(?:withdrawn|retracted|wrong|corrected)\b).*)?$ | (?=[^;]*+;).*\b(?:19|20)[0-9]{2}\s?;\s?[0-9]
    | \s*(?:references?|sources?|literature)\b(?:\W*$|\s*:)"""
)


# ---- The form that was asked for ----


def _forms(text: str) -> list[Form]:
    """All answers in a form that was asked for, in their order."""
    forms: list[Form] = []
    for match in _form_starts(text):
        form = _form(text, match)
        if form is not None and (
            not forms or form.start >= forms[-1].end or form.strict
        ):
            forms.append(form)

    fields = [form for form in forms if form.strict]
    # A sentence in front of a closing object or after it: the object is the form asked
    # for.
    return (
        forms
        if not fields
        else [form for form in forms if form.start >= fields[-1].start]
    )


def _form_starts(text: str) -> Iterator[re.Match[str]]:
    """Where forms begin, near the last words that are part of one."""
    position = 0
    small = text.lower()
    words = [
        word
        for sign, words in _FORM_WORDS
        if sign in small
        for word in words.finditer(small)
    ]
    for word in sorted(words, key=re.Match.start)[-MAX_WORDS:]:
        start = max(position, word.start() - MAX_LABEL)
        match = _FORM.search(small, start, word.end() + MAX_LABEL)
        if match is not None and match.start() <= word.end():
            position = match.end()
            yield match


_FORM_WORDS: Final = tuple(
    # What to look for first, and the pattern of a word that is part of a form.
    (sign, Pattern(pattern))
    for sign, pattern in (
        *((word, word) for word in ("answer", "solution", "result", "####")),
        ("ans", r"ans(?<!\wans)\b"),
        ("box", r"\\f?box"),
        *(
            (word, rf"{word}(?:ed)?\s{{1,3}}[sve]")
            for word in ("final", "correct", "revised", "updated")
        ),
    )
)
_FORM: Final = Pattern(
    r"""(?x)
      (?P<key> (?P<quote>\\?["'])(?P<name>(?:(?:the|my|our|your|final|correct|numeric(?:al)?|short|direct
          |overall|model|computed|calculated|predicted|exact|single|best|actual|true|rounded|llm
          |corrected|revised|updated|new)[\s_-]*)*answer)(?:\s\([^()"'\n]{0,40}\))?(?P=quote)\s*:\s* )
    | (?P<bare> (?<![\w"'])\{\s{0,8}(?:final[_ ])?answer\s{0,3}:\s{0,4} )
    | (?P<tag> <(?:final_?)?answer(?:\s[^<>\n]{0,40})?> )
    | (?P<box> \\f?box(?:ed)?\s{0,3}\{ )
    | (?P<label> (?: (?:^|(?<=\n)|(?<=[.!?:]\s))[\s#*_>|-]{0,12}
            (?:(?:final|correct|revised|updated|corrected|short)\s{1,3})?(?:answer|solution|ans|result)
        | \b(?:final|correct|revised|updated|corrected)\s{1,3}(?:answer|score|result|value|estimate) )
        [\s"'*_`]{0,4}(?:\([^()\n]{0,60}\)\s{0,2})?[*_]{0,4}
        (?: \s*(?:[:=→>|]|-(?=\s)) | \s(?=is\b|isn|was\b|would|cannot|must\b|equals\b|for\b)[^.\n:={}]{0,80}?
            \b(?:is|isn['’]t|was|wasn['’]t|be|equals|cannot)\b:? | [*_#\s]*\n )[\s*_#`]{0,8} )
    | (?P<hashes> (?:^|(?<=\n))[*\s]{0,3}\#{4}\s (?!\D{0,30}$) )"""
)


def _form(text: str, match: re.Match[str]) -> Form | None:
    """What follows the beginning of a form; None where it is not there."""
    start = match.end()
    if match["key"] or match["bare"]:
        return _field(text, match)

    if match["box"]:
        end = _closing_brace(text, start)
        return Form(match.start(), end, text[start:end], strict=True) if end else None

    if match["tag"]:
        end = text.find("</", start)
        stop = end if end >= 0 else min(len(text), start + MAX_FORM)
        return Form(match.start(), stop, text[start:stop].strip(), strict=end >= 0)

    end = text.find("\n", start)
    stop = min(end if end >= 0 else len(text), start + MAX_FORM)
    negation = re.search(r"isn|wasn|cannot", match[0][-8:])
    content = (
        _NEXT_LINE.sub("", text[start:stop])
        if "\n" in match[0].lstrip()
        else text[start:stop]
    )

    return Form(
        match.start(), stop, ("not " if negation else "") + content, strict=False
    )


_NEXT_LINE: Final = Pattern(r"^(?:[\s>*•]|-\s+(?=\*))+")
"""What decorates a value on the line below its heading."""


def _closing_brace(text: str, start: int) -> int:
    """Where the brace closes that is open before `start`; 0 when none does."""
    depth = 1
    for position in range(start, min(len(text), start + MAX_FORM)):
        depth += {"{": 1, "}": -1}.get(text[position], 0)
        if depth == 0:
            return position
    return 0


_CUT_OFF_OBJECT: Final = Pattern(
    r"""\A[\s`]*(?:json)?\s*\{(?=[^}]*\Z)|\{\s*["'][A-Za-z_ ]{1,40}["']\s*:[^{}]*\Z"""
)
_NEXT_KEY: Final = (
    r""",\s*+(?:\\?["'][^"'\n:{}]{1,60}\\?["']|[A-Za-z_]\w{0,60})\s{0,4}:"""
)
_STRING: Final = Pattern(
    # Up to the quote that something follows which can follow a value; quotes inside are
    # text.
    rf"""(?s)(?P<quote>\\?["'])(?P<text>.*?)(?<!\\)(?P=quote)(?=[\s;,.]*+(?://[^\n]*\s*+)?(?:[}}\]`]|\Z)|{_NEXT_KEY})
    """.strip()
)
_OPEN_STRING: Final = Pattern(
    r"""(?P<quote>\\?["'])(?P<text>(?:(?!(?P=quote))[^\n]){1,100})\n"""
)
"""A string that was never closed, though its line was: the value is whole."""
_LIST: Final = Pattern(r"(?s)[\[{][^\]}]{0,300}[\]}]")
_WORD_VALUE: Final = Pattern(rf"(?s)[^\n}}]*?(?=\s*(?:{_NEXT_KEY}|\}}|\n|\Z))")
_VALUE_KEY: Final = Pattern(
    r"""(?i)["']?(?:final[_ ])?(?:value|answer|result|score|total|number|amount|estimate)["']?\s*:\s*([^,}]{1,80})"""
)
_ANY_KEY: Final = Pattern(r"""["']?[A-Za-z_][\w .-]{0,60}["']?\s*:""")
_ESCAPE: Final = Pattern(
    r"""\\(?:u([0-9a-fA-F]{4})|(["'/\\])|n|([tbfr])(?![A-Za-z]))"""
)


def _field(text: str, match: re.Match[str]) -> Form | None:
    """The value of the answer's key; None when it breaks off."""
    start = match.end()
    value = _STRING.match(text, start) or _LIST.match(text, start)
    if value is None and text[start : start + 1] in ('"', "'", "\\", "[", "{"):
        value = _OPEN_STRING.match(text, start)
    elif value is None:
        value = _WORD_VALUE.match(text, start)

    if value is None:
        return None

    inner = value.groupdict().get("text")
    content = _ESCAPE.sub(_unescaped, inner) if inner is not None else value[0]
    if content[:1] in ("{", "["):
        values = _VALUE_KEY.findall(content)
        if len(values) == 1:
            content = values[0]
        elif "week" not in content:
            # a list, whatever its values are called
            content = _ANY_KEY.sub(" ", content)

    return Form(match.start(), value.end(), content.strip(" \t\r\n,;"), strict=True)


def _unescaped(escape: re.Match[str]) -> str:
    return chr(int(escape[1], 16)) if escape[1] else escape[2] or " "
