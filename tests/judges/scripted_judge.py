"""A judge whose every verdict is known: a verdict depends on the question (and the seed) alone.

The module is light to import, since many short-lived processes start with it.
"""

from __future__ import annotations

import json
import random
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

from medical_tasks.judges.base import Question, Unreadable, Unscored, Verdict
from medical_tasks.judges.chat import ChatJudge
from medical_tasks.models.chat_client import ChatSettings
from medical_tasks.models.endpoint import EndpointModel
from tests.fault_server import Call, Fault

CONCURRENCY = 16
VALUES = ("yes", "no", "unclear")


def read(text: str) -> Any | Unreadable:
    """Reads one JSON object with a verdict and nothing else."""
    try:
        value = json.loads(text)
    except ValueError:
        return Unreadable("not JSON")
    if (
        not isinstance(value, dict)
        or set(value) != {"verdict"}
        or value["verdict"] not in VALUES
    ):
        return Unreadable("no verdict")
    return value["verdict"]


def question(number: int) -> Question:
    text = f"Does statement {number} follow?"
    return Question(id=f"q{number}", messages=({"role": "user", "content": text},), template="t", read=read,
                    again="That was {problem}. Once more.", max_tokens=32)  # fmt: skip


def questions(numbers: Sequence[int] | range) -> list[Question]:
    return [question(number) for number in numbers]


def verdict_of(prompt: str, seed: object = None) -> str:
    """The judge's verdict on a question; a seed changes one vote in three."""
    digest = sha256(f"{prompt}".encode()).digest()[0]
    if seed is not None:
        digest += sha256(f"{prompt}{seed}".encode()).digest()[0] % 3 == 0
    return VALUES[digest % 3]


def truth(number: int) -> str:
    return verdict_of(str(question(number).messages[0]["content"]))


def number_of(call: Call) -> int:
    """Number of the question a request belongs to, re-asks included."""
    return int(call.body["messages"][0]["content"].split()[2])


def answer(call: Call) -> list[str]:
    """The judge's good replies, one a choice."""
    first, seed = call.body["messages"][0]["content"], call.body.get("seed")
    seeds = [
        None if seed is None else seed + choice
        for choice in range(int(call.body.get("n", 1)))
    ]
    return [json.dumps({"verdict": verdict_of(first, seed)}) for seed in seeds]


def judge_at(
    url: str,
    *,
    sampling: Mapping[str, Any] | None = None,
    n_choices: bool = False,
    **limits: Any,
) -> ChatJudge:
    chat = ChatSettings(
        base_url=url, model="scripted",
        **{"concurrency": CONCURRENCY, "max_retries": 6, "timeout": 10.0, **limits},
    )  # fmt: skip
    # The address changes from test to test, and is no part of the identity.
    endpoint = EndpointModel(
        "openai-api/h/scripted",
        chat,
        sampling=sampling or {"temperature": 0.0},
        identity={},
    )
    return ChatJudge(endpoint, n_choices=n_choices)


def values(outcomes: Sequence[Verdict | Unscored]) -> dict[str, str]:
    """Maps a question's id to its verdict, or to the reason for a missing one."""
    return {
        outcome.id: str(outcome.value)
        if isinstance(outcome, Verdict)
        else outcome.reason
        for outcome in outcomes
    }


def wrong(call: Call) -> str:
    """A verdict that differs from the judge's on this question."""
    right = verdict_of(call.body["messages"][0]["content"])
    return next(value for value in VALUES if value != right)


# Faults of a judge's server. A readable verdict in a place where none belongs is a
# wrong one, so that a test notices a reader that takes it from there.
FAULTS = {
    "429 with retry-after": lambda call: Fault.rate_limit("0.001"),
    "429": lambda call: Fault.rate_limit(),
    "500": lambda call: Fault.status_code(500, json.dumps({"verdict": wrong(call)})),
    "503": lambda call: Fault.status_code(503),
    "hang": lambda call: Fault.hang(),
    "drip": lambda call: Fault.drip(),
    "cut": lambda call: Fault.cut(),
    "closed": lambda call: Fault.refuse(),
    "not json": lambda call: Fault.not_json(),
    "bare verdict for a body": lambda call: Fault.json_body({"verdict": wrong(call)}),
    "empty choices": lambda call: Fault.no_choices(),
    "null content": lambda call: Fault.null_content(),
    "null content, verdict in the reasoning": lambda call: Fault.message(
        {"content": None, "reasoning_content": json.dumps({"verdict": wrong(call)})}
    ),
    "prose": lambda call: Fault.message(
        {"content": f"The verdict is {wrong(call)}, I suppose."}
    ),
    "two verdicts": lambda call: Fault.message(
        {"content": f'{{"verdict": "{wrong(call)}"}} or {{"verdict": "no"}}'}
    ),
    "empty text": lambda call: Fault.message({"content": ""}),
    "out of range": lambda call: Fault.message({"content": '{"verdict": "maybe"}'}),
    "cut at length": lambda call: Fault.message(
        {"content": json.dumps({"verdict": wrong(call)})}, "length"
    ),
    "cut by a filter": lambda call: Fault.message(
        {"content": json.dumps({"verdict": wrong(call)})}, "content_filter"
    ),
    "length spent on reasoning": lambda call: Fault.message(
        {"content": None}, "length", completion_tokens=32
    ),
}


class Chaos:
    """Spoils a share of all attempts; the fault depends on seed, conversation, vote and attempt alone."""

    def __init__(self, probability: float, *, seed: int) -> None:
        self._attempts: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._probability = probability
        self._seed = seed

    def __call__(self, call: Call) -> Fault | None:
        same = json.dumps([call.body["messages"], call.body.get("seed")])
        with self._lock:
            self._attempts[same] += 1  # the server's own count takes votes for attempts
            chance = random.Random(f"{self._seed}:{same}:{self._attempts[same]}")
            if chance.random() >= self._probability:
                return None
            kind = chance.choice(sorted(FAULTS))
        return FAULTS[kind](call)
