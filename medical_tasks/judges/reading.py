r"""Strict readers of a judge's replies: they guess nothing, never raise, and take linear time.

A reply may quote judged text with a planted verdict. So a verdict counts only where the
form puts it, and two that differ count as none.

Free text (the K-QA authors' prompts) is read by its last sentence, or by its first if
the rest explains it: true or false, alone or said of the answer (of the hypothesis, in
questions of entailment).

| read | unreadable |
|---|---|
| `True.` `**Final answer:** False` `"true"` `\boxed{True}` | `True or false` `True?` |
| The answer is (clearly) True. My verdict is: False. | It might, could, cannot, should be true. |
| True, since the premise names it. No dose is named, and the answer is False. | The text says: The answer is True. |
| not true, isn't true, untrue: false | not false; two claims that differ |
"""

from __future__ import annotations

import ast
import functools
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

from medical_tasks.io.json_records import once
from medical_tasks.judges.base import Unreadable
from medical_tasks.scoring.normal_form import alike, normal_form, without_marks


@dataclass(frozen=True)
class Checker:
    """A rule for one value of an object, in words and as JSON Schema.

    Attributes:
        holds: whether a value follows the rule.
        rule: the rule in words ("must be ...").
        schema: the rule as JSON Schema.
        meant: normalises a value that is spelt differently ("Yes." for "yes").
        aside: whether a verdict is valid without this value, such as an explanation.
    """

    holds: Callable[[object], bool]
    rule: str
    schema: Mapping[str, object]
    meant: Callable[[object], object] = lambda value: value
    aside: bool = False

    def __call__(self, value: object) -> str | None:
        """Returns the rule if the value breaks it, else None."""
        return None if self.holds(value) else self.rule


Check = Callable[[object], str | None]
"""Checks one value of an object: returns None, or the rule that it breaks ("must be ...")."""


def schema_of(keys: Mapping[str, Checker]) -> dict[str, object]:
    """Writes an object's form as JSON Schema, for servers that constrain replies to one."""
    properties = {key: dict(check.schema) for key, check in keys.items()}
    return {
        "type": "object",
        "properties": properties,
        "required": list(keys),
        "additionalProperties": False,
    }


def schema_of_verdicts(
    keys: Mapping[str, Checker], ids: Sequence[str]
) -> dict[str, object]:
    """Writes the form that `read_verdicts` reads."""
    entries = Checker(
        lambda _: True,
        "",
        {"type": "array", "items": schema_of({"id": one_of(*ids), **keys})},
    )
    return schema_of({"verdicts": entries})


MAX_CHOICE = 200
"""Longest final answer on one line that is read, in characters."""

_Value = TypeVar("_Value")

_NO_ANSWER = Unreadable("there is reasoning and no answer after it")
_MARKS = " \t\r*_`#✅❌"
_BRACKETS = "\"'()[]{}"
_PAIRS: Final = ('""', "''", "()", "[]", "{}")
_SAYS: Final = re.compile(r"\w")
_FENCED: Final = re.compile(
    r"(```|~~~)(?: ?json)?[ \t]*\n(.*?)(?:\n?\1)?", re.DOTALL | re.IGNORECASE
)
_IN_TAGS: Final = re.compile(r"\A<(\w{1,20})>(.*)</\1>\Z", re.DOTALL)
_LAST_COMMA: Final = re.compile(r",(\s*[}\]][}\]\s]*)\Z")
_INTRODUCTION: Final = re.compile(
    r"\A(?:(?:sure|certainly|of course|okay|ok)[,.!:] ?)?(?:(?:here(?: is|'s)|below is|this is) )?(?:(?:the|my) )?"
    r"(?:(?:requested|final) )?(?:json|answer|verdict|object|reply|response|result|output|assessment|evaluation)?"
    r"(?: (?:json|object|reply|response))?:?\s*(?=[{\[`~])",
    re.IGNORECASE,
)
_ASIDES: Final = frozenset(
    "confidence certainty explanation reason reasoning rationale justification comment analysis".split()
)
"""Keys that an object may have beside the expected ones."""
_INTRODUCES = re.compile(
    r"(?<!provenance)(?<!explanation)(?<!reasoning)(?<!reason):[\s*_`\"“]*$",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"[+-]?[0-9]{1,18}(?:\.[0-9]{1,18})?")
_TAG = re.compile(r"\[(?=/?[A-Za-z_]+\])")

MAX_CLAIM = 2_000
"""Longest sentence that is searched for a closing claim, in characters."""


def _any_of(phrases: str) -> str:
    """A pattern of alternatives, separated by " | "."""
    return "|".join(phrase.strip() for phrase in phrases.split(" | "))


# The grammar of a closing claim; `read_closing_claim` describes it in words.
_SAID: Final = _any_of(
    "answer | verdict | label | conclusion | judge?ment | decision | classification | result | "
    "evaluation | assessment | outcome | prediction"
)
_SURE: Final = _any_of(
    "therefore | thus | hence | so | clearly | indeed | definitely | certainly | obviously | "
    "simply | consequently | also | again | absolutely | surely | accordingly"
)
_SURELY: Final = rf"(?:(?:most )?(?:{_SURE})[,:]? )*"
_CONDITION: Final = _any_of(
    r"if | unless | whether | otherwise | suppos\w+ | assum\w+ | provided | lest | would | could | "
    r"unsure | unclear | uncertain | doubt\w* | not (?:sure|certain|clear|the case) | "
    "(?:wrong|incorrect|mistaken) (?:to|that) | "
    "(?:cannot|can't|can not|couldn't|don't|do not) "
    "(?:say|tell|conclude|claim|think|believe|infer|argue|decide|determine)"
)
"""Words that leave open everything after them in a sentence."""
_ALTERNATIVE: Final = _any_of("either | neither | nor | or")
_HEDGE: Final = _any_of(
    "might | perhaps | maybe | possibly | probably | likely | unlikely | "
    "seems? | appears? | true | false | untrue"
)
"""Words that leave their own clause open, or name another verdict."""
_SPEECH: Final = _any_of(
    "but | however | although | though | says? | said | claims? | states? | tells? | told | "
    "asserts? | insists? | writes?"
)
_TAKES_BACK: Final = _any_of(
    r"wrong | incorrect | mistake\w* | errors? | wait | actually | correction | rather | instead | plant\w* | "
    r"ignor\w+ | instruct\w+ | opposite | contrary | sorry | (?:dis)?agree\w* | reject\w* | refuse\w* | only | "
    "except | not (?:so|really|quite|true) | next | question"
)
_SO: Final = _any_of(
    rf"{_SURE} | overall | finally | ultimately | altogether | and | but | yet | yes | no | in this case | "
    "according to the premise | as a (?:result|consequence) | as such | "
    "after (?:careful |closer )?(?:analysis|comparison|consideration|review) | "
    "in (?:conclusion|summary|short|sum|other words) | simply put | to (?:conclude|sum up|summari[sz]e) | "
    "for (?:this|that|these|those) reasons? | "
    "(?:based on|given|considering|in view of|in light of) "
    "(?:this|that|these|(?:all (?:of )?)?the above)(?: [a-z]+)? | "
    "(?:(?:i|we|i can|we can) (?:therefore |thus |firmly )?(?:conclude|find|decide|judge|determine|infer|believe|think)"
    "|i(?: am|'m) (?:confident|certain|sure)|it follows|(?:which|this|that) (?:means|implies)|meaning)(?: that)?"
)
_MARKUP: Final = re.compile(
    r"\\(?:boxed\b|text\b|textbf\b|mathrm\b|[()])|[*`{}$#✅]|(?<![A-Za-z0-9])_+|_+(?![A-Za-z0-9])|❌(?= ?false)|(?<=false) ?❌",
    re.IGNORECASE,
)
_HEADING: Final = re.compile(r"^ ?#+([^\n:]*):?[ ]*$", re.MULTILINE)
_HEADED: Final = re.compile(rf"^ ?#+ ?((?:final )?(?:{_SAID}|score)):?\n+", re.I | re.M)
_TAGGED: Final = re.compile(
    rf"<(?:final_)?({_SAID}|score|choice)>([^<>]{{1,400}})</(?:final_)?\1>", re.I
)
_ANGLED: Final = re.compile(r"<(true|false|yes|no|[01])>(?![^<]*</)", re.IGNORECASE)
_NO_LINE: Final = re.compile(r"^[^\w\n]+$|^ ?(?:→|==)(?=[ \w])", re.MULTILINE)
_POLITE: Final = re.compile(
    r"(?:i hope (?:this|that) helps|(?:please )?let me know if [^.!?\n]{0,80})[.!]?\s*\Z",
    re.IGNORECASE,
)
_INTRODUCED: Final = re.compile(r"([:,→]) ?\n+ ?")
_BREAK: Final = re.compile(
    r"(?<=[.!?])[\"')\]]* ?(?:\n+ ?| (?=[A-Z\"'(\[]|(?:true|false)\W{0,9}\Z))| ?\n+ ?"
)
_ABBREVIATED: Final = re.compile(
    r"\b(?:e\.g|i\.e|vs|cf|etc|approx|Dr|Mr|Ms)\.$", re.IGNORECASE
)
_MARKERS: Final = re.compile(
    r"(?:\s*(?:(?:true|false)\s+)?\(?(?:[a-z]|[0-9]{1,2})\.)+", re.IGNORECASE
)
_NUMBERED: Final = re.compile(r"\A(?:\(?[0-9]{1,2}[.)] |[-•] (?=\w+ \w))")
_VERDICT: Final = (
    r"(?P<not>not )?(?:(?P<quote>[\"'])?(?P<word>true|false|untrue)\.?(?(quote)(?P=quote))"
    r"|\((?P<round>true|false)\)|\[(?P<square>true|false)\])"
)
_ASKED: Final = r"hypothesis|statement|claim|entailment|(?P<bare>it|this|that)"
_ASKED_OF: Final = "question|triplet|pair|task|case|hypothesis|statement|example"
_OF_WHAT: Final = (
    rf"(?: (?:here|(?:to|for|in) (?:the|this|that) (?:{_ASKED_OF})|given the premise))?"
)
_NOUN: Final = (
    r"(?:(?:the|my|our|this|in) )?"
    r"(?:(?:final|correct|right|overall|resulting|best|appropriate|proper) )*(?:{nouns})"
)
_HEAD: Final = (
    rf"(?:(?:{{said}}|{{asked}}|the (?:response|output)){_OF_WHAT}"
    rf"(?:,? (?:therefore|thus|hence|then),?)?"
    rf"(?: is(?: (?:a )?(?:clear|definite|resounding))?| must be| has to be| remains| becomes| ?'s"
    rf"|(?P<isnt> isn't| isnt))[:,]? {_SURELY}"
    rf"|(?:{{said}}|final|output|response|{{labels}}){_OF_WHAT} ?(?:[:=]|[-–—=]*→|[-–—]) ?(?:is )?"
    rf"|(?:i|we)(?: would|'d| will|'ll)? {_SURELY}"
    r"(?:answer|conclude|choose|select|reply|respond|label|mark|classify|judge|deem|rate|say|pick"
    r"|go with|(?:a|')m going with)"
    rf"(?: (?:it|this|that|{{said}}))?(?: with| as| to be| that it is)?[:,]? "
    rf"|(?:making|which makes|this makes) (?:it|{{said}}|{{made}}) )?"
)
# A reason after a verdict, which does not change the verdict.
_REASON: Final = re.compile(
    r"(?:,? (?:because|since|given that|given the|due to)| as (?=(?:the|it|there|no|both|this)\b)"
    r"|, as(?! (?:far|long|if|though|of|yet|such|soon)\b)"
    r"|(?:[,:;(]| [-–—]| \() ?(?:the|both|it|its|this(?! (?:time|once))|there|these|they|neither"
    r"|nothing|each|all|no(?= [a-z])|confidence|not (?:mentioned|stated|named|supported|given)))\b",
    re.IGNORECASE,
)
_WORD: Final = re.compile(r"\b(?:true|false|untrue)\b[\"')\]]?", re.IGNORECASE)
_OPENS: Final = re.compile(
    rf"\?|^(?:had|were|should)\b|\b(?:{_CONDITION})\b", re.IGNORECASE
)
# After yes or no: words that leave it open, and words that deny a yes.
_LEFT_OPEN: Final = re.compile(
    r"\?|\b(?:yes|no(?! [a-z])|if|unless|whether|otherwise|or|maybe|perhaps|probably|possibly|might"
    r"|could|would|should|but|however|although|though|unsure|unclear|not (?:sure|certain|clear)"
    r"|assuming|provided|depend\w*|partly|partially|except|seems?)\b",
    re.IGNORECASE,
)
_DENIED: Final = re.compile(
    r"n't\b|\b(?:cannot|never|neither|nor|none|incorrect\w*|wrong\w*|mismatch\w*|differ\w*|fails?"
    r"|contradict\w*|not(?! (?:choice |option )?[A-E]\b))\b",
    re.IGNORECASE,
)
_EXPLAINED: Final = re.compile(
    r"([a-z]+)(?:,? (?:because|since|as|given that)\b|[,;:]| [-–—]| \()(.+)",
    re.IGNORECASE,
)
_UNCERTAIN: Final = re.compile(
    rf"^(?:{_ALTERNATIVE})\b|\b(?:{_HEDGE}|{_SPEECH}|{_TAKES_BACK})\b", re.IGNORECASE
)
_SPOKEN_OF: Final = re.compile(
    rf"\b(?:{_SPEECH}|asked|reads?|writ\w+|form|example)\b", re.I
)
_OR: Final = re.compile(rf"\b(?:{_ALTERNATIVE})\b", re.IGNORECASE)
_BECAUSE: Final = r"(?:since|because|as|based on|given|considering|due to)\b[^:\"]*,"
_LABEL: Final = (
    r"(?:(?:(?:(?:the|my) )?(?:final )?(?:conclusion|summary|answer|verdict|reasoning|explanation|reason)"
    r"|step [0-9]{1,2}): )?"
)
_JOINED: Final = rf"(?:(?:{_SO})[,:;.]? ?)*"
_WORDS: Final = re.compile(rf"{_JOINED}{_LABEL}{_JOINED}", re.IGNORECASE)
_LEAD: Final = re.compile(
    rf"{_JOINED}(?:{_BECAUSE} )?{_JOINED}{_LABEL}{_JOINED}|"
    rf"{_LABEL}(?P<clause>[^:\"]*[^:\"\s])(?:; {_JOINED}|(?:,| [-–—]) (?:(?:{_SO})[,:;]? ?)+| → "
    r"| [-–—] (?P<apart>)| and (?P<joined>)"
    r"| (?:and )?(?:so|therefore|thus|hence|consequently) (?:that )?)",
    re.IGNORECASE,
)


@functools.cache
def _claim_pattern(
    verdict_nouns: str, subject_nouns: str, object_nouns: str, labels: str
) -> re.Pattern[str]:
    """The pattern of a closing claim; it is compiled when it is used, since that takes long.

    Args:
        verdict_nouns: names of the verdict ("the answer is").
        subject_nouns: what may be called true ("the statement is").
        object_nouns: what a reason may make true ("which makes the statement").
        labels: labels that may introduce a verdict ("entailment:").
    """
    head = _HEAD.format(
        said=_NOUN.format(nouns=verdict_nouns),
        asked=_NOUN.format(nouns=subject_nouns),
        made=_NOUN.format(nouns=object_nouns),
        labels=labels,
    )
    return re.compile(
        rf"(?:^|(?<=[\s:])){head}{_VERDICT}{_OF_WHAT}[.!,;:\s]*$", re.IGNORECASE
    )


_OF_ANSWERS: Final = (_SAID, r"answer(?P<bare>)", "answer", "contradict(?:s|ed|ion)")
_OF_EITHER: Final = (
    _SAID,
    _ASKED,
    "hypothesis|statement|claim",
    "(?:is )?entail(?:s|ed|ment)",
)


def quoted(text: str) -> str:
    """Writes judged text as one JSON string for a prompt, so that nothing in it can look like the end of the string or turn."""
    return _TAG.sub(r"\\u005b", json.dumps(text).replace("<", "\\u003c"))


_MAX_TEXT = 600  # characters; a small model constrained to a form may otherwise write until its reply is cut
_TRUTHS: Final[Mapping[object, bool]] = {
    "true": True,
    "yes": True,
    "false": False,
    "no": False,
}


def _bare_word(value: object) -> object:
    return value.strip(" .\"'").casefold() if isinstance(value, str) else value


boolean = Checker(
    lambda value: isinstance(value, bool),
    "must be true or false",
    {"type": "boolean"},
    meant=lambda value: (
        _TRUTHS.get(_bare_word(value), value) if isinstance(value, str) else value
    ),
)
free_text = Checker(
    lambda value: isinstance(value, str) and bool(value.strip()),
    "must be a text",
    {"type": "string", "maxLength": _MAX_TEXT},
)
explanation = replace(free_text, aside=True)
"""A text on which no verdict depends."""


def one_of(*allowed: str) -> Checker:
    """Makes a check for one of the words; their exact spelling is returned."""
    words: dict[object, str] = {word.casefold(): word for word in allowed}
    if set(words) == {"yes", "no"}:
        words |= {
            truth: words[word] for word, truth in _TRUTHS.items() if word in words
        }

    return Checker(
        lambda value: isinstance(value, str) and value in allowed,
        f"must be one of {', '.join(allowed)}",
        {"type": "string", "enum": list(allowed)},
        meant=lambda value: (
            words.get(_bare_word(value), value)
            if isinstance(value, str | bool)
            else value
        ),
    )


def whole_number(low: int, high: int) -> Checker:
    """Makes a check for a whole number in a range, both ends included; 4.0 and "4" are refused."""
    schema = {"type": "integer", "minimum": low, "maximum": high}
    return Checker(
        lambda value: type(value) is int and low <= value <= high,
        f"must be a whole number from {low} to {high}",
        schema,
    )


def read_json(text: str) -> object | Unreadable:
    """Reads a reply that is one JSON object or array, bare or in one fenced block, after any `</think>`.

    An introduction ("Here is the JSON:") and polite words at the end are ignored.
    """
    # A string can contain the end mark of reasoning: a text that begins as JSON has no
    # reasoning before it.
    text = without_marks(text)
    answer = text if text.startswith(("{", "[", "```")) else _after_reasoning(text)
    if answer is None:
        return _NO_ANSWER

    answer = _IN_TAGS.sub(r"\2", without_marks(answer))
    written = _unfenced(
        _INTRODUCTION.sub("", _POLITE.sub("", without_marks(answer)), count=1).strip()
    )
    for attempt in (written, _LAST_COMMA.sub(r"\1", alike(written))):
        value = _json_value(attempt)
        if isinstance(value, dict | list):
            return value

    return Unreadable(
        "no JSON"
        if "{" not in answer and "[" not in answer
        else "not one JSON value and nothing else"
    )


def _json_value(written: str) -> object:
    """The value of a JSON text, which may have line breaks inside strings; None for other text.

    A dictionary in Python's form, with single quotes, is read as a literal, never
    executed.
    """
    try:
        return _JSON.decode(written)
    except (ValueError, RecursionError):
        pass

    if not written.startswith("{'"):
        return None

    try:
        return ast.literal_eval(written)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return None


def read_object(text: str, keys: Mapping[str, Check]) -> dict[str, Any] | Unreadable:
    """Reads a reply that is one JSON object with the given keys; else names its first fault.

    Upper and lower case of keys are the same. Explanations (`Checker.aside`) may be
    missing, or have other names of `_ASIDES`.
    """
    value = read_json(text)
    if isinstance(value, Unreadable):
        return value
    if isinstance(value, list) and len(value) == 1:
        (value,) = value
    if not isinstance(value, dict):
        return Unreadable("a JSON array where one object is asked for")

    return _checked(value, keys, "the object needs")


def _checked(
    value: Mapping[str, object], keys: Mapping[str, Check], what: str
) -> dict[str, Any] | Unreadable:
    """The normalised values of an object, under the expected keys.

    Args:
        value: the object of the reply.
        keys: the check of each expected key.
        what: the beginning of the message about missing or unexpected keys.

    Two keys that differ only in case make the reply unreadable, since it would be unclear
    which one counts. A broken explanation (`Checker.aside`) does not.
    """
    folded = {key.strip().casefold(): content for key, content in value.items()}
    names = {key.casefold(): key for key in keys}
    needed = {key for key, check in keys.items() if not getattr(check, "aside", False)}
    entries = {names[key]: content for key, content in folded.items() if key in names}
    unexpected = folded.keys() - names.keys() - _ASIDES
    if len(folded) < len(value) or unexpected or not needed <= entries.keys():
        return Unreadable(f"{what} the keys {', '.join(keys)} and no others")

    for key, check in keys.items():
        if key not in entries:
            continue

        if isinstance(check, Checker):
            entries[key] = check.meant(entries[key])

        broken = check(entries[key])
        if broken is not None and key in needed:
            return Unreadable(f"{key} {broken}")

    return entries


def object_reader(
    keys: Mapping[str, Checker], take: Callable[[dict[str, Any]], _Value]
) -> Callable[[str], _Value | Unreadable]:
    """Makes a reader of replies that are one object, of which `take` returns the value."""

    def read(text: str) -> _Value | Unreadable:
        value = read_object(text, keys)
        return value if isinstance(value, Unreadable) else take(value)

    return read


def read_verdicts(
    text: str, keys: Mapping[str, Check], ids: Sequence[str]
) -> dict[str, dict[str, Any]] | Unreadable:
    """Reads `{"verdicts": [...]}`, a list of objects with an `id` and the given keys.

    There must be at least one, each id must be one of `ids`, and none may repeat.
    """
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
    verdicts: dict[str, dict[str, Any]] = {}
    for entry in value["verdicts"]:
        verdict = _checked(
            entry if isinstance(entry, dict) else {}, keys, "each verdict needs"
        )
        if isinstance(verdict, Unreadable):
            return verdict
        if verdict["id"] not in ids:
            return Unreadable("a verdict has an id that was not asked about")
        if verdict["id"] in verdicts:
            return Unreadable(f"{verdict['id']} appears twice")

        verdicts[verdict["id"]] = verdict

    return verdicts


def read_choice(
    text: str, allowed: Sequence[str], *, label: str = "Answer"
) -> str | Unreadable:
    """Reads one of the allowed words: alone, or as `Answer: word` on the last line.

    No other line may have the label with another word.

    Example:
        >>> reply = "The note says so. Answer: Yes"  # not on a line of its own
        >>> read_choice(reply, ["yes", "no"])
        Unreadable(problem='Answer is not one of yes, no', partial=None)
        >>> read_choice("yes, it does", ["yes", "no"])
        'yes'
    """
    words = {word.casefold(): word for word in allowed}

    def read(written: str) -> str | Unreadable:
        word = words.get(written.strip(_BRACKETS + _MARKS).casefold())
        explained = _EXPLAINED.match(written)
        if word is None and explained and goes_with(explained[1], explained[2]):
            word = words.get(explained[1].casefold())

        return word or Unreadable(f"{label} is not one of {', '.join(allowed)}")

    return _read_line(text, label, read)


def goes_with(word: str, reason: str) -> bool:
    """Whether the reason after yes or no fits: it leaves nothing open, and denies no yes."""
    if word.casefold() not in _TRUTHS or _LEFT_OPEN.search(reason):
        return False
    return not (_TRUTHS[word.casefold()] and _DENIED.search(reason))


def read_score(
    text: str, low: int, high: int, *, label: str = "Score"
) -> int | Unreadable:
    """Reads a whole number, not `4.0`: alone, or as `Score: 4` on the last line.

    No other line may have the label with another number. `4/5` is 4 if 5 is the highest
    score; on any other scale it is unreadable.

    Example:
        >>> read_score("4", 1, 5), read_score("4/5", 1, 5), read_score("Score: 4", 1, 5)
        (4, 4, 4)
        >>> read_score("4.0", 1, 5)
        Unreadable(problem='Score is not a whole number', partial=None)
    """

    def read(written: str) -> int | Unreadable:
        written = re.sub(rf"\s?(?:/|out of)\s?{high}\Z", "", written)
        if not _NUMBER.fullmatch(written):
            return Unreadable(f"{label} is not a number alone")
        if "." in written:
            return Unreadable(f"{label} is not a whole number")

        value = int(written)
        return (
            value
            if low <= value <= high
            else Unreadable(f"{label} is not from {low} to {high}")
        )

    return _read_line(text, label, read)


def read_closing_claim(text: str, *, of_statement: bool = True) -> bool | Unreadable:
    """Reads free text by its closing claim, the last sentence (K-QA's judge; for prompts that ask for no stricter form).

    A claim is a verdict word, alone or about the answer ("the answer is True",
    "verdict: false"), possibly with a reason before or after it. "not true" and
    "untrue" are false. Everything else is unreadable: another negation ("not false"), a
    hedge, a question, a condition, an alternative, a quotation, a verdict word in
    another sentence, two claims that differ. A reply may begin with its claim if all
    the rest is explanation. An object's only field for the answer is a claim.

    Args:
        text: the judge's reply.
        of_statement: whether a claim may be about the statement instead of the answer.
    """
    answer = _after_reasoning(text)
    if answer is None:
        return _NO_ANSWER

    sentences = _sentences(_plain_claims(answer))
    if not sentences:
        return Unreadable("the reply is empty")

    pattern = _claim_pattern(*(_OF_EITHER if of_statement else _OF_ANSWERS))
    alone = len(sentences) == 1
    claims = {
        sentence: _claim(sentence, pattern, alone=alone)
        for sentence in dict.fromkeys(sentences)
    }
    value = claims[sentences[-1]]
    if value is None and not any(map(_takes_back, sentences[1:])):
        value = claims[sentences[0]]

    if value is None:
        return Unreadable(
            "the last sentence does not say true or false and nothing else"
        )

    if any(claim is (not value) for claim in claims.values()):
        return Unreadable("the verdict appears twice and differs")

    return value


def _plain_claims(reply: str) -> str:
    """A reply in normal form without markup, polite words and lines of marks; of an object, its field for the answer."""
    text = normal_form(reply)
    field = _answer_field(text)
    if field is not None:
        return field

    text = _ANGLED.sub(r"\1", _TAGGED.sub(r"\n\1: \2\n", text))
    text = _MARKUP.sub("", _HEADING.sub(r"\1:", _POLITE.sub("", text.strip())))
    text = _NO_LINE.sub("", text).strip()

    return text if "\n" in text else text.removeprefix("- ").removeprefix("• ")


def _answer_field(text: str) -> str | None:
    """The value of an object's only field for the answer; None for other replies."""
    value = read_json(text)
    if not isinstance(value, dict):
        return None

    answers = [
        value[key]
        for key in value
        if re.fullmatch(f"(?:final_)?(?:{_SAID})", key.casefold())
    ]
    if len(answers) != 1 or not isinstance(answers[0], str | bool):
        return None

    return str(answers[0])


def _takes_back(sentence: str) -> bool:
    """Whether a sentence after a claim may be more than its explanation."""
    return bool(_OPENS.search(sentence) or _UNCERTAIN.search(sentence))


def _sentences(text: str) -> list[str]:
    """The sentences of a reply.

    A sentence continues after a colon at a line's end, and inside an open quotation.
    """
    written = _INTRODUCED.sub(r"\1 ", text.strip())
    spans: list[str] = []
    start = seen = quotes = 0
    for gap in _BREAK.finditer(written):
        quotes += written.count('"', seen, gap.end())
        seen = gap.end()
        inside = quotes % 2 or (
            gap.start() - start < 40 and _MARKERS.fullmatch(written, start, gap.start())
        )
        if inside or _ABBREVIATED.search(
            written, max(start, gap.start() - 8), gap.start()
        ):
            continue

        spans.append(written[start : gap.end()])
        start = gap.end()

    spans.append(written[start:])
    sentences = [" ".join(span.split()) for span in spans if span.strip()]
    if len(sentences) > 1:
        sentences[-1] = _NUMBERED.sub("", sentences[-1], count=1)

    return sentences


def _claim(
    sentence: str, pattern: re.Pattern[str], *, alone: bool = False
) -> bool | None:
    """The verdict of a sentence by itself, None if it has none.

    If it is the whole reply (`alone`), quotation marks do not make it a quotation.
    """
    if len(sentence) > MAX_CLAIM:
        return None

    written = sentence.lstrip(". ")
    claim = pattern.search(written) or _with_reason(written, pattern)
    if claim is None or (claim[0][:1] in "\"'" and not alone):
        return None  # a quotation may be anybody's

    value = _claim_value(claim)
    before = _before_claim(written[: claim.start()], claim)
    if value is None or before is None:
        return None

    clause = "" if claim["bare"] else before["clause"] or ""
    if clause and _is_of_another(clause, before, claim):
        return None
    if _WORD.search(clause) and _claim(clause, pattern) is not value:
        return None

    return value


def _claim_value(claim: re.Match[str]) -> bool | None:
    """The verdict of a claim: "not true" is false, and "not false" is no verdict."""
    word = (claim["word"] or claim["round"] or claim["square"]).casefold()
    if not claim["not"] and not claim["isnt"]:
        return word == "true"
    twice = claim["not"] and claim["isnt"]
    return None if word != "true" or twice else False


def _before_claim(lead: str, claim: re.Match[str]) -> re.Match[str] | None:
    """The words before a claim, matched; None if they leave the claim open."""
    follows = claim[0].casefold().startswith(("making", "which makes"))
    if follows and lead.endswith(", "):
        lead += "so "
    if _OPENS.search(lead):
        return None
    return (_WORDS if claim["bare"] else _LEAD).fullmatch(lead)


def _is_of_another(clause: str, before: re.Match[str], claim: re.Match[str]) -> bool:
    """Whether a claim after another clause may be about something else than the question."""
    apart = before["apart"] is not None and _SPOKEN_OF.search(clause)
    joined = before["joined"] is not None and _WORD.match(claim[0])
    return bool(apart or joined)


def _with_reason(sentence: str, pattern: re.Pattern[str]) -> re.Match[str] | None:
    """The claim of a sentence that continues with its reason, if that has no verdict and leaves nothing open."""
    for verdict in _WORD.finditer(sentence):
        end = verdict.end()
        why = _REASON.match(sentence, end)
        if why is None:
            continue

        reason = sentence[end:]
        named = why[0].strip(", ").casefold() in ("because", "since", "given that")
        unsure = (
            _WORD.search(reason)
            if named
            else _UNCERTAIN.search(reason) or _OR.search(reason)
        )
        if unsure or _OPENS.search(reason):
            return None

        return pattern.search(sentence[:end])

    return None


def _after_reasoning(text: str) -> str | None:
    """The reply without its reasoning; None if the reasoning never ends."""
    if _opens_thinking(text):
        _, tag, after = text.partition("</think>")
        return after if tag else None
    # Many models' templates open the reasoning themselves, so that a reply has only its
    # end mark.
    return text.rpartition("</think>")[2]


def _opens_thinking(text: str) -> bool:
    return text.lstrip().startswith("<think>")


def _unfenced(text: str) -> str:
    """The content of a fenced block that is the whole text, with or without its end mark."""
    block = _FENCED.fullmatch(text)
    return block[2] if block else text


def _read_line(
    text: str, label: str, read: Callable[[str], _Value | Unreadable]
) -> _Value | Unreadable:
    """Reads the text after a label on the last line, or the reply's only line.

    A judge may quote the answer that it judges, so a value that may be a quotation does not
    count: after a line that introduces one, or beside another line with a different value.

    Args:
        text: the reply.
        label: the word before the colon, as in `entailed: yes`.
        read: reads what follows it.
    """
    answer = _after_reasoning(text)
    if answer is None:
        return _NO_ANSWER

    lines = _without_last_reason(_lines(answer), label)
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

    # Of two different values either may be a quotation. Drafts do not count in
    # reasoning that is marked from its beginning; a bare end mark may be quoted too.
    for line in lines if _opens_thinking(text) else _lines(text):
        other = _labelled(line, label)
        if other is None or len(other) > MAX_CHOICE:
            continue

        other_value = read(other)
        if not isinstance(other_value, Unreadable) and other_value != value:
            return Unreadable(f"{label} appears twice and differs")

    return value


def _without_last_reason(lines: list[str], label: str) -> list[str]:
    """Drops a reason after the verdict, or before it on the same line.

    Example:
        Of the lines "entailed: yes" and "explanation: it says so" the first remains,
        and of the line "explanation: it says so. entailed: yes" its end.
    """
    while len(lines) > 1 and _begins_reason(lines[-1]):
        lines = lines[:-1]

    if lines and _begins_reason(lines[-1]):
        reason, separator, verdict = lines[-1].rpartition(f"{label}:")
        if separator and reason.rstrip()[-1:] in (".", ";"):
            return [*lines[:-1], separator + verdict]

    return lines


def _begins_reason(line: str) -> bool:
    name, colon, _ = line.partition(":")
    return bool(colon) and name.strip(_MARKS).lower() in _ASIDES


def reply_lines(text: str) -> list[str]:
    """The lines of a reply with words, without reasoning and emphasis; empty if the reasoning never ends."""
    lines = [
        line.strip(_MARKS).replace("*", "").replace("`", "")
        for line in _lines(_after_reasoning(text) or "")
    ]
    # Quotation marks around a whole reply of one line mark no quotation.
    return [_bare(line) for line in lines] if len(lines) == 1 else lines


def _lines(text: str) -> list[str]:
    """The lines of a reply with words, in normal form; tags around an answer become its label."""
    text = _HEADED.sub(r"\1: ", _TAGGED.sub(r"\n\1: \2\n", normal_form(text)))
    text = _ANGLED.sub(r"\1", text)

    return [
        line
        for line in text.split("\n")
        if _SAYS.search(line) and not line.startswith("```")
    ]


def _labelled(line: str, label: str) -> str | None:
    """The text after a label: `Score: 4`, `Final score - 4`, `So, the score is 4.`."""
    match = re.match(
        rf"[\s*_`#\"'(-]*(?:(?:so|thus|therefore|hence),? )?(?:(?:the|my) )?(?:final )?(?:{re.escape(label)}|answer|verdict)"
        r"[\s*_`]*(?::|=|→| [-–—] | is:? | (?=[0-9]))(.*)",
        line,
        re.IGNORECASE,
    )
    return None if match is None else _bare(match[1])


def _bare(written: str) -> str:
    """A text without surrounding marks, and without one pair of brackets or quotation marks."""
    bare = written.strip(_MARKS).removesuffix(".").rstrip(_MARKS)
    return bare[1:-1].strip() if bare[:1] + bare[-1:] in _PAIRS else bare


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is no JSON")


def _finite(written: str) -> float:
    value = float(written)
    if not math.isfinite(value):
        raise ValueError("too large a number")
    return value


_JSON: Final = json.JSONDecoder(
    object_pairs_hook=once,
    parse_constant=_no_constant,
    parse_float=_finite,
    strict=False,
)
