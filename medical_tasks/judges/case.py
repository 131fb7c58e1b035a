"""One question on its way to a decision, the mode of its votes; a tie goes to the value that was voted for first.

A decision is certain when no missing vote could change it; so stopping early decides
exactly as asking on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from medical_tasks.io.store import content_key
from medical_tasks.judges.base import Pair, Question, Unreadable, Unscored, Verdict
from medical_tasks.spec import Message

UNREADABLE: Final = "judge: unreadable reply"
CUT: Final = "judge: cut reply"
NO_PAIR: Final = "judge: no question of entailment"

FORM_REASONS: Final = (UNREADABLE, CUT, NO_PAIR, "judge: prompt too long")
"""Reasons that a smaller question may cure."""

READING: Final = 2
"""Version of how replies are kept and read; part of every prompt's key. From 2 on a record says why its reply ended."""

_ENDS: Final = frozenset(
    {
        "stop",
        "eos",
        "eos_token",
        "stop_sequence",
        "end_turn",
        "complete",
        "completed",
        "finished",
    }
)
"""How servers say that a model ended its reply itself: OpenAI, vLLM, TGI, Together, Anthropic, Cohere. All else is a cut."""


def was_cut(finish: str, *, tokens: int | None, longest: int) -> bool:
    """Says whether a reply was cut by its length, a filter or an error.

    Without a finish reason its tokens decide.

    Example:
        >>> was_cut("stop", tokens=10, longest=10)
        False
        >>> was_cut("content_filter", tokens=3, longest=10)
        True
        >>> was_cut("", tokens=10, longest=10)
        True
    """
    said = finish.strip().casefold()
    if said in ("", "unknown"):
        return tokens is not None and tokens >= longest

    return said not in _ENDS


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """How every question is asked."""

    identity: Mapping[str, str]
    reads: Literal["prompt", "pair"]
    votes: int
    reasks: int  # most re-asks of a reply that is cut or unreadable, a vote
    first: int = 0  # number of a question's first vote


@dataclass(slots=True)
class Thread:
    """One vote."""

    vote: int
    messages: tuple[Message, ...]  # the chat so far, ending with what is to be answered
    key: str
    reasks: int = 0
    # the vote in a tuple, which tells a vote of None from none
    value: tuple[object] | None = None
    # why there is no vote, as a reason of `Unscored`; None while there is one or may be
    problem: str | None = None
    text: str = ""

    @property
    def waits(self) -> bool:
        """Whether a reply is wanted."""
        return self.value is None and self.problem is None


class Case:
    """A question, the votes on it so far, and in the end its outcome."""

    def __init__(self, question: Question, rules: Rules) -> None:
        """Opens the first votes, or ends where the judge needs a pair and has none."""
        self.question = question
        self.rules = rules
        self.votes = 1 if question.once else rules.votes
        self.threads: list[Thread] = []
        self.outcome: Verdict | Unscored | None = None
        self.reasked = 0
        self.problem = ""
        if rules.reads == "pair" and question.pair is None:
            self.sha256 = asked_sha256(question.messages)
            self.outcome = Unscored(id=question.id, reason=NO_PAIR, sha256=self.sha256)
            return

        self.sha256 = asked_sha256(
            question.pair
            if rules.reads == "pair" and question.pair
            else question.messages
        )
        self._proceed()

    @property
    def text(self) -> str:
        """What the judge said.

        The first reply for the verdict, else the last one of a vote that could not be
        read.
        """
        if isinstance(self.outcome, Verdict):
            return self.outcome.text
        return next((thread.text for thread in self.threads if thread.text), "")

    @property
    def waiting(self) -> list[Thread]:
        """The votes for which a reply is wanted."""
        return (
            []
            if self.outcome is not None
            else [thread for thread in self.threads if thread.waits]
        )

    def hear(self, thread: Thread, reply: Mapping[str, Any]) -> None:
        """Takes a reply as the store has it.

        `text` and `finish`, or the `label` of an entailment model.
        """
        question, label = self.question, reply["label"]
        thread.text = reply["text"]
        if label is not None:
            values: Mapping[Any, Any] = question.pair.values if question.pair else {}
            if label in values:
                thread.value = (values[label],)
            else:
                thread.problem = f"judge: cannot tell {label}"
        else:
            # Here alone, before any reader sees it: what a cut reply seems to say is
            # not what the judge was about to say.
            cut = was_cut(
                reply.get("finish", ""),
                tokens=reply.get("output_tokens"),
                longest=question.max_tokens,
            )
            read = (
                Unreadable("it was cut off before its end")
                if cut
                else question.read(thread.text)
            )
            self.problem = read.problem if isinstance(read, Unreadable) else ""
            if not isinstance(read, Unreadable):
                thread.value = (read,)
            elif thread.reasks < self.rules.reasks and not question.once:
                self._ask_again(thread, read.problem)
                return
            elif read.known is not None:
                thread.value = (read.known,)
            else:
                thread.problem = CUT if cut else UNREADABLE

        self._proceed()

    def fail(self, thread: Thread, reason: str) -> None:
        """Takes note that a reply cannot be had in this run."""
        thread.problem = f"judge: {reason}"
        self._proceed()

    def _ask_again(self, thread: Thread, problem: str) -> None:
        thread.messages = (
            *thread.messages,
            {"role": "assistant", "content": thread.text},
            # Not `format`: an example of JSON in the text has braces of its own.
            {
                "role": "user",
                "content": self.question.again.replace("{problem}", problem),
            },
        )
        thread.reasks += 1
        self.reasked += 1
        thread.key = self._key(asked_sha256(thread.messages), thread.vote)

    def _proceed(self) -> None:
        """Decides, or opens the votes that are needed next, once all that were asked for have ended."""
        if any(thread.waits for thread in self.threads):
            return

        decision = decide([thread.value for thread in self.threads], self.votes)
        if isinstance(decision, Decided):
            self.outcome = Verdict(
                id=self.question.id,
                value=decision.value[0],
                votes=tuple(
                    thread.value[0]
                    for thread in self.threads
                    if thread.value is not None
                ),
                text=self.threads[decision.vote].text,
                sha256=self.sha256,
                reasked=self.reasked,
            )
        elif decision:
            first = self.rules.first + len(self.threads)
            for vote in range(first, first + decision):
                self.threads.append(
                    Thread(vote, self.question.messages, self._key(self.sha256, vote))
                )
        else:
            problem = next(
                thread.problem for thread in self.threads if thread.problem is not None
            )
            self.outcome = Unscored(
                id=self.question.id,
                reason=problem,
                sha256=self.sha256,
                problem=self.problem,
            )

    def _key(self, asked: str, vote: int) -> str:
        # The wording of prompts and the length of replies are nothing to a judge that
        # reads pairs.
        prompted = self.rules.reads == "prompt"
        parts = {
            "judge": dict(self.rules.identity),
            "template": self.question.template if prompted else "",
            "asked": asked,
            "vote": vote,
            "max_tokens": self.question.max_tokens if prompted else 0,
        }
        return content_key(parts | {"reading": READING} if prompted else parts)


def asked_sha256(asked: tuple[Message, ...] | Pair) -> str:
    """Hashes what a judge is asked: a chat, or a pair without what its labels stand for."""
    if isinstance(asked, Pair):
        return content_key({"premise": asked.premise, "hypothesis": asked.hypothesis})
    return content_key({"messages": [dict(message) for message in asked]})


@dataclass(frozen=True, slots=True)
class Decided:
    """The mode of all votes, however the unknown ones would turn out."""

    value: Any
    vote: int


_NEW, _OTHER = object(), object()
"""Values that nobody has voted for yet."""


def decide(votes: Sequence[object | None], k: int) -> Decided | int:
    """Decides by the mode of `k` votes, of which some may be known; None stands for a vote that could not be had.

    Where nothing is certain yet: fewest further votes with which it could become so, 0
    when none could make it so.

    Example, by three votes:
        >>> decide([], 3)  # two alike could settle it
        2
        >>> decide(["yes", "yes"], 3)  # the third is not asked for
        Decided(value='yes', vote=0)
        >>> decide(["yes", "no"], 3)
        1
        >>> decide(["yes", None, "no"], 3)  # the lost vote could have been either
        0
        >>> decide(["a", "b", "c"], 3)  # a tie
        Decided(value='a', vote=0)
    """
    if (found := _certain(votes, k)) is not None:
        return Decided(found, votes.index(found))

    # More votes for one value, with none against it, are the shortest way; that value
    # may be one not yet seen.
    for more in range(1, k - len(votes) + 1):
        if any(
            _certain([*votes, *[value] * more], k) is not None
            for value in (*_named(votes), _NEW)
        ):
            return more

    return 0


def _certain(votes: Sequence[object | None], k: int) -> object | None:
    """The value that stays the mode even if all votes not read or not yet asked for name the same other value."""
    modes = []
    for other in (*_named(votes), _OTHER):
        full = [
            other if vote is None else vote
            for vote in (*votes, *[None] * (k - len(votes)))
        ]
        modes.append(max(full, key=full.count))  # of equals the one first voted for

    return (
        modes[0]
        if modes[0] is not _OTHER and all(mode == modes[0] for mode in modes)
        else None
    )


def _named(votes: Sequence[object | None]) -> list[object]:
    return [
        vote
        for place, vote in enumerate(votes)
        if vote is not None and vote not in votes[:place]
    ]
