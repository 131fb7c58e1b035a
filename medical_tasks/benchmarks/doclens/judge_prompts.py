"""What the judge of DocLens is asked (paper, sections 3.1 to 3.4 and appendix A.2), with our prompts or the authors'.

Kinds: `make` (the claims of a text), `claims` and `claim` (whether a text entails them), `question` and `same` (whether one short
question is a special case of another, or the same), `citation` and `summary` (whether cited sentences together entail a sentence
or ask a question, and which of them are needed). All but `make` come in the paper's four styles. Shared text stands first, so
that servers cache it; texts of models stand in the prompt as JSON strings. Judges of entailment are asked the same as pairs.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal

from medical_tasks.benchmarks.doclens import judge_reading as reading
from medical_tasks.benchmarks.doclens import official_prompts as official
from medical_tasks.benchmarks.doclens.official_prompts import OFFICIAL_STYLES, read_official_texts
from medical_tasks.errors import UsageError
from medical_tasks.judges.base import JudgePrompts, Judging, Label, Pair, Question, Unreadable
from medical_tasks.judges.reading import quoted
from medical_tasks.spec import Message, TaskSpec

PROMPT_SETS: Final = ("own", "official")
_PARTS: Final[Mapping[str, Any]] = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
"""The texts of our prompts; by `kinds` which of them stand before and behind the form of the reply; what is said `again`."""
FORMS: Final[Mapping[str, tuple[str, str]]] = {form: (what, source) for form, (what, source) in _PARTS["forms"].items()}
"""What a text of each form is called, and what it cites."""
_AGAIN: Final[Mapping[str, str]] = _PARTS["again"]
_SLOT: Final = re.compile(r"\{(what|source|text|claims?|first|second|cited|sentence)\}")


def load_judge_prompts(task: TaskSpec, name: str = "own", upstream: Path | None = None) -> JudgePrompts:
    """Loads the texts that a task's judge is asked with.

    Returns ours by kind and style (`claims/json_cot`), or the authors' files for the task's form by name.
    """
    if name not in PROMPT_SETS:
        raise UsageError(f"unknown set of judge prompts {name!r} for {task.name}. Sets: {', '.join(PROMPT_SETS)}.")
    texts = _own_texts() if name == "own" else read_official_texts(task, upstream)
    nouns = [f"{form}\0{what}\0{source}" for form, (what, source) in FORMS.items()]
    whole = "\0".join((*(f"{one}\0{text}" for one, text in texts.items()), *nouns, _AGAIN["json"], _AGAIN["lines"]))
    return JudgePrompts(name=name, sha256=hashlib.sha256(whole.encode()).hexdigest(), texts=texts)


def check_judging(judging: Judging, style: str) -> None:
    """Refuses what does not go together, before anybody is asked."""
    if style not in STYLES:
        raise UsageError(f"style must be one of {', '.join(STYLES)}; got {style!r}.")
    if judging.prompts.name == "official" and style not in OFFICIAL_STYLES:
        raise UsageError(
            f"the authors have judge prompts of the styles {' and '.join(OFFICIAL_STYLES)}; got {style}. Choose one of them, or "
            "use --prompts own."
        )
    if judging.mode == "batched" and not as_json(style):
        raise UsageError(
            f"style {style} asks about one claim at a time, and cannot be batched. Give --judging single, or one of the "
            "styles json_cot and json."
        )


_LABELS: Final[tuple[Label, ...]] = ("entailment", "neutral", "contradiction", "not_entailment")
ENTAILS: Final = {label: label == "entailment" for label in _LABELS}
"""What the label of a judge of entailment says: entailed or not."""

_MAKE_TOKENS: Final = 2048
_REPLY_TOKENS: Final = 512
_ENTRY_TOKENS: Final = {"json_cot": 96, "json": 32}
_NUMBER_TOKENS: Final = 8

_SPEAKER: Final = re.compile(r"\A\[([A-Za-z]\w{0,30})\] ?")

_Read = Callable[[str], Any | Unreadable]


def claim_pair(text: str, claim: str) -> Pair:
    """Makes a judge of entailment's question; the value is whether it is entailed."""
    return Pair(premise=text, hypothesis=claim, values=ENTAILS)


class QuestionMaker:
    """Makes questions of one set of prompts and one style."""

    def __init__(self, prompts: JudgePrompts, style: str) -> None:
        self._prompts, self._style = prompts, style
        self._official = prompts.name == "official"
        self._in_lines, self._explained = not as_json(style), style.endswith("cot")

    def make(self, name: str, *, text: str, form: str, section: str) -> Question:
        """Asks for the claims of a text; the value is a JSON list."""
        if self._official:
            file = self._file("make", form=form, section=section)
            messages = official.official_make_messages(file, judged=text)
            return _question(
                name, messages, file, _AGAIN["official_claims"], reading.read_official_made, tokens=_MAKE_TOKENS
            )
        return self._own(name, "make", reading.read_made, tokens=_MAKE_TOKENS, form=form, text=quoted(text))

    def claims(self, name: str, *, text: str, claims: Sequence[str], form: str) -> Question:
        """Asks about several claims; the value is a verdict by place, None for what the reply leaves out."""
        tokens = _REPLY_TOKENS + _ENTRY_TOKENS[self._style] * len(claims)
        if self._official:
            file = self._file("claims", form=form)
            messages = official.official_claim_messages(file, form=form, judged=text, claims=claims)
            # Each of their entries repeats its claim.
            tokens += sum(map(len, claims)) // 2
            return self._theirs(
                name, file, messages, partial(reading.read_official_batch, claims=claims), tokens=tokens
            )
        ids = [f"c{number}" for number in range(1, len(claims) + 1)]
        read = partial(reading.read_batch, ids=ids, explained=self._explained)
        listed = _quoted_lines(zip(ids, claims, strict=True))
        return self._own(name, "claims", read, tokens=tokens, form=form, text=quoted(text), claims=listed)

    def claim(self, name: str, *, text: str, claim: str, form: str) -> Question:
        """Asks about one claim; the value is a bool."""
        pair = claim_pair(text, claim)
        if self._official:
            file = self._file("claims", form=form)
            messages = official.official_claim_messages(file, form=form, judged=text, claims=[claim])
            only = partial(reading.read_official_only, claim=claim)
            return self._theirs(
                name, file, messages, reading.read_official_lines if self._in_lines else only, pair=pair
            )
        return self._own(
            name, "claim", self._read_verdict, pair=pair, form=form, text=quoted(text), claim=quoted(claim)
        )

    def questions(self, name: str, kind: Literal["question", "same"], *, first: str, second: str) -> Question:
        """Asks whether a question is a case of another, or the same; the value is a bool. Sameness has no pair."""
        pair = claim_pair(first, second) if kind == "question" else None
        if self._official:
            file = self._file(kind, form="question")
            messages = official.official_pair_messages(file, first=first, second=second)
            read = reading.read_official_lines if self._in_lines else reading.read_official_object
            return self._theirs(name, file, messages, read, pair=pair)
        return self._own(
            name, kind, self._read_verdict, pair=pair, form="question", first=quoted(first), second=quoted(second)
        )

    def citation(
        self, name: str, *, sentence: str, cited: Sequence[tuple[int, str]], form: str, section: str
    ) -> Question:
        """Asks about a sentence and what it cites, given by number and text; the value is a `judge_reading.Cited`."""
        numbers = [number for number, _ in cited]
        tokens = _REPLY_TOKENS + _NUMBER_TOKENS * len(numbers)
        if self._official:
            file = self._file("citation", form=form, section=section)
            messages = official.official_citation_messages(file, form=form, sentence=sentence, cited=cited)
            theirs = reading.read_official_cited_lines if self._in_lines else reading.read_official_cited
            return self._theirs(name, file, messages, partial(theirs, numbers=numbers), tokens=tokens)
        ours = (
            reading.read_cited_lines
            if self._in_lines
            else partial(reading.read_cited_object, explained=self._explained)
        )
        kind = "summary" if form == "question" else "citation"
        shown = _quoted_lines((str(number), _turn(text, form)) for number, text in cited)
        read = partial(ours, numbers=numbers)
        return self._own(name, kind, read, tokens=tokens, form=form, cited=shown, sentence=quoted(sentence))

    @property
    def _read_verdict(self) -> _Read:
        if self._in_lines:
            return reading.read_verdict_lines
        return partial(reading.read_verdict_object, explained=self._explained)

    def _file(self, kind: official.Kind, *, form: str, section: str = "") -> str:
        return self._prompts.texts[official.official_file(kind, self._style, form=form, section=section)]

    def _theirs(self, name: str, file: str, messages: tuple[Message, ...], read: _Read, **more: Any) -> Question:
        return _question(
            name, messages, file, _AGAIN["official_lines" if self._in_lines else "official_json"], read, **more
        )

    def _own(
        self,
        name: str,
        kind: str,
        read: _Read,
        *,
        form: str,
        pair: Pair | None = None,
        tokens: int = _REPLY_TOKENS,
        **values: str,
    ) -> Question:
        text = self._prompts.texts[_key(kind, self._style)]
        what, source = FORMS[form]
        known = {"what": what, "source": source, **values}
        # All slots at once: what stands in a text is never a slot, and braces of the forms are none.
        messages: tuple[Message, ...] = ({"role": "user", "content": _SLOT.sub(lambda slot: known[slot[1]], text)},)
        again = _AGAIN["lines" if self._in_lines and kind != "make" else "json"]
        return _question(name, messages, text, again, read, tokens=tokens, pair=pair)


def _quoted_lines(texts: Iterable[tuple[str, str]]) -> str:
    return "\n".join(f"{name}: {quoted(text)}" for name, text in texts)


def _turn(text: str, form: str) -> str:
    """A turn of a dialogue with its speaker in words: in brackets it would be escaped, which is no good reading."""
    return _SPEAKER.sub(r"\1: ", text) if form in ("note", "section") else text


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
        template=hashlib.sha256(f"{text}\0{again}".encode()).hexdigest(),
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
    for kind, parts in _PARTS["kinds"].items():
        for style in STYLES:
            if kind != "claims" or as_json(style):
                form = _reply_form(kind, style, parts["meaning"])
                texts[_key(kind, style)] = "\n\n".join(
                    (_joined(*parts["begin"], "quoted"), form, _joined(*parts["end"]))
                )
    return texts


def _joined(*names: str) -> str:
    return "\n\n".join(_PARTS[name] for name in names)


def _reply_form(kind: str, style: str, meaning: str) -> str:
    explained, cites = style.endswith("cot"), kind in ("citation", "summary")
    if not as_json(style):
        lines = ["explanation: <one or two sentences, on one line>"] if explained else []
        lines += ["provenance: <numbers, with commas between them, or none>"] if cites else []
        head = f"Reply with these lines and nothing else, {meaning} (yes):"
        return "\n".join((head, *lines, "entailed: <yes or no>"))
    explanation = '"explanation": "<one or two sentences>", ' if explained else ""
    if kind == "claims":
        return (
            "Reply with one JSON object and nothing else, with exactly one entry for each claim, under the claim's id, of this "
            f'form:\n{{"verdicts": [{{"id": "c1", {explanation}"entailed": true or false}}, ...]}}'
        )
    provenance = '"provenance": [<number>, ...], ' if cites else ""
    return (
        f"Reply with one JSON object and nothing else, {meaning}, of this form:\n"
        f'{{{explanation}{provenance}"entailed": true or false}}'
    )
