"""Strict readers of a judge's reply: nothing is guessed, none ever raises, and none takes more than linear time.

A reply may quote judged text that holds a planted verdict: one counts only alone where the form puts it; two that differ are none.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from medical_tasks.io.json_records import once
from medical_tasks.judges.base import Unreadable


@dataclass(frozen=True)
class Checker:
    """A rule for one value of an object, in words and as JSON Schema; called, it says the rule that is broken, or None."""

    holds: Callable[[Any], bool]
    rule: str
    schema: Mapping[str, Any]

    def __call__(self, value: Any) -> str | None:
        """The rule, where the value breaks it."""
        return None if self.holds(value) else self.rule


Check = Callable[[Any], str | None]
"""Looks at one value of an object: None when it may stand, otherwise the rule that it breaks ("must be ...")."""


def schema_of(keys: Mapping[str, Checker]) -> dict[str, Any]:
    """Writes an object's form as JSON Schema, for servers that hold a reply to one."""
    properties = {key: dict(check.schema) for key, check in keys.items()}
    return {
        "type": "object",
        "properties": properties,
        "required": list(keys),
        "additionalProperties": False,
    }


def schema_of_verdicts(keys: Mapping[str, Checker], ids: Sequence[str]) -> dict[str, Any]:
    """Writes the form that `read_verdicts` reads."""
    entries = Checker(
        lambda _: True, "", {"type": "array", "items": schema_of({"id": one_of(*ids), **keys})}
    )
    return schema_of({"verdicts": entries})


MAX_CHOICE = 200
"""Longest final answer of one line that is looked at, in characters."""

_Value = TypeVar("_Value")

_NO_ANSWER = Unreadable("there is reasoning and no answer after it")
_MARKS = " \t\r*_`#"
_BRACKETS = "\"'()[]“”‘’"
_INTRODUCES = re.compile(
    r"(?<!provenance)(?<!explanation)(?<!reasoning)(?<!reason):[\s*_`\"“]*$", re.IGNORECASE
)
_NUMBER = re.compile(r"[+-]?[0-9]{1,18}(?:\.[0-9]{1,18})?")
_TAG = re.compile(r"\[(?=/?[A-Za-z_]+\])")

MAX_CLAIM = 2_000
"""Longest sentence that is looked at for a closing claim, in characters."""

# The grammar of a closing claim; `read_closing_claim` says it in words.
_ANY: Mapping[str, str] = {
    name: "|".join(parts)
    for name, parts in json.loads(
        Path(__file__).with_name("closing_claim.json").read_text(encoding="utf-8")
    ).items()
}
_MARKUP = re.compile(
    r"\\(?:boxed|text|textbf|mathrm)\b|[*`{}$#]|(?<![A-Za-z0-9])_+|_+(?![A-Za-z0-9])"
)
_HEADING = re.compile(r"^[ \t]*#+([^\n:]*):?[ \t]*$", re.MULTILINE)
_INTRODUCED = re.compile(r"([:,→])\s*\n\s*")
_BREAK = re.compile(
    r"(?<=[.!?])[\"”’')\]]*[ \t]+(?=[A-Z\"“‘'(\[]|(?:true|false)\W{0,9}\Z)|\s*\n\s*"
)
_ABBREVIATED = re.compile(r"\b(?:e\.g|i\.e|vs|cf|etc|approx|Dr|Mr|Ms)\.$", re.IGNORECASE)
_MARKERS = re.compile(r"(?:\s*(?:(?:true|false)\s+)?\(?(?:[a-z]|[0-9]{1,2})\.)+", re.IGNORECASE)
_VERDICT = (
    r"(?P<not>not )?(?:\"(?P<v1>true|false)\.?\"|“(?P<v2>true|false)\.?”|‘(?P<v3>true|false)\.?’|'(?P<v4>true|false)\.?'|"
    r"\((?P<v5>true|false)\)|\[(?P<v6>true|false)\]|(?P<v7>true|false|untrue))"
)
_ASKED = r"hypothesis|statement|claim|entailment|(?P<bare>it|this)"
_OF_WHAT = rf"(?: (?:here|(?:to|for|in) (?:the|this|that) (?:{_ANY['asked_of']})))?"
_NOUN = rf"(?:(?:the|my|our|this) )?(?:(?:{_ANY['adjectives']}) )*(?:{{nouns}})"
_SURELY = rf"(?:(?:{_ANY['surely']}),? )*"
_HEAD = (
    rf"(?:(?:{{said}}|{{asked}}){_OF_WHAT}"
    rf"(?:,? (?:therefore|thus|hence|then),?)?"
    rf"(?: is(?: (?:a )?(?:clear|definite|resounding))?| must be| ?'s|(?P<isnt> isn't| isnt))[:,]? {_SURELY}"
    rf"|(?:{{said}}|output|response|{{labels}}){_OF_WHAT} ?(?:[:=]|[-–—=]+>|→|[-–—]) ?(?:is )?"
    rf"|(?:i|we) {_SURELY}(?:{_ANY['verbs']})"
    rf"(?: (?:it|this|that|{{said}}))?(?: with| as| to be| that it is)?[:,]? "
    rf"|(?:making|which makes|this makes) (?:it|{{said}}) )?"
)
_WHY = re.compile(r",? (?:because|since|given that) ", re.IGNORECASE)
_SAYING_WHY = re.compile(
    r"(?:true|false)[\"'”’)\]]?(?=(?:[,:;]| [-–—]) (?:the (?:premise|hypothesis|statement)|both|there) )",
    re.IGNORECASE,
)
_SPEAKS = re.compile(rf"\b(?:{_ANY['speaks']})\b", re.IGNORECASE)
_OPEN = re.compile(rf"\?|^(?:had|were|should)\b|\b(?:{_ANY['open']})\b", re.IGNORECASE)
_BECAUSE = r"(?:since|because|as|given|considering|based on|due to)\b[^:\"“”]*,"
_SO = rf"(?:(?:{_ANY['so']})[,:;]? ?)"
_LABEL = r"(?:(?:(?:the|my) )?(?:final )?(?:conclusion|summary|answer|verdict): )?"
_WORDS = re.compile(rf"{_SO}*{_LABEL}{_SO}*", re.IGNORECASE)
_LEAD = re.compile(
    rf"(?:{_BECAUSE} )?{_SO}*{_LABEL}{_SO}*|"
    rf"[^:\"“”]*[^:\"“”\s](?:; {_SO}*|(?:,| [-–—]) {_SO}+| (?:and )?(?:so|therefore|thus|hence) (?:that )?)",
    re.IGNORECASE,
)


def _claim_pattern(said: str, asked: str, labels: str) -> re.Pattern[str]:
    head = _HEAD.format(
        said=_NOUN.format(nouns=said), asked=_NOUN.format(nouns=asked), labels=labels
    )
    return re.compile(rf"(?:^|(?<=[\s:])){head}{_VERDICT}{_OF_WHAT}[.!\s]*$", re.IGNORECASE)


_OF_ANSWERS = _claim_pattern(_ANY["said"], r"answer(?P<bare>)", "contradict(?:s|ed|ion)")
_OF_EITHER = _claim_pattern(_ANY["said"], _ASKED, "entail(?:s|ed|ment)")


def quoted(text: str) -> str:
    """Writes judged text as one JSON string, for a prompt: nothing in it can look like the end of the string or turn."""
    return _TAG.sub(r"\\u005b", json.dumps(text).replace("<", "\\u003c"))


_WORDY = (
    600  # characters; a small model that is held to a form otherwise goes on until its reply is cut
)
boolean = Checker(
    lambda value: isinstance(value, bool), "must be true or false", {"type": "boolean"}
)
free_text = Checker(
    lambda value: isinstance(value, str) and bool(value.strip()),
    "must be a text",
    {"type": "string", "maxLength": _WORDY},
)


def one_of(*allowed: str) -> Checker:
    """Makes a check for one of some words, spelt as they are."""
    schema = {"type": "string", "enum": list(allowed)}
    return Checker(
        lambda value: isinstance(value, str) and value in allowed,
        f"must be one of {', '.join(allowed)}",
        schema,
    )


def whole_number(low: int, high: int) -> Checker:
    """Makes a check for a whole number of a range, both ends included; 4.0 and "4" are none."""
    schema = {"type": "integer", "minimum": low, "maximum": high}
    return Checker(
        lambda value: type(value) is int and low <= value <= high,
        f"must be a whole number from {low} to {high}",
        schema,
    )


def read_json(text: str) -> Any | Unreadable:
    """Reads a reply that is one JSON object or array and nothing else, bare or in one fenced block, after any `</think>`."""
    # An object can hold the end mark of reasoning inside a string: what begins as JSON has no reasoning before it.
    spoken = text if text.lstrip().startswith(("{", "[", "```")) else _spoken(text)
    if spoken is None:
        return _NO_ANSWER
    try:
        value = json.loads(
            _unfenced(spoken.strip()),
            object_pairs_hook=once,
            parse_constant=_no_constant,
            parse_float=_finite,
        )
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, dict | list):
        return value
    return Unreadable(
        "no JSON"
        if "{" not in spoken and "[" not in spoken
        else "not one JSON value and nothing else"
    )


def read_object(text: str, keys: Mapping[str, Check]) -> dict[str, Any] | Unreadable:
    """Reads a reply that is one JSON object with exactly the given keys; else says what is wrong first."""
    value = read_json(text)
    if isinstance(value, Unreadable):
        return value
    if not isinstance(value, dict):
        return Unreadable("a JSON array where one object is asked for")
    if set(value) != set(keys):
        return Unreadable(f"the object needs the keys {', '.join(keys)} and no others")
    for key, check in keys.items():
        broken = check(value[key])
        if broken is not None:
            return Unreadable(f"{key} {broken}")
    return value


def object_reader(
    keys: Mapping[str, Checker], take: Callable[[dict[str, Any]], _Value]
) -> Callable[[str], _Value | Unreadable]:
    """Makes a reader of replies that are one object; `take` makes the value of it."""

    def read(text: str) -> _Value | Unreadable:
        value = read_object(text, keys)
        return value if isinstance(value, Unreadable) else take(value)

    return read


def read_verdicts(
    text: str, keys: Mapping[str, Check], ids: Sequence[str]
) -> dict[str, dict[str, Any]] | Unreadable:
    """Reads `{"verdicts": [...]}`, objects with an `id` and the given keys; some of `ids`, each at most once, and at least one."""
    value = read_json(text)
    if isinstance(value, Unreadable):
        return value
    if (
        not isinstance(value, dict)
        or set(value) != {"verdicts"}
        or not isinstance(value["verdicts"], list)
    ):
        return Unreadable(
            "the reply needs to be an object with the key verdicts, a list, and no others"
        )
    if not value["verdicts"]:
        return Unreadable("verdicts is empty")
    keys = {"id": free_text, **keys}
    found: dict[str, dict[str, Any]] = {}
    for entry in value["verdicts"]:
        if not isinstance(entry, dict) or set(entry) != set(keys):
            return Unreadable(f"each verdict needs the keys {', '.join(keys)} and no others")
        for key, check in keys.items():
            if broken := check(entry[key]):
                return Unreadable(f"{key} {broken}")
        if entry["id"] not in ids:
            return Unreadable("a verdict has an id that was not asked about")
        if entry["id"] in found:
            return Unreadable(f"{entry['id']} stands twice")
        found[entry["id"]] = entry
    return found


def read_choice(text: str, allowed: Sequence[str], *, label: str = "Answer") -> str | Unreadable:
    """Reads a word of a list: alone, or as `Answer: word` on the last line and nowhere else with another word."""
    words = {word.casefold(): word for word in allowed}

    def read(written: str) -> str | Unreadable:
        word = words.get(written.strip(_BRACKETS + _MARKS).casefold())
        return Unreadable(f"{label} is not one of {', '.join(allowed)}") if word is None else word

    return _read_line(text, label, read)


def read_score(text: str, low: int, high: int, *, label: str = "Score") -> int | Unreadable:
    """Reads a whole number: alone, or as `Score: 4` on the last line and nowhere else with another number; no `4.0` or `5/5`."""

    def read(written: str) -> int | Unreadable:
        if not _NUMBER.fullmatch(written):
            return Unreadable(f"{label} is not a number alone")
        if "." in written:
            return Unreadable(f"{label} is not a whole number")
        value = int(written)
        return value if low <= value <= high else Unreadable(f"{label} is not from {low} to {high}")

    return _read_line(text, label, read)


def read_closing_claim(text: str, *, of_statement: bool = True) -> bool | Unreadable:
    """Reads free text by its closing claim, the last sentence (K-QA's judge; for replies asked for in no stricter form).

    A claim is a verdict word, alone or said of the answer ("the answer is True", "verdict: false"), maybe with a reason
    before or after it. "not true" and "untrue" are false. Everything else is unreadable: another negation ("not false"), a
    hedge, a question, a condition, an alternative, a quotation, a verdict word in another sentence, two claims that differ.
    `of_statement`: whether the statement may be called true in place of the answer.
    """
    if (spoken := _spoken(text)) is None:
        return _NO_ANSWER
    sentences = _sentences(_MARKUP.sub("", _HEADING.sub(r"\1:", spoken)))
    if not sentences:
        return Unreadable("the reply is empty")
    pattern = _OF_EITHER if of_statement else _OF_ANSWERS
    value = _claim(sentences[-1], pattern, alone=len(sentences) == 1)
    if value is None:
        return Unreadable("the last sentence does not say true or false and nothing else")
    if any(
        _claim(sentence, pattern) not in (None, value) for sentence in dict.fromkeys(sentences[:-1])
    ):
        return Unreadable("the verdict stands twice and differs")
    return value


def _sentences(text: str) -> list[str]:
    """The sentences of a reply. What a colon at a line's end introduces, and what an open quotation holds, is part of one."""
    written = _INTRODUCED.sub(r"\1 ", text.strip())
    found: list[str] = []
    start = seen = straight = curly = 0
    for gap in _BREAK.finditer(written):
        straight += written.count('"', seen, gap.end())
        curly += written.count("“", seen, gap.end()) - written.count("”", seen, gap.end())
        seen = gap.end()
        inside = (
            straight % 2
            or curly > 0
            or (gap.start() - start < 40 and _MARKERS.fullmatch(written, start, gap.start()))
        )
        if inside or _ABBREVIATED.search(written, max(start, gap.start() - 8), gap.start()):
            continue
        found.append(" ".join(written[start : gap.end()].split()))
        start = gap.end()
    return [sentence for sentence in (*found, " ".join(written[start:].split())) if sentence]


def _claim(sentence: str, pattern: re.Pattern[str], *, alone: bool = False) -> bool | None:
    """What a sentence says by itself, None for nothing; `alone`: it is the whole reply, so that quotation marks quote nobody."""
    if len(sentence) > MAX_CLAIM:
        return None
    written = sentence.replace("’", "'") if "n’t" in sentence or "’s" in sentence else sentence
    if (found := pattern.search(written) or _with_reason(written, pattern)) is None:
        return None
    lead = written[: found.start()]
    if found[0].casefold().startswith(("making", "which makes")) and lead.endswith(", "):
        lead += "so "
    # A quotation may be anybody's; what "it" is said of behind another clause is not known to be what was asked.
    quotes = found[0][:1] in "\"“‘'" and not alone
    if quotes or _OPEN.search(lead) or not (_WORDS if found["bare"] else _LEAD).fullmatch(lead):
        return None
    word = next(found[f"v{number}"] for number in range(1, 8) if found[f"v{number}"]).casefold()
    if found["not"] or found["isnt"]:
        return False if word == "true" and not (found["not"] and found["isnt"]) else None
    return word == "true"


def _with_reason(sentence: str, pattern: re.Pattern[str]) -> re.Match[str] | None:
    if (why := _WHY.search(sentence)) and not _OPEN.search(sentence, why.end()):
        return pattern.search(sentence[: why.start()])
    why = _SAYING_WHY.search(sentence)
    if why is None or _SPEAKS.search(sentence, why.end()) or _OPEN.search(sentence, why.end()):
        return None
    return pattern.search(sentence[: why.end()])


def _spoken(text: str) -> str | None:
    """The reply without its reasoning; None when the reasoning never ends."""
    if _opens_thinking(text):
        _, tag, after = text.partition("</think>")
        return after if tag else None
    # Many models' templates open the reasoning themselves, so that a reply only ends it.
    return text.rpartition("</think>")[2]


def _opens_thinking(text: str) -> bool:
    return text.lstrip().startswith("<think>")


def _unfenced(text: str) -> str:
    if not (text.startswith("```") and text.endswith("```") and len(text) > 6):
        return text
    language, line_end, inside = text[3:-3].partition("\n")
    return inside if line_end and language.strip().lower() in ("", "json") else text


def _read_line(
    text: str, label: str, read: Callable[[str], _Value | Unreadable]
) -> _Value | Unreadable:
    """Reads what stands behind a label on the last line, or the reply's only line."""
    spoken = _spoken(text)
    if spoken is None:
        return _NO_ANSWER
    lines = [line for line in spoken.split("\n") if line.strip()]
    if not lines:
        return Unreadable("the reply is empty")
    written = _labelled(lines[-1], label)
    if written is None:
        if len(lines) > 1:
            return Unreadable(f'the last line is not "{label}: ..." alone')
        written = _bare(lines[-1])
    elif len(lines) > 1 and _INTRODUCES.search(lines[-2]):
        return Unreadable(f"what the line before {label} introduces may be a quotation")
    if len(written) > MAX_CHOICE:
        return Unreadable(f"{label} is too long")
    value = read(written)
    if isinstance(value, Unreadable):
        return value
    # Which of two is the verdict and which a quotation cannot be known. Drafts do not count in reasoning that is
    # marked from its beginning; a bare end mark may be quoted as well.
    for line in lines if _opens_thinking(text) else text.split("\n"):
        other = _labelled(line, label)
        if other is None or len(other) > MAX_CHOICE:
            continue
        said = read(other)
        if not isinstance(said, Unreadable) and said != value:
            return Unreadable(f"{label} stands twice and differs")
    return value


def _labelled(line: str, label: str) -> str | None:
    line = line.strip(_MARKS)
    if line[: len(label)].casefold() != label.casefold():
        return None
    rest = line[len(label) :].lstrip(_MARKS)
    return _bare(rest[1:]) if rest[:1] in (":", "=") else None


def _bare(written: str) -> str:
    return written.strip(_MARKS).removesuffix(".").rstrip(_MARKS)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _finite(written: str) -> float:
    value = float(written)
    if not math.isfinite(value):
        raise ValueError("too large a number")
    return value
