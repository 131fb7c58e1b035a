"""DocLens' judge prompts, ours or the authors', and the readers of the replies.

Xie et al. 2024, sections 3.1 to 3.4 and A.2. Shared text comes first, so that servers
can cache it; texts of models are JSON strings. A reply in another form is `Unreadable`.

Judges that read prompts:

- claims of a text: one call
- entailed claims: one call per side (`--judging batched`, the default), or per claim
  (`--judging single`)
- a sentence with k valid citations: one call: entailed, and by which numbers
- two questions (MeQSum): three calls: A a case of B, B a case of A, the same

Judges of entailment (`nli`, `lexical`):

- claims of a text: no call; its sentences are its claims
- entailed claims: one pair per claim
- a sentence with k valid citations: all together; if entailed, 3 pairs for k = 2, 1 + k
  to 1 + 2k for more
- two questions (MeQSum): two pairs

Blank texts, and sentences without words or valid citations, are not sent.

`json_cot` and `json` (no explanation) reply in JSON, batched or single; `cot` and
`plain`, single alone, in lines: `explanation: ...`, for sentences `provenance: 3, 7`,
last `entailed: yes`.

Batch verdicts are matched by id. Omitted claims are asked again together, then one by
one, as is a batch that stays unreadable or exceeds the context. An unknown or repeated
id, or a provenance number that was not shown, makes the reply unreadable.
"""

from __future__ import annotations

import functools
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Concatenate, Final, Literal, ParamSpec, TypeVar

from medical_tasks.benchmarks.doclens import official_prompts as official
from medical_tasks.benchmarks.doclens.measures import MAX_CLAIMS, MIN_CLAIMS
from medical_tasks.benchmarks.doclens.official_prompts import (
    OFFICIAL_STYLES,
    OFFICIAL_TOKENS,
    read_official_texts,
)
from medical_tasks.data.task_data import check_prompt_set
from medical_tasks.errors import UsageError
from medical_tasks.io.files import packaged
from medical_tasks.judges.base import (
    ENTAILS,
    JudgePrompts,
    Judging,
    Pair,
    Question,
    Unreadable,
)
from medical_tasks.judges.judged import user_message
from medical_tasks.judges.reading import (
    Checker,
    boolean,
    explanation,
    quoted,
    read_choice,
    read_json,
    read_object,
    read_verdicts,
    reply_lines,
    schema_of,
    schema_of_verdicts,
)
from medical_tasks.spec import Message, TaskSpec, texts_sha256

_TEXTS: Final = packaged(__file__, "judge_prompts.json")
"""The texts of our prompts; `kinds` lists those before and after the form of the reply; `again` has
the re-asks."""
FORMS: Final[Mapping[str, tuple[str, str]]] = {
    form: (what, source) for form, (what, source) in _TEXTS["forms"].items()
}
"""The nouns for a text of each form and for its source."""
_AGAIN: Final[Mapping[str, str]] = _TEXTS["again"]


def load_judge_prompts(
    task: TaskSpec, name: str = "own", upstream: Path | None = None
) -> JudgePrompts:
    """Loads the judge's prompts: ours by kind and style (`claims/json_cot`), or the authors' files."""
    check_prompt_set(task, name, what="set of judge prompts")
    texts = _own_texts() if name == "own" else read_official_texts(task, upstream)
    nouns = list(chain.from_iterable((form, *words) for form, words in FORMS.items()))
    sha256 = texts_sha256(
        *chain.from_iterable(texts.items()), *nouns, _AGAIN["json"], _AGAIN["lines"]
    )

    return JudgePrompts(name=name, sha256=sha256, texts=texts)


def check_judging(judging: Judging, style: str) -> None:
    """Refuses prompts, style and mode that do not fit together, before any question."""
    if judging.prompts.name == "official" and style not in OFFICIAL_STYLES:
        raise UsageError(
            f"the authors have judge prompts of the styles {' and '.join(OFFICIAL_STYLES)}; got "
            f"{style}. Choose one of them, or "
            "use --prompts own."
        )

    if judging.mode == "batched" and not as_json(style):
        raise UsageError(
            f"style {style} asks about one claim at a time, and cannot be batched. Give "
            "--judging single, or one of the "
            "styles json_cot and json."
        )


_MAKE_TOKENS: Final = 2048
# the largest number of claims fits into a reply
_CLAIM: Final = {"type": "string", "maxLength": 250}
_CLAIM_LIST: Final = {
    "type": "array",
    "items": _CLAIM,
    "minItems": MIN_CLAIMS,
    "maxItems": MAX_CLAIMS,
}
_MADE: Final = schema_of({"claims": Checker(lambda _: True, "", _CLAIM_LIST)})
_REPLY_TOKENS: Final = 512
_ENTRY_TOKENS: Final = {"json_cot": 96, "json": 32}
_NUMBER_TOKENS: Final = 8

_SPEAKER: Final = re.compile(r"\A\[([A-Za-z]\w{0,30})\] ?")

_Read = Callable[[str], object]


def claim_pair(text: str, claim: str) -> Pair:
    """The question for an entailment model; the value is whether the claim is entailed."""
    return Pair(premise=text, hypothesis=claim, values=ENTAILS)


class QuestionMaker:
    """Makes questions with one set of prompts and one style.

    `name`, the first argument of each method, becomes the id of the question, and the
    docstring says what the reply's verdict is as a value.

    Attributes:
        _official: whether the prompts are the authors' files, which have one for each kind,
            form and, for clinical notes, section.
        _in_lines: whether replies are lines of text instead of JSON.
        _explained: whether replies explain their verdicts.
    """

    def __init__(self, prompts: JudgePrompts, style: str) -> None:
        self._prompts, self._style = prompts, style
        self._official = prompts.name == "official"
        self._in_lines, self._explained = not as_json(style), style.endswith("cot")

    def make(self, name: str, *, text: str, form: str, section: str) -> Question:
        """Asks for the claims of a text; the value is a JSON list."""
        if not self._official:
            read, tokens = read_made, _MAKE_TOKENS
            values = {"text": quoted(text)}
            question = self._own(
                name, "make", read, tokens=tokens, form=form, values=values
            )
            return replace(question, schema=_MADE)

        file = self._file("make", form=form, section=section)
        return _question(
            name,
            official.official_make_messages(file, judged=text),
            file,
            _AGAIN["official_claims"],
            read_official_made,
            tokens=OFFICIAL_TOKENS["json_cot"],
        )

    def claims(
        self, name: str, *, text: str, claims: Sequence[str], form: str
    ) -> Question:
        """Asks about several claims; the value has a verdict for each, None if the reply leaves it out."""
        tokens = _REPLY_TOKENS + _ENTRY_TOKENS[self._style] * len(claims)
        if self._official:
            file = self._file("claims", form=form)
            messages = official.official_claim_messages(
                file, form=form, judged=text, claims=claims
            )
            # Each of their entries repeats its claim.
            tokens += sum(map(len, claims)) // 2
            return self._official_question(
                name,
                file,
                messages,
                partial(read_official_batch, claims=claims),
                tokens=tokens,
            )

        ids = [f"c{number}" for number in range(1, len(claims) + 1)]
        texts = {
            "text": quoted(text),
            "claims": _quoted_lines(zip(ids, claims, strict=True)),
        }
        read = partial(read_batch, ids=ids, explained=self._explained)

        return self._own(
            name, "claims", read, tokens=tokens, ids=ids, form=form, values=texts
        )

    def claim(self, name: str, *, text: str, claim: str, form: str) -> Question:
        """Asks about one claim; the value is a bool."""
        pair = claim_pair(text, claim)
        if not self._official:
            texts = {"text": quoted(text), "claim": quoted(claim)}
            return self._own(
                name, "claim", self._read_verdict, pair=pair, form=form, values=texts
            )

        file = self._file("claims", form=form)
        messages = official.official_claim_messages(
            file, form=form, judged=text, claims=[claim]
        )
        only = partial(read_official_only, claim=claim)
        read = read_official_lines if self._in_lines else only

        return self._official_question(name, file, messages, read, pair=pair)

    def questions(
        self, name: str, kind: Literal["question", "same"], *, first: str, second: str
    ) -> Question:
        """Asks whether a question is a case of another, or the same; the value is a bool.

        Only the first has a form for entailment models.
        """
        pair = claim_pair(first, second) if kind == "question" else None
        if not self._official:
            texts = {"first": quoted(first), "second": quoted(second)}
            return self._own(
                name, kind, self._read_verdict, pair=pair, form="question", values=texts
            )

        file = self._file(kind, form="question")
        messages = official.official_pair_messages(file, first=first, second=second)
        read = read_official_lines if self._in_lines else read_official_object

        return self._official_question(name, file, messages, read, pair=pair)

    def citation(
        self,
        name: str,
        *,
        sentence: str,
        cited: Sequence[tuple[int, str]],
        form: str,
        section: str,
    ) -> Question:
        """Asks about a sentence and its citations, given by number and text; the value is a `Cited`."""
        numbers = [number for number, _ in cited]
        tokens = _REPLY_TOKENS + _NUMBER_TOKENS * len(numbers)
        if self._official:
            file = self._file("citation", form=form, section=section)
            messages = official.official_citation_messages(
                file, form=form, sentence=sentence, cited=cited
            )
            official_reader = (
                read_official_cited_lines if self._in_lines else read_official_cited
            )
            read = partial(official_reader, numbers=numbers)
            return self._official_question(name, file, messages, read, tokens=tokens)

        read = partial(read_cited_lines, numbers=numbers)
        if not self._in_lines:
            read = partial(
                read_cited_object, numbers=numbers, explained=self._explained
            )

        if form in official.DIALOGUES:
            # A speaker in brackets would be escaped, which is hard to read.
            cited = [(number, _SPEAKER.sub(r"\1: ", text)) for number, text in cited]

        kind = "summary" if form == "question" else "citation"
        texts = {"cited": _quoted_lines(cited), "sentence": quoted(sentence)}
        return self._own(
            name, kind, read, tokens=tokens, numbers=numbers, form=form, values=texts
        )

    @property
    def _read_verdict(self) -> _Read:
        if self._in_lines:
            return read_verdict_lines
        return partial(read_verdict_object, explained=self._explained)

    def _file(self, kind: official.Kind, *, form: str, section: str = "") -> str:
        return self._prompts.texts[
            official.official_file(kind, self._style, form=form, section=section)
        ]

    def _official_question(
        self,
        name: str,
        file: str,
        messages: tuple[Message, ...],
        read: _Read,
        *,
        tokens: int = 0,
        pair: Pair | None = None,
    ) -> Question:
        """Makes a question of the authors, with their limit of reply tokens or a larger one that we need."""
        return _question(
            name,
            messages,
            file,
            _AGAIN["official_lines" if self._in_lines else "official_json"],
            read,
            tokens=max(tokens, OFFICIAL_TOKENS[self._style]),
            pair=pair,
        )

    def _own(
        self,
        name: str,
        kind: str,
        read: _Read,
        *,
        form: str,
        values: Mapping[str, str],
        pair: Pair | None = None,
        tokens: int = _REPLY_TOKENS,
        ids: Sequence[str] = (),
        numbers: Sequence[int] = (),
    ) -> Question:
        """Makes a question in our words.

        Args:
            name: the question's id.
            kind: the kind of question: `make`, `claims`, `claim`, and so on.
            read: the reader of the reply.
            form: the form of the text, for its nouns.
            values: the values of the template's slots.
            pair: the same question for an entailment model.
            tokens: limit of the reply's tokens.
            ids: ids of the claims to decide, for the reply's schema.
            numbers: numbers of the cited sentences, for the reply's schema.

        Returns:
            The question; it has a schema unless verdicts are lines, or claims are to be
            made, whose number is unknown.
        """
        text = self._prompts.texts[_key(kind, self._style)]
        what, source = FORMS[form]
        messages = user_message(text, {"what": what, "source": source, **values})
        again = _AGAIN["lines" if self._in_lines and kind != "make" else "json"]
        question = _question(
            name, messages, text, again, read, tokens=tokens, pair=pair
        )
        if kind == "make" or self._in_lines:
            return question

        keys = _keys(kind, explained=self._explained, numbers=numbers)
        return replace(
            question,
            schema=schema_of_verdicts(keys, ids)
            if kind == "claims"
            else schema_of(keys),
        )


def _quoted_lines(texts: Iterable[tuple[object, str]]) -> str:
    return "\n".join(f"{name}: {quoted(text)}" for name, text in texts)


def _question(
    name: str,
    messages: tuple[Message, ...],
    text: str,
    again: str,
    read: _Read,
    *,
    tokens: int = _REPLY_TOKENS,
    pair: Pair | None = None,
) -> Question:
    return Question(
        id=name,
        messages=messages,
        template=texts_sha256(text, again),
        read=read,
        again=again,
        max_tokens=tokens,
        pair=pair,
    )


STYLES: Final = ("json_cot", "json", "cot", "plain")


def as_json(style: str) -> bool:
    """Whether replies of a style are JSON."""
    return style.startswith("json")


def _key(kind: str, style: str) -> str:
    return kind if kind == "make" else f"{kind}/{style}"


def _own_texts() -> dict[str, str]:
    texts = {"make": _joined("make_task", "make_rules", "quoted", "make_form", "text")}
    for kind, names in _TEXTS["kinds"].items():
        for style in STYLES:
            if kind != "claims" or as_json(style):
                form = _reply_form(kind, style, names["meaning"])
                texts[_key(kind, style)] = "\n\n".join(
                    (_joined(*names["begin"], "quoted"), form, _joined(*names["end"]))
                )
    return texts


def _joined(*names: str) -> str:
    return "\n\n".join(_TEXTS[name] for name in names)


def _reply_form(kind: str, style: str, meaning: str) -> str:
    explained, cites = style.endswith("cot"), kind in ("citation", "summary")
    if not as_json(style):
        lines = (
            ["explanation: <one or two sentences, on one line>"] if explained else []
        )
        lines += (
            ["provenance: <numbers, with commas between them, or none>"]
            if cites
            else []
        )
        head = f"Reply with these lines and nothing else, {meaning} (yes):"
        return "\n".join((head, *lines, "entailed: <yes or no>"))

    explanation = '"explanation": "<one or two sentences>", ' if explained else ""
    if kind == "claims":
        return (
            "Reply with one JSON object and nothing else, with exactly one entry for each claim, "
            "under the claim's id, of this "
            f'form:\n{{"verdicts": [{{"id": "c1", {explanation}"entailed": true or false}}, ...]}}'
        )

    provenance = '"provenance": [<number>, ...], ' if cites else ""
    return (
        f"Reply with one JSON object and nothing else, {meaning}, of this form:\n"
        f'{{{explanation}{provenance}"entailed": true or false}}'
    )


Batch = tuple[bool | None, ...]
"""Value of a batched verdict: whether each claim is entailed, in order; None for one that the reply
leaves out."""

Cited = tuple[bool, tuple[int, ...] | None]
"""Value of a verdict on a sentence: whether its citations entail it, and the numbers of those that
do; no numbers if it is not entailed.

None instead of the numbers means that the reply does not give them.
"""

_WITHOUT_NUMBERS: Final[Cited] = (True, None)
"""The partial verdict on an entailed sentence whose numbers cannot be read."""
_NUMBER: Final = re.compile(r"[0-9]+")
_MOST_DIGITS: Final = 6  # as in a marker
_LIST: Final = re.compile(r"[0-9\[\],; \t]+")
_PROVENANCE: Final = re.compile(
    r"[ \t*_`#>-]*provenance[ \t*_`]*[:=](.*)", re.IGNORECASE
)

_Value = TypeVar("_Value")
_Params = ParamSpec("_Params")


class _UnreadableError(Exception):
    """Ends a reader with the reply's problem, and the readable parts of the verdict."""

    def __init__(self, problem: str, partial_value: object = None) -> None:
        super().__init__(problem)
        self.partial_value = partial_value


def _readable(value: _Value | Unreadable) -> _Value:
    """The value, or the exception for an unreadable reply."""
    if isinstance(value, Unreadable):
        raise _UnreadableError(value.problem)
    return value


def _reader(
    read: Callable[Concatenate[str, _Params], _Value],
) -> Callable[Concatenate[str, _Params], _Value | Unreadable]:
    @functools.wraps(read)
    def guarded(
        text: str, /, *args: _Params.args, **options: _Params.kwargs
    ) -> _Value | Unreadable:
        try:
            return read(text, *args, **options)
        except _UnreadableError as error:
            return Unreadable(str(error), partial=error.partial_value)

    return guarded


@_reader
def read_made(text: str) -> str:
    """Reads the claims of a text, `{"claims": ["...", ...]}` and nothing else; the value is a JSON list."""
    value = _readable(read_json(text))
    if not isinstance(value, dict) or set(value) != {"claims"}:
        raise _UnreadableError(
            "the reply must be an object with the key claims and no others"
        )

    listed = value["claims"]
    if not isinstance(listed, list) or not all(
        isinstance(claim, str) and claim.strip() for claim in listed
    ):
        raise _UnreadableError("claims must be a list of strings that are not blank")

    claims = list(dict.fromkeys(" ".join(claim.split()) for claim in listed))
    if not MIN_CLAIMS <= len(claims) <= MAX_CLAIMS:
        raise _UnreadableError(
            f"{MIN_CLAIMS} to {MAX_CLAIMS} claims are asked for; there are {len(claims)}"
        )

    return json.dumps(claims)


@_reader
def read_verdict_object(text: str, *, explained: bool) -> bool:
    """Reads one verdict from a JSON object."""
    return bool(
        _readable(read_object(text, _keys("claim", explained=explained)))["entailed"]
    )


@_reader
def read_verdict_lines(text: str) -> bool:
    """Reads one verdict from the last line, `entailed: yes` or `entailed: no`, or from the word alone."""
    return _readable(read_choice(text, ("yes", "no"), label="entailed")) == "yes"


@_reader
def read_batch(text: str, ids: Sequence[str], *, explained: bool) -> Batch:
    """Reads verdicts on several claims; unknown or repeated ids make the reply unreadable."""
    verdicts = _readable(read_verdicts(text, _keys("claims", explained=explained), ids))
    return tuple(
        verdicts[name]["entailed"] if name in verdicts else None for name in ids
    )


@_reader
def read_cited_object(text: str, numbers: Sequence[int], *, explained: bool) -> Cited:
    """Reads a verdict on a sentence from a JSON object; `numbers` are those of its citations."""
    value = _readable(read_object(text, _keys("citation", explained=explained)))
    return _cited(value["entailed"], value.get("provenance"), numbers)


@_reader
def read_cited_lines(text: str, numbers: Sequence[int]) -> Cited:
    """Reads a verdict on a sentence from lines `provenance: 3, 7` (or `none`) and `entailed: yes`."""
    entailed = _readable(read_verdict_lines(text))
    return _cited(entailed, _provenance(text, entailed, numbers), numbers)


def _provenance(text: str, entailed: bool, numbers: Sequence[int]) -> list[int]:
    """The numbers of the only line with the provenance.

    Of two such lines, neither is certainly the judge's. If no numbers are needed
    (nothing is entailed, or there is one citation), an unreadable line is ignored.
    """
    lines = [
        match[1] for line in reply_lines(text) if (match := _PROVENANCE.fullmatch(line))
    ]
    if len(lines) == 1:
        written = lines[0].strip(" \t_.")
        listed = [] if written.casefold() in ("none", "[]") else _numbers(written)
        if listed is not None:
            return listed

    if not entailed or len(set(numbers)) == 1:
        return []

    if len(lines) == 1:
        problem = "provenance is not numbers with commas between them, or none"
    else:
        problem = f"one line with provenance is needed; there are {len(lines)}"

    raise _UnreadableError(problem, _WITHOUT_NUMBERS)


def _cited(entailed: bool, provenance: object, numbers: Sequence[int]) -> Cited:
    listed = _numbers(provenance)
    # With a number that is not cited, the judge did not read the question, whatever it
    # decided.
    if listed is not None and not set(listed) <= set(numbers):
        raise _UnreadableError("provenance has a number that is not cited")
    if not entailed:
        return False, ()
    if len(set(numbers)) == 1:
        return True, (numbers[0],)
    if listed is None:
        raise _UnreadableError("provenance must be a list of numbers", _WITHOUT_NUMBERS)

    if not listed:
        raise _UnreadableError(
            "entailed and no provenance contradict each other", _WITHOUT_NUMBERS
        )

    return True, tuple(sorted(set(listed)))


def _numbers(provenance: object) -> list[int] | None:
    """The numbers in a list of numbers, in a text ("3, 7"), or in a list of texts; else None.

    Example:
        >>> [_numbers(value) for value in ([1, 2], "3, 7", ["1", "2"], "see the third")]
        [[1, 2], [3, 7], [1, 2], None]
    """
    if isinstance(provenance, list) and all(
        type(number) is int for number in provenance
    ):
        return provenance

    if isinstance(provenance, list) and all(
        isinstance(text, str) for text in provenance
    ):
        provenance = ",".join(provenance)

    if not isinstance(provenance, str) or not _LIST.fullmatch(provenance):
        return None

    digits = _NUMBER.findall(provenance)
    if not digits or max(map(len, digits)) > _MOST_DIGITS:
        return None

    return list(map(int, digits))


def _among(numbers: Sequence[int]) -> Checker:
    schema = {
        "type": "array",
        "items": {"type": "integer", "enum": sorted({*numbers})},
        "maxItems": len(numbers),
    }
    return Checker(
        lambda value: isinstance(value, list),
        "must be a list of numbers",
        schema,
        aside=True,
    )


def _keys(
    kind: str, *, explained: bool, numbers: Sequence[int] = ()
) -> dict[str, Checker]:
    """The keys of a JSON reply to a kind of question."""
    cites = kind in ("citation", "summary")
    return {
        **({"explanation": explanation} if explained else {}),
        **({"provenance": _among(numbers)} if cites else {}),
        "entailed": boolean,
    }


_MARK: Final = re.compile(r"(^[ \t]*)?Claim [0-9]{1,4}: ", re.MULTILINE)
_LABEL: Final = re.compile(
    r"^([ \t*_`#]*)entailment[ _\\]{0,3}prediction", re.IGNORECASE | re.MULTILINE
)
_ENDS: Final = " .\"'“”‘’"
_NAMES: Final = ("entailment_prediction", "entailment prediction", "prediction")


@_reader
def read_official_made(text: str) -> str:
    """Reads claims; the value is a JSON list.

    White space is collapsed, where the authors delete line feeds.
    """
    reply = text.rpartition("</think>")[2]
    # The numbers of claims do not matter: in one of the authors' examples two are equal.
    marks = list(_MARK.finditer(reply))
    if any(mark[1] is None for mark in marks):
        raise _UnreadableError("a claim has the mark of another one in it")

    if not MIN_CLAIMS <= len(marks) <= MAX_CLAIMS:
        raise _UnreadableError(
            f"{MIN_CLAIMS} to {MAX_CLAIMS} claims are asked for; there are {len(marks)}"
        )

    ends = [*(mark.start() for mark in marks[1:]), len(reply)]
    claims = [
        " ".join(reply[mark.end() : end].split())
        for mark, end in zip(marks, ends, strict=True)
    ]
    if not all(claims):
        raise _UnreadableError("a claim is empty")

    return json.dumps(list(dict.fromkeys(claims)))


@_reader
def read_official_batch(text: str, claims: Sequence[str]) -> Batch:
    """Reads GPT's verdicts on several claims, each of which the reply must repeat once.

    Capitals, white space and marks at the ends of a claim do not count.
    """
    expected = Counter(map(_bare, claims))
    value = _readable(read_json(text))
    if not isinstance(value, list) or not value:
        raise _UnreadableError(
            "the reply needs to be a list of objects, one for each claim"
        )

    verdicts: dict[str, bool] = {}
    times: Counter[str] = Counter()
    for entry in value:
        if not isinstance(entry, dict) or not isinstance(entry.get("claim"), str):
            raise _UnreadableError(
                "each entry needs to be an object with the claim as it was given"
            )

        verdict, name = _prediction(entry), _bare(entry["claim"])
        times[name] += 1
        if name not in expected:
            raise _UnreadableError(
                "an entry's claim is none of those asked about; repeat each claim as it was given"
            )

        if times[name] > expected[name] or verdicts.get(name, verdict) != verdict:
            raise _UnreadableError("a claim appears twice")

        verdicts[name] = verdict

    # Of two claims that are equal here, a single verdict could belong to either.
    return tuple(
        verdicts.get(name) if times[name] == expected[name] else None
        for name in map(_bare, claims)
    )


@_reader
def read_official_only(text: str, claim: str) -> bool:
    """Reads GPT's verdict on one claim, in a list as for several."""
    (verdict,) = _readable(read_official_batch(text, [claim]))
    if verdict is None:
        raise _UnreadableError("there is no verdict")
    return verdict


@_reader
def read_official_object(text: str) -> bool:
    """Reads GPT's verdict on two questions."""
    value = _readable(read_json(text))
    if not isinstance(value, dict):
        raise _UnreadableError("a JSON array where one object is asked for")
    return _prediction(value)


@_reader
def read_official_lines(text: str) -> bool:
    """Reads Mistral's verdict."""
    labelled = _LABEL.sub(r"\1prediction", text)
    return _readable(read_choice(labelled, ("1", "0"), label="prediction")) == "1"


@_reader
def read_official_cited(text: str, numbers: Sequence[int]) -> Cited:
    """Reads GPT's verdict on a sentence."""
    value = _readable(read_json(text))
    if not isinstance(value, dict):
        raise _UnreadableError(
            "the reply needs to be an object with explanation, provenance and prediction"
        )
    return _cited(_prediction(value), value.get("provenance"), numbers)


@_reader
def read_official_cited_lines(text: str, numbers: Sequence[int]) -> Cited:
    """Reads Mistral's verdict on a sentence; the reply has indexes into the numbers."""
    entailed = _readable(read_official_lines(text))
    indexes = _provenance(text, entailed, numbers)
    if not all(index < len(numbers) for index in indexes):
        raise _UnreadableError("provenance has an idx that was not shown")
    return _cited(entailed, [numbers[index] for index in indexes], numbers)


def _prediction(value: Mapping[str, object]) -> bool:
    values = [value[name] for name in _NAMES if name in value]
    if len(values) != 1:
        raise _UnreadableError("one entailment_prediction is needed")
    if not isinstance(values[0], bool | int | float) or values[0] not in (0, 1):
        raise _UnreadableError("entailment_prediction must be 1 or 0")
    return values[0] == 1


def _bare(claim: str) -> str:
    return " ".join(claim.casefold().split()).strip(_ENDS)
