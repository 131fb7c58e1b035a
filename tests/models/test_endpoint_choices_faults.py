from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.errors import UsageError
from medical_tasks.models.base import Answer, Failure, Request
from medical_tasks.spec import Message
from tests.fault_server import Fault
from tests.models.served_choices import (
    CHAT,
    CHOICES,
    LETTERS,
    ids_of,
    model_at,
    open_text,
    question,
    results_of,
    scores_of,
)
from tests.models.toy_server import Asked, ToyServer, together
from tests.models.toy_texts import TEXTS

pytestmark = pytest.mark.usefixtures("one_thread")


def test_lost_connections_and_errors_are_asked_again(toy_model: Path) -> None:
    faults = {
        1: Fault.refuse(),
        3: Fault.cut(),
        5: Fault.status_code(500),
        6: Fault.rate_limit("0"),
        8: Fault.not_json(),
    }
    with ToyServer(toy_model) as server:
        wanted = results_of(model_at(server), [question(0)])
    with ToyServer(toy_model, plan=lambda number, asked: faults.get(number)) as server:
        assert results_of(model_at(server), [question(0)]) == wanted
    assert len(server.asked) == 6 + len(faults)


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (Fault.status_code(500), "http 500"),
        (Fault.cut(), "connection"),
        (Fault.status_code(400, "maximum context length is 10 tokens"), "prompt too long"),
        (Fault.status_code(400, "odd"), "http 400"),
    ],
)
@pytest.mark.parametrize("continuations", [LETTERS, CHOICES])
def test_one_bad_question_is_a_failure_and_the_others_are_answered(
    toy_model: Path, fault: Fault, reason: str, continuations: tuple[str, ...]
) -> None:
    def plan(_: int, asked: Asked) -> Fault | None:
        return fault if asked[1]["messages"][0]["content"] == TEXTS[1] else None

    asked = [question(index, continuations) for index in range(4)]
    with ToyServer(toy_model, plan=plan) as server:
        found = results_of(model_at(server, max_retries=1), asked)
    failed = found.pop("q1")
    assert isinstance(failed, Failure)
    assert failed.reason == reason
    assert all(isinstance(result, Answer) for result in found.values())


def test_question_that_alone_is_left_and_is_rejected_stops_nothing(toy_model: Path) -> None:
    """A resumed run may have no other question: a chat of ours shows that the server is not at fault."""

    def plan(_: int, asked: Asked) -> Fault | None:
        return Fault.status_code(400, "odd") if asked[1]["messages"][0]["content"] == TEXTS[1] else None

    with ToyServer(toy_model, plan=plan) as server:
        for way, continuations in (("top", LETTERS), ("prompt", CHOICES)):
            (failed,) = results_of(model_at(server, way=way), [question(1, continuations)]).values()
            assert isinstance(failed, Failure)
            assert failed.reason == "http 400"
    assert not any(TEXTS[1] in str(body) for body in server.paths(CHAT)[1:2])


def no_logprobs(reply: dict[str, Any]) -> None:
    reply["choices"][0]["logprobs"] = None


def no_alternatives(reply: dict[str, Any]) -> None:
    reply["choices"][0]["logprobs"]["content"][0]["top_logprobs"] = []


def nan_alternative(reply: dict[str, Any]) -> None:
    reply["choices"][0]["logprobs"]["content"][0]["top_logprobs"][3]["logprob"] = math.nan


def no_prompt(reply: dict[str, Any]) -> None:
    reply.pop("prompt_logprobs")


def one_short(reply: dict[str, Any]) -> None:
    reply["prompt_logprobs"].pop()


def two_each(reply: dict[str, Any]) -> None:
    for entry in reply["prompt_logprobs"][1:]:
        entry["0"] = {"logprob": -1.0, "rank": 1, "decoded_token": "x"}


def nan_prompt(reply: dict[str, Any]) -> None:
    (entry,) = reply["prompt_logprobs"][-1].values()
    entry["logprob"] = math.nan


USELESS: Mapping[str, tuple[dict[str, Any], tuple[str, ...], str]] = {
    "ignores logprobs": ({"change": no_logprobs}, LETTERS, "answers without log-probabilities: .*Use hf/PATH or vllm/PATH"),
    "no alternatives": ({"change": no_alternatives}, LETTERS, r"answers without .*top_logprobs.*Use hf/PATH"),
    "nan for a token": ({"change": nan_alternative}, LETTERS, "no usable log-probabilities: .*got nan.*Use hf/PATH"),
    "allows fewer": ({"most": 5}, LETTERS, "does not name 20 alternatives .*takes 5: give --model-args top_logprobs=5"),
    "allows none": ({"most": 0}, LETTERS, "rejects requests for log-probabilities: .*Use hf/PATH"),
    "rejects prompts": ({"scores_prompts": False}, CHOICES, r"continue_final_message\): vLLM alone takes them.*vllm-s"),
    "ignores prompts": ({"scores_prompts": "ignores"}, CHOICES, r"answers without .*\(prompt_logprobs\).*vllm-server/PATH"),
    "fewer tokens": ({"change": one_short}, CHOICES, "no usable log-probabilities: .*of a prompt that has"),
    "two for a token": ({"change": two_each}, CHOICES, "one token is expected at each place of the prompt, got 2"),
    "nan in a prompt": ({"change": nan_prompt}, CHOICES, "a number up to 0, got nan"),
    "end token kept": ({"continues": False}, CHOICES, "do not read as the answer that was given"),
}  # fmt: skip


@pytest.mark.parametrize(("server_like", "continuations", "message"), USELESS.values(), ids=USELESS.keys())
def test_server_that_cannot_tell_stops_the_run_and_says_what_to_use(
    toy_model: Path, server_like: dict[str, Any], continuations: tuple[str, ...], message: str
) -> None:
    asked = [question(index, continuations) for index in range(30)]
    found: list[Answer | Failure] = []
    with (
        ToyServer(toy_model, **server_like) as server,
        pytest.raises(UsageError, match=f"(?s){server.base_url}.*{message}"),
    ):
        model_at(server).loglikelihood(asked, found.append)
    assert not any(isinstance(result, Answer) for result in found)
    assert len(server.asked) <= 4 * 6 + 6  # four workers' first question, and a chat of ours
    assert len({str(body["messages"]) for body in server.paths(CHAT)}) <= 4 * 6 + 6


def test_fewer_alternatives_are_taken_when_named(toy_model: Path) -> None:
    with ToyServer(toy_model, most=5) as server:
        scores = scores_of(model_at(server, alternatives=5), [question(0, LETTERS)])
    assert server.paths(CHAT)[0]["top_logprobs"] == 5
    assert scores["q0"].below is not None


def test_address_that_is_not_there_is_told_as_always(toy_model: Path) -> None:
    plan: Callable[[int, Asked], Fault | None] = lambda number, asked: Fault.status_code(404, "no model")  # noqa: E731
    with ToyServer(toy_model, plan=plan) as server, pytest.raises(UsageError, match="does not know this model"):
        results_of(model_at(server), [question(index) for index in range(9)])
    assert len(server.asked) <= 4


def test_odd_reply_to_one_question_is_its_own_failure(toy_model: Path) -> None:
    def change(reply: dict[str, Any]) -> None:
        if reply["usage"]["prompt_tokens"] == longest:
            reply["choices"][0]["logprobs"] = None

    asked = [question(index, LETTERS) for index in range(3)]
    asked.append(Request(key="odd", messages=(Message(role="user", content=" ".join(TEXTS[:3])),), max_new_tokens=0,
                         continuations=LETTERS))  # fmt: skip
    longest = len(ids_of(toy_model, open_text(asked[-1])))
    for some in (asked, asked[-1:]):
        with ToyServer(toy_model, change=change) as server:
            found = results_of(model_at(server), some)
        failed = found.pop("odd")
        assert isinstance(failed, Failure)
        assert (failed.reason, failed.detail) == (
            "no log-probabilities", "the reply names no tokens and no log-probabilities",
        )  # fmt: skip
        assert all(isinstance(result, Answer) for result in found.values())


def templated(folder: Path, opening: str, answered: str) -> Path:
    """Gives a copy of the toy another way to open an answer, and to write one that was given."""
    text = (folder / "chat_template.jinja").read_text()
    assistant = "{% if message.role == 'assistant' %}" + answered + "{{ eos_token }}{% else %}"
    body = "<|{{ message.role }}|>{{ message.content }}{{ eos_token }}"
    assert body in text
    assert "<|assistant|>{% endif %}" in text
    text = text.replace(body, f"{assistant}{body}{{% endif %}}").replace(
        "<|assistant|>{% endif %}", f"{opening}{{% endif %}}"
    )
    (folder / "chat_template.jinja").write_text(text)
    return folder


def test_answer_that_joins_with_the_prompt_is_a_failure_not_a_number(toy_copy: Path) -> None:
    folder = templated(toy_copy, "<|assistant|>The pat", "<|assistant|>The pat{{ message.content }}")
    asked = [question(0, ("ient has a fever", "Yes")), question(1, ("(no)", "!"))]
    with ToyServer(folder) as server:
        found = results_of(model_at(server, concurrency=1), asked)
    joined = found["q0"]
    assert isinstance(joined, Failure)
    assert joined.reason == "answer not told from the prompt"
    assert "the tokenizer joins the end of the one with the beginning of the other" in joined.detail
    assert isinstance(found["q1"], Answer)  # nothing joins there


TEMPLATES = {
    "empty thoughts": ("<|assistant|>", "<|assistant|>Walks without a stick.{{ message.content }}", "do not read as"),
    "thoughts begun": ("<|assistant|>Walks", "<|assistant|>{{ message.content }}", "answered question otherwise"),
    "answers twice": ("<|assistant|>", "<|assistant|>{{ message.content }}{{ message.content }}", "changes answers"),
}


@pytest.mark.parametrize(("opening", "answered", "message"), TEMPLATES.values(), ids=TEMPLATES.keys())
def test_template_that_writes_answers_otherwise_stops_the_run(
    toy_copy: Path, opening: str, answered: str, message: str
) -> None:
    folder = templated(toy_copy, opening, answered)
    with ToyServer(folder) as server, pytest.raises(UsageError, match=f"no usable log-probabilities: .*{message}"):
        results_of(model_at(server), [question(0)])


def test_template_that_server_and_answer_do_not_agree_on(toy_copy: Path) -> None:
    """The library that renders chats refuses to go on with an answer that the template has changed."""
    folder = templated(toy_copy, "<|assistant|>", "<|assistant|>{{ message.content | replace('e', 'E') }}")
    with (
        ToyServer(folder) as server,
        pytest.raises(UsageError, match="a chat template that writes answers as they are"),
    ):
        results_of(model_at(server), [question(0)])


def test_template_that_trims_answers_is_no_hindrance(toy_copy: Path, toy_model: Path) -> None:
    folder = templated(toy_copy, "<|assistant|>", "<|assistant|>{{ message.content | trim }}")
    with ToyServer(folder) as server:
        found = scores_of(model_at(server), [question(0, (" The patient", "The patient "))])
    with ToyServer(toy_model) as server:
        plain = scores_of(model_at(server), [question(0, ("The patient",))])
    assert found["q0"].logprobs[0] == pytest.approx(plain["q0"].logprobs[0], abs=1e-4)
    assert found["q0"].tokens[0] == plain["q0"].tokens[0]


@pytest.mark.parametrize("blank", ["", "  "])
def test_empty_answer_is_a_failure(toy_model: Path, blank: str) -> None:
    with ToyServer(toy_model) as server:
        found = results_of(model_at(server), [question(0, ("The", blank)), question(1)])
    failed = found["q0"]
    assert isinstance(failed, Failure)
    assert failed.reason == "empty continuation"
    assert isinstance(found["q1"], Answer)


def test_no_requests_send_nothing(toy_model: Path) -> None:
    with ToyServer(toy_model) as server:
        assert results_of(model_at(server), []) == {}
    assert server.asked == []


def test_requests_are_asked_at_once(toy_model: Path) -> None:
    with ToyServer(toy_model, plan=together(1)) as server:
        scores_of(model_at(server, concurrency=3), [question(index, ("The",)) for index in range(12)])
    assert 1 < server.most_at_once <= 3
