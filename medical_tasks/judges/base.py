"""What a benchmark asks of a judge, and what every kind of judge offers.

A `Question` gets a `Verdict` or `Unscored` with its reason; there is no third outcome,
and neither of them is a score.
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
"""What an entailment model can say; `not_entailment` is all a two-way model knows of the rest."""

ENTAILS: Mapping[Label, bool] = {label: label == "entailment" for label in LABELS}
"""What a label says where only entailment is asked about."""


@dataclass(frozen=True, kw_only=True)
class Pair:
    """The same question for a model of entailment, which reads no prompt."""

    premise: str
    hypothesis: str
    # label to the verdict's value (JSON): by default whether the premise entails the
    # hypothesis. A label that is not there means that such a judge cannot tell
    values: Mapping[Label, Any] = field(default_factory=lambda: ENTAILS)


@dataclass(frozen=True)
class Unreadable:
    """A reply that is no verdict, or not a whole one.

    Attributes:
        known: of a verdict in several parts what can be read all the same, in the form
            of the question's value; it counts where asking again brings no whole
            verdict. None where nothing can.

    Example: a sentence is entailed, and which citations it needs is not told:
    `known=(True, None)`.
    """

    problem: str  # what is wrong with its form, for the re-ask and the coverage; never quotes the reply
    known: Any = None


@dataclass(frozen=True, kw_only=True)
class Question:
    """One thing to decide."""

    id: str  # name within its item and task (`<item id>/must/0`); unique in one `ask`
    messages: tuple[Message, ...]  # the chat that asks it, for judges that read prompts
    template: str  # SHA-256 of the prompt texts it is made from; part of the key
    # makes a value (JSON; hashable where several are counted) of a reply's text, or
    # says why it cannot. Pure, and never raises
    read: Callable[[str], Any | Unreadable] = field(compare=False)
    again: str  # what is said when a reply cannot be read, with `{problem}` in it
    max_tokens: int = 512
    # the question for judges of entailment; None when it cannot be put so
    pair: Pair | None = None
    # only the first reply counts, as where authors' scripts are followed: one vote, and
    # nothing is asked again
    once: bool = False
    # JSON Schema of the reply that is asked for, None where it is no JSON; for judges
    # opened with `structured=true`
    schema: Mapping[str, Any] | None = field(default=None, compare=False)


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What a judge decided."""

    id: str
    value: Any
    # the value of each vote that was read, in order; one when a single vote was asked
    # for
    votes: tuple[object, ...]
    text: str = ""  # the first reply with that value; "" from judges that say nothing but a label
    # hash of what was asked (messages or pair); results of credentialed tasks hold it
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
    """The value of a verdict that is true or false; it may come from a file."""
    if not isinstance(outcome.value, bool):
        raise UsageError(
            f"the verdict {outcome.value!r} of the question {outcome.id} is neither true nor "
            "false. Correct the recorded verdicts."
        )
    return outcome.value


class Judge(Protocol):
    """What benchmarks see."""

    name: str
    # False when numbers made with it cannot be set beside anybody else's
    comparable: bool
    # `prompt`, or `pair` for a judge of entailment, which decides nothing but
    # `Question.pair`
    reads: Literal["prompt", "pair"]

    def ask(self, questions: Sequence[Question]) -> list[Verdict | Unscored]:
        """Decides all questions, in order.

        May be called several times, when what is asked depends on what was said.
        """


@dataclass(frozen=True, kw_only=True)
class JudgePrompts:
    """The texts a benchmark asks its judge with."""

    name: str
    sha256: str
    texts: Mapping[str, str]

    def turned(self, verdicts: Sequence[str]) -> JudgePrompts:
        """The same with the verdicts to choose from in reverse order."""
        return replace(
            self,
            texts={kind: turned(text, verdicts) for kind, text in self.texts.items()},
        )


def turned(text: str, verdicts: Sequence[str]) -> str:
    """A prompt in which the verdicts to choose from come in reverse.

    In lines that define them, and in lists (`A or B`).
    """
    lines, one = text.split("\n"), "|".join(map(re.escape, verdicts))
    defined = [
        place for place, line in enumerate(lines) if re.match(f"(?:{one}):", line)
    ]
    for place, line in zip(
        defined, [lines[place] for place in reversed(defined)], strict=True
    ):
        lines[place] = line

    listed = re.compile(f"(?:{one})(?: or (?:{one}))+")
    return listed.sub(
        lambda found: " or ".join(reversed(found[0].split(" or "))), "\n".join(lines)
    )


@dataclass(frozen=True, kw_only=True)
class Judging:
    """How a task's answers are judged; what a benchmark's `score_items` is given."""

    judge: Judge
    prompts: JudgePrompts
    # `single` (one call a statement) or `batched` (all statements of an answer in one
    # call)
    mode: Literal["single", "batched"] = "single"


@dataclass(frozen=True, kw_only=True)
class Call:
    """One reply wanted from a backend."""

    key: str  # content address of judge, prompt, vote and settings; unique in one `answer`
    question: Question
    # the question's chat, with what followed when it is asked again
    messages: tuple[Message, ...]
    vote: int  # number of the vote, from 0; a backend that samples derives its seed from it


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What came back: a text, or a label.

    Attributes:
        finish: why it ended, in the server's words; "" when it does not say.
            `case.was_cut` decides by it.
        attempts: requests sent for it; 0 when nothing was sent anywhere.

    What else it states of itself is what `models.base.Answer` states.
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
    """A call that finally got no reply; it is not kept, so that the next run asks again."""

    key: str
    reason: str  # short class of the failure (`http 500`, `timeout`, `budget spent`, `prompt too long`, ...)
    attempts: int = 0


OnReply = Callable[[Reply | NoReply], None]


class Backend(Protocol):
    """A kind of judge.

    By default one in this process that is asked with prompts, says the same each time,
    and holds nothing.
    """

    name: str
    # everything that makes its replies what they are; part of every key and of the
    # recipe. Never a secret
    identity: Mapping[str, str]
    # base URL the text is sent to, None when it runs in this process
    endpoint: str | None = None
    comparable: bool = True
    samples: bool = False  # whether another vote can bring another reply; votes above one are refused where it is False
    # `prompt` when it is asked with `Call.messages`, `pair` when with `Question.pair`
    reads: Literal["prompt", "pair"] = "prompt"

    def answer(
        self, calls: Sequence[Call], budget: RunBudget, on_reply: OnReply
    ) -> None:
        """Calls `on_reply` exactly once for each call, in the calling thread, as soon as its outcome is known.

        MissingError or UsageError when no call can be answered (key refused, unknown
        model); what was answered is delivered.
        """
        ...

    def close(self) -> None:
        """Frees what it holds."""
        return


@runtime_checkable
class AsksInBatches(Protocol):
    """What a backend offers besides, where a provider answers batches."""

    def ask_in_batches(self, journal: Path) -> None:
        """Has `answer` ask in batches from now on, noted in a journal (`models.batches`)."""


def ask_in_batches(backend: Backend, journal: Path) -> None:
    """Has a judge asked in batches, or refuses where it has none."""
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
        opener: opens a judge of its full name, the arguments that were given, and a
            folder for logs. Nothing is sent yet, but what can be checked is.
        alone: whether the kind's name is all of a judge's name, as that of `lexical`
            is.
        samples: whether several votes differ; they are asked for with temperature 1 by
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
    # how often every question is decided anew, each time with votes of its own
    evaluations: int = 1
    # how often an unreadable reply is asked for again, in the same conversation
    reasks: int = 2
    max_calls: int | None = None  # most requests sent in this run, None for no limit
    # most tokens, prompt and reply together, None for no limit
    max_tokens: int | None = None
    # longest reply instead of the questions' own, None for theirs; for judges that
    # reason before they speak
    reply_tokens: int | None = None
    batch: bool = False  # asked in batches, at a provider
    forecast: bool = False
    replayed: bool = False  # replies in the store are this run's own, made by its parts: they count as asked in it
    upstream: Path | None = None
