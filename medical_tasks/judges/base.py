"""The questions a benchmark puts to a judge, and the interface of every kind of judge.

Each `Question` gets a `Verdict`, or `Unscored` with a reason. There is no third
outcome, and neither of them is a score.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

from medical_tasks.errors import UsageError
from medical_tasks.spec import Message

if TYPE_CHECKING:
    from medical_tasks.models.budget import RunBudget

Label = Literal["entailment", "neutral", "contradiction", "not_entailment"]
LABELS: tuple[Label, ...] = ("entailment", "neutral", "contradiction", "not_entailment")
"""The labels of entailment models; two-way models use `not_entailment` for all but the first."""

ENTAILS: Mapping[Label, bool] = {label: label == "entailment" for label in LABELS}
"""Whether each label means entailment: the values of a question that asks nothing else."""


@dataclass(frozen=True, kw_only=True)
class Pair:
    """The same question for an entailment model, which reads no prompt."""

    premise: str
    hypothesis: str
    # maps a label to the verdict's value (JSON): by default, whether the premise entails
    # the hypothesis. With a label that is missing here, the judge cannot decide
    values: Mapping[Label, Any] = field(default_factory=lambda: ENTAILS)


@dataclass(frozen=True)
class Unreadable:
    """A reply without a verdict, or with an incomplete one.

    Attributes:
        partial: the readable parts of a verdict with several, in the form of the
            question's value; used if no re-ask brings a complete verdict. None if no
            part is readable.

    Example: a sentence is entailed, but the reply does not say which citations it
    needs: `partial=(True, None)`.
    """

    problem: str  # what is wrong with its form, for the re-ask and the coverage; never quotes the reply
    partial: Any = None


@dataclass(frozen=True, kw_only=True)
class Question:
    """One thing to decide."""

    id: str  # name within its item and task (`<item id>/must/0`); unique in one `ask`
    messages: tuple[Message, ...]  # the chat that asks it, for judges that read prompts
    template: str  # SHA-256 of the prompt texts it is built from; part of the key
    # turns a reply's text into a value (JSON; hashable where several are counted), or
    # says why it cannot. Pure, and never raises
    read: Callable[[str], Any | Unreadable] = field(compare=False)
    again: str  # the follow-up to an unreadable reply, with a slot `{problem}`
    max_tokens: int = 512
    # the question for entailment models; None when it has no such form
    pair: Pair | None = None
    # only the first reply counts, as in authors' scripts: one vote and no re-asks
    once: bool = False
    # JSON Schema of the expected reply, None if it is not JSON; for judges opened with
    # `structured=true`
    schema: Mapping[str, Any] | None = field(default=None, compare=False)


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What a judge decided."""

    id: str
    value: Any
    votes: tuple[object, ...]  # the value of each readable vote, in order
    text: str = (
        ""  # the first reply with that value; "" from judges that return only a label
    )
    # hash of the question (messages or pair); results of credentialed tasks hold it
    # instead of texts
    sha256: str = ""
    reasked: int = field(default=0, compare=False)


@dataclass(frozen=True, kw_only=True)
class Unscored:
    """A question without a decision."""

    id: str
    reason: str  # short class, counted in coverage (`judge: http 500`, `judge: unreadable reply`, ...); never a text
    sha256: str = ""
    # what was wrong with the last reply that could not be read
    problem: str = field(default="", compare=False)


def verdict_bool(outcome: Verdict) -> bool:
    """Returns the value of a true-or-false verdict, checked because it may come from a file.

    The error does not quote the value, which may be text of a note.
    """
    if not isinstance(outcome.value, bool):
        raise UsageError(
            f"the verdict of the question {outcome.id} is neither true nor false. Correct "
            "the recorded verdicts."
        )
    return outcome.value


class Judge(Protocol):
    """A judge as benchmarks use it."""

    name: str
    # False when scores by this judge are not comparable with anybody else's
    comparable: bool
    # `prompt`, or `pair` for an entailment model, which sees only `Question.pair`
    reads: Literal["prompt", "pair"]

    def ask(self, questions: Sequence[Question]) -> list[Verdict | Unscored]:
        """Decides all questions, in order.

        May be called several times, when questions depend on earlier verdicts.
        """


@dataclass(frozen=True, kw_only=True)
class JudgePrompts:
    """The prompt texts of a benchmark's judge."""

    name: str
    sha256: str
    texts: Mapping[str, str]

    def turned(self, verdicts: Sequence[str]) -> JudgePrompts:
        """Returns the same prompts with the possible verdicts in reverse order."""
        return replace(
            self,
            texts={kind: turned(text, verdicts) for kind, text in self.texts.items()},
        )


def turned(text: str, verdicts: Sequence[str]) -> str:
    """Reverses the possible verdicts in a prompt: lines that define them, and lists (`A or B`)."""
    lines = text.split("\n")
    verdict = "|".join(map(re.escape, verdicts))
    numbers = [
        number for number, line in enumerate(lines) if re.match(f"(?:{verdict}):", line)
    ]
    definitions = [lines[number] for number in numbers]
    for number, definition in zip(numbers, reversed(definitions), strict=True):
        lines[number] = definition

    alternatives = re.compile(f"(?:{verdict})(?: or (?:{verdict}))+")
    return alternatives.sub(
        lambda match: " or ".join(reversed(match[0].split(" or "))), "\n".join(lines)
    )


@dataclass(frozen=True, kw_only=True)
class Judging:
    """How a task's answers are judged; passed to a benchmark's `score_items`."""

    judge: Judge
    prompts: JudgePrompts
    # `single` (one call per statement) or `batched` (all statements of an answer in one
    # call)
    mode: Literal["single", "batched"] = "single"


@dataclass(frozen=True, kw_only=True)
class Call:
    """A request for one reply from a backend."""

    key: str  # content address of judge, prompt, vote and settings; unique in one `answer`
    question: Question
    # the question's chat, followed by earlier replies and re-asks
    messages: tuple[Message, ...]
    vote: int  # number of the vote, from 0; a backend that samples derives its seed from it


@dataclass(frozen=True, kw_only=True)
class Reply:
    """A backend's reply: a text, or a label.

    Attributes:
        finish: the server's finish reason; "" if it gives none. `case.was_cut` uses it.
        attempts: requests sent for it; 0 when nothing was sent anywhere.

    The other fields are those of `models.base.Answer`.
    """

    key: str
    text: str = ""
    label: Label | None = None
    finish: str = ""
    prompt_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    cached_tokens: int | None = None
    provider: str = ""
    served_model: str = ""
    adapted: Mapping[str, str] = field(default_factory=dict)
    attempts: int = 1


@dataclass(frozen=True, kw_only=True)
class NoReply:
    """A call that failed for good; it is not stored, so that the next run asks again."""

    key: str
    reason: str  # short class of the failure (`http 500`, `timeout`, `budget spent`, `prompt too long`, ...)
    attempts: int = 0


OnReply = Callable[[Reply | NoReply], None]


class Backend(Protocol):
    """A kind of judge.

    By default it runs in this process, reads prompts, gives the same reply each time,
    and holds no resources.
    """

    name: str
    # everything that determines its replies; part of every key and of the recipe. Never
    # a secret
    identity: Mapping[str, str]
    # base URL the text is sent to, None when it runs in this process
    endpoint: str | None = None
    comparable: bool = True
    samples: bool = (
        False  # whether votes can differ; more than one vote is refused if not
    )
    # `prompt` if it reads `Call.messages`, `pair` if it reads `Question.pair`
    reads: Literal["prompt", "pair"] = "prompt"

    def answer(
        self, calls: Sequence[Call], budget: RunBudget, on_reply: OnReply
    ) -> None:
        """Calls `on_reply` exactly once for each call, in the calling thread, as soon as its outcome is known.

        Raises:
            MissingError: No call can be answered (key refused, unknown model). Replies
                that arrived before are delivered.
            UsageError: The same, where the user's arguments are the cause.
        """
        ...

    def close(self) -> None:
        """Frees what it holds."""
        return


@runtime_checkable
class AsksInBatches(Protocol):
    """A backend whose provider also answers batches."""

    def ask_in_batches(self, journal: Path) -> None:
        """Makes `answer` send batches from now on, recorded in a journal (`models.batches`)."""


def ask_in_batches(backend: Backend, journal: Path) -> None:
    """Makes a judge send batches, or refuses a judge that cannot."""
    if not isinstance(backend, AsksInBatches):
        raise UsageError(
            f"--judge-batch: {backend.name} is asked one by one. Leave it out."
        )
    backend.ask_in_batches(journal)


@dataclass(frozen=True, kw_only=True)
class JudgeKind:
    """A kind of judge; packages register some (`medical_tasks.judges`).

    Attributes:
        name: what a judge's name begins with, up to the first slash.
        summary: one line that says how such a judge is named and what it is.
        opener: opens a judge, from its full name, its arguments and a folder for logs.
            It sends nothing yet, but checks what it can.
        alone: whether the kind's name is the whole name of a judge, as `lexical` is.
        samples: whether votes can differ; several are sampled with temperature 1 by
            default.
    """

    name: str
    summary: str
    opener: Callable[[str, Mapping[str, str], Path], Backend]
    alone: bool = False
    samples: bool = False


@dataclass(frozen=True, kw_only=True)
class JudgeOptions:
    """How a judge is asked, whatever its kind."""

    votes: int = 1
    # how often every question is decided again, each time with its own votes
    evaluations: int = 1
    # how often an unreadable reply is asked for again, in the same conversation
    reasks: int = 2
    max_calls: int | None = None  # limit of requests sent in this run, None for none
    # limit of tokens, prompts and replies together, None for none
    max_tokens: int | None = None
    # overrides the questions' own limit of reply tokens, None to keep it; for judges
    # that reason before they answer
    reply_tokens: int | None = None
    batch: bool = False  # send batches to the provider
    forecast: bool = False
    replayed: bool = False  # replies in the store come from parts of this run, and count as its requests
    upstream: Path | None = None
