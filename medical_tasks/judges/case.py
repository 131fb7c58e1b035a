"""Decides one question by the mode of its votes; in a tie the value voted for first wins.

A decision is certain when no missing vote could change it, so that stopping early gives
the same decision as asking for every vote.
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
"""Reasons that a question about fewer things may avoid."""

READING: Final = 2
"""Version of how replies are stored and read; part of every prompt's key. Since 2 a record holds the finish reason."""

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
"""Finish reasons for a reply that the model ended itself: OpenAI, vLLM, TGI, Together, Anthropic, Cohere. All others mean a cut."""


def was_cut(finish: str, *, tokens: int | None, longest: int) -> bool:
    """Whether a reply was cut off by a length limit, a filter or an error.

    Without a finish reason, the number of tokens decides.

    Example:
        >>> was_cut("stop", tokens=10, longest=10)
        False
        >>> was_cut("content_filter", tokens=3, longest=10)
        True
        >>> was_cut("", tokens=10, longest=10)
        True
    """
    reason = finish.strip().casefold()
    if reason in ("", "unknown"):
        return tokens is not None and tokens >= longest

    return reason not in _ENDS


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """How every question is asked.

    Attributes:
        identity: what determines the judge's verdicts, part of every key in the store.
        reads: `prompt` for a chat model, `pair` for an entailment model, which depends
            neither on prompts nor on the length of replies.
        votes: how many votes a question gets at most; one if it is asked `once`.
    """

    identity: Mapping[str, str]
    reads: Literal["prompt", "pair"]
    votes: int
    reasks: int  # limit of re-asks per vote, of cut or unreadable replies
    first: int = 0  # number of a question's first vote


@dataclass(slots=True)
class Thread:
    """One vote."""

    vote: int
    messages: tuple[Message, ...]  # the chat so far, ending with the user's turn
    key: str
    reasks: int = 0
    # the vote in a tuple, to tell a vote for None from no vote
    value: tuple[object] | None = None
    # why the vote failed, as a reason of `Unscored`; None if it did not, or not yet
    problem: str | None = None
    text: str = ""

    @property
    def waits(self) -> bool:
        """Whether a reply is still needed."""
        return self.value is None and self.problem is None


class Case:
    """A question, the votes on it so far, and finally its outcome.

    The caller sends `messages` of each vote in `waiting` and passes what comes back to `hear`
    or `fail`, until `outcome` is set. In between the list changes: a vote with an unreadable
    reply waits again with a longer chat, and further votes open only if the first ones did
    not decide.

    Example, with three votes: two are open at first. They say yes and no, so a third opens;
    it says yes, and the outcome is the verdict yes with the votes (yes, no, yes).
    """

    def __init__(self, question: Question, rules: Rules) -> None:
        """Opens the first votes; ends at once if the judge needs a pair and there is none."""
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
        """The first reply for the verdict; without one, the last reply of an unreadable vote."""
        if isinstance(self.outcome, Verdict):
            return self.outcome.text
        return next((thread.text for thread in self.threads if thread.text), "")

    @property
    def waiting(self) -> list[Thread]:
        """The votes that need a reply."""
        return (
            []
            if self.outcome is not None
            else [thread for thread in self.threads if thread.waits]
        )

    def hear(self, thread: Thread, reply: Mapping[str, Any]) -> None:
        """Takes a reply as stored: `text` and `finish`, or an entailment model's `label`."""
        question, label = self.question, reply["label"]
        thread.text = reply["text"]
        if label is not None:
            values: Mapping[Any, Any] = question.pair.values if question.pair else {}
            if label in values:
                thread.value = (values[label],)
            else:
                thread.problem = f"judge: cannot tell {label}"
        else:
            # Checked only here, before any reader sees the reply: what a cut reply
            # seems to say is not what the judge was about to say.
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
            elif read.partial is not None:
                thread.value = (read.partial,)
            else:
                thread.problem = CUT if cut else UNREADABLE

        self._proceed()

    def fail(self, thread: Thread, reason: str) -> None:
        """Records that a vote gets no reply in this run."""
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
        """Once no open vote waits for a reply: decides, or opens the votes needed next."""
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

    def _key(self, content_sha256: str, vote: int) -> str:
        """The key of a vote in the store.

        It is the same for the same judge, content and vote, so that a vote that is stored is
        not asked for again.
        """
        # A judge that reads pairs depends neither on the wording of prompts nor on the
        # length of replies.
        prompted = self.rules.reads == "prompt"
        parts = {
            "judge": dict(self.rules.identity),
            "template": self.question.template if prompted else "",
            "asked": content_sha256,
            "vote": vote,
            "max_tokens": self.question.max_tokens if prompted else 0,
        }
        return content_key(parts | {"reading": READING} if prompted else parts)


def asked_sha256(content: tuple[Message, ...] | Pair) -> str:
    """Hashes the content of a question: a chat, or a pair without the values of its labels."""
    if isinstance(content, Pair):
        return content_key(
            {"premise": content.premise, "hypothesis": content.hypothesis}
        )
    return content_key({"messages": [dict(message) for message in content]})


@dataclass(frozen=True, slots=True)
class Decided:
    """The mode of all votes, whatever the missing ones would be."""

    value: Any
    vote: int


_NEW, _OTHER = object(), object()
"""Values that nobody has voted for yet."""


def decide(votes: Sequence[object | None], k: int) -> Decided | int:
    """Decides by the mode of `k` votes, the first of which are known; None stands for a failed vote.

    While nothing is certain, returns the smallest number of further votes that could
    settle it; 0 if no number could.

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
    if (value := _certain(votes, k)) is not None:
        return Decided(value, votes.index(value))

    # Further votes that all name one value settle it soonest; that value may be new.
    for more in range(1, k - len(votes) + 1):
        if any(
            _certain([*votes, *[candidate] * more], k) is not None
            for candidate in (*_named(votes), _NEW)
        ):
            return more

    return 0


def _certain(votes: Sequence[object | None], k: int) -> object | None:
    """The value that stays the mode even if all failed and all open votes name the same other value.

    Example: with two yes of three no other value can have more votes; with one, two can
    still say no.

        >>> _certain(["yes", "yes"], 3)
        'yes'
        >>> _certain(["yes"], 3) is None
        True
    """
    modes = []
    for other in (*_named(votes), _OTHER):
        full = [
            other if vote is None else vote
            for vote in (*votes, *[None] * (k - len(votes)))
        ]
        modes.append(max(full, key=full.count))  # in a tie, the value voted for first

    return (
        modes[0]
        if modes[0] is not _OTHER and all(mode == modes[0] for mode in modes)
        else None
    )


def _named(votes: Sequence[object | None]) -> list[object]:
    """The different values of the votes, in order. Values need not be hashable."""
    return [
        vote
        for number, vote in enumerate(votes)
        if vote is not None and vote not in votes[:number]
    ]
