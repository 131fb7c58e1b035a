"""Probabilities of given answers from models behind HTTP."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.benchmarks.ehrnoteqa.declarations import DATASET
from medical_tasks.errors import RefusedError, UsageError
from medical_tasks.guard import policy
from medical_tasks.models.base import Answer, Failure, Request
from medical_tasks.models.endpoint import EndpointModel, open_endpoint
from medical_tasks.models.endpoint_choices import ChoiceSettings
from tests.fault_server import Call, Fault
from tests.models import toy_server
from tests.models.choice_runs import LETTERS, choose, scores
from tests.models.local_runs import reference, results
from tests.models.toy_server import ToyServer, logprob_rows
from tests.models.toy_texts import TEXTS

pytestmark = pytest.mark.usefixtures("one_thread")

CHOICES = (
    "chest pain on exertion",
    "a creatinine of 1.4 mg/dL",
    "fever, cough or weight loss",
    "37.5 °C",
    "The",
)
CHAT = "/v1/chat/completions"


def question(index: int, continuations: tuple[str, ...] = CHOICES) -> Request:
    return choose(f"q{index}", TEXTS[index], continuations)


def model_at(
    server: ToyServer, *, concurrency: int = 4, **choices: Any
) -> EndpointModel:
    about = {"choices": ChoiceSettings(**choices)}
    return toy_server.model_at(server, concurrency=concurrency, about=about)


def ids_of(folder: Path, text: str) -> list[int]:
    _, tokenizer = reference(folder)
    ids: list[int] = tokenizer(text, add_special_tokens=False)["input_ids"]
    return ids


def open_text(request: Request) -> str:
    """The toy's chat template, written out."""
    return f"<s><|user|>{request.messages[0]['content']}</s><|assistant|>"


def test_texts_agree_with_a_direct_computation(toy_model: Path) -> None:
    requests = [question(index) for index in (0, 5, 11)]
    with ToyServer(toy_model) as server:
        by_key = scores(model_at(server), requests)
    for request in requests:
        context = ids_of(toy_model, open_text(request))
        result = by_key[request.key]
        assert result.below is None
        for position, text in enumerate(request.continuations):
            ids = ids_of(toy_model, text)
            rows = logprob_rows(toy_model, context + ids)
            expected = sum(
                float(rows[len(context) - 1 + step, token])
                for step, token in enumerate(ids)
            )
            assert result.logprobs[position] == pytest.approx(expected, abs=1e-4)
            assert result.tokens[position] == len(ids)
    assert len(server.calls) == 3 * 6


def test_body_of_the_requests_about_texts(toy_model: Path) -> None:
    request = question(0, ("chest pain", "The", "chest pain"))
    with ToyServer(toy_model) as server:
        result = scores(model_at(server), [request])["q0"]
    assert result.logprobs[0] == result.logprobs[2]
    chat = [dict(message) for message in request.messages]
    common = {"model": "toy", "max_tokens": 1, "temperature": 0.0, "prompt_logprobs": 0}
    answered = {
        **common,
        "add_generation_prompt": False,
        "continue_final_message": True,
    }
    expected = [
        {**answered, "messages": [*chat, {"role": "assistant", "content": x}]}
        for x in ("chest pain", "The")
    ]
    assert server.paths(CHAT) == [{**common, "messages": chat}, *expected]


def test_letters_agree_with_a_direct_computation(toy_model: Path) -> None:
    requests = [question(index, LETTERS) for index in (0, 5, 11)]
    _, tokenizer = reference(toy_model)
    spelled = [
        [
            token
            for token in range(len(tokenizer))
            if tokenizer.decode([token]).strip() == x
        ]
        for x in LETTERS
    ]
    assert all(spelled)
    with ToyServer(toy_model, most=len(tokenizer)) as server:
        whole = scores(model_at(server, alternatives=len(tokenizer)), requests)
        cut = scores(model_at(server), requests)
    for request in requests:
        after = logprob_rows(toy_model, ids_of(toy_model, open_text(request)))[-1]
        expected = [
            math.log(sum(math.exp(float(after[token])) for token in tokens))
            for tokens in spelled
        ]
        assert whole[request.key].logprobs == pytest.approx(expected, abs=1e-4)
        assert whole[request.key].tokens == (1,) * 5
        assert whole[request.key].below is None
        few, below = cut[request.key], float(after.topk(20).values[-1])
        assert None in few.logprobs  # letters are seldom among its 20 alternatives
        assert few.below == pytest.approx(below, abs=1e-4)
        for bound, exact in zip(few.logprobs, expected, strict=True):
            assert bound is None or bound <= exact + 1e-4
    assert len(server.calls) == 6
    assert {key: server.paths(CHAT)[-1][key] for key in ("max_tokens", "logprobs", "top_logprobs", "temperature")} == {
        "max_tokens": 1, "logprobs": True, "top_logprobs": 20, "temperature": 0.0,
    }  # fmt: skip


def test_the_continuations_decide_the_method_unless_it_is_given(
    toy_model: Path,
) -> None:
    with ToyServer(toy_model) as server:
        scores(model_at(server, way="prompt"), [question(0, LETTERS)])
        assert len(server.calls) == 6
        scores(model_at(server), [question(0, (" A", "B "))])
        assert len(server.calls) == 7
        scores(model_at(server, way="top"), [question(0, LETTERS)])
        assert len(server.calls) == 8
        with pytest.raises(
            UsageError,
            match="logprobs=top reports the answer's first token.*longer texts",
        ):
            results(model_at(server, way="top"), [question(0)])
        assert len(server.calls) == 8
    with ToyServer(toy_model, most=5) as server:
        by_key = scores(model_at(server, alternatives=5), [question(0, LETTERS)])
    assert server.paths(CHAT)[0]["top_logprobs"] == 5
    assert by_key["q0"].below is not None


def test_requests_have_no_sampling_settings_and_may_leave_out_temperature(
    toy_model: Path,
) -> None:
    options = {"temperature": "0.9", "top_p": "0.5", "seed": "3"}
    with ToyServer(toy_model) as server:
        base = {"base_url": server.base_url}
        results(
            open_endpoint("openai-api/x/toy", options=base | options),
            [question(0, LETTERS)],
        )
        results(
            open_endpoint("openai-api/x/toy", options=base | {"temperature": "none"}),
            [question(0, LETTERS)],
        )
    warm, none = server.paths(CHAT)
    assert warm["temperature"] == 0.0
    assert not {"top_p", "seed"} & set(warm)
    assert "temperature" not in none


# Identity, arguments, guard.


def test_settings_that_can_change_numbers_are_in_the_identity() -> None:
    base = {"base_url": "http://127.0.0.1:1/v1"}
    plain = open_endpoint("openai-api/x/m", options=base).identity
    same = base | {"logprobs": "auto", "top_logprobs": "20", "context": "4096"}
    assert open_endpoint("openai-api/x/m", options=same).identity == plain
    assert not {"logprobs", "top_logprobs"} & set(plain)
    other = base | {"logprobs": "prompt", "top_logprobs": "5"}
    assert open_endpoint("openai-api/x/m", options=other).identity == {
        **plain, "logprobs": "prompt", "top_logprobs": "5",
    }  # fmt: skip


@pytest.mark.parametrize("continuations", [LETTERS, CHOICES])
def test_the_data_guard_refuses_remote_servers(continuations: tuple[str, ...]) -> None:
    model = open_endpoint(
        "openai-api/x/m", options={"base_url": "http://10.1.2.3:9/v1"}
    )
    requests = [question(0, continuations)]
    for send in (lambda: results(model, requests), lambda: model.lengths(requests)):
        protected = policy.protect([policy.Subject.of(DATASET)])
        with protected, pytest.raises(RefusedError, match=r"10\.1\.2\.3"):
            send()


def test_a_rejected_question_that_is_the_only_one_left_does_not_stop_the_run(
    toy_model: Path,
) -> None:
    """A resumed run may have no other question: a chat of the suite shows that the server is not at fault."""

    def plan(call: Call) -> Fault | None:
        return (
            Fault.status_code(400, "odd")
            if call.body["messages"][0]["content"] == TEXTS[1]
            else None
        )

    with ToyServer(toy_model, plan=plan) as server:
        for way, continuations in (("top", LETTERS), ("prompt", CHOICES)):
            (failed,) = results(
                model_at(server, way=way), [question(1, continuations)]
            ).values()
            assert isinstance(failed, Failure)
            assert failed.reason == "http 400"
    rejected, probe, *_ = server.paths(CHAT)
    assert TEXTS[1] in str(rejected)
    assert TEXTS[1] not in str(probe)


def put(value: Any, *path: str | int) -> Callable[[dict[str, Any]], object]:
    """Makes a function that sets the value at a path of a reply."""

    def change(reply: Any) -> None:
        for name in path[:-1]:
            reply = reply[name]
        reply[path[-1]] = value

    return change


def nan_prompt(reply: dict[str, Any]) -> None:
    (entry,) = reply["prompt_logprobs"][-1].values()
    entry["logprob"] = math.nan


def two_each(reply: dict[str, Any]) -> None:
    for entry in reply["prompt_logprobs"][1:]:
        entry["0"] = {"logprob": -1.0, "rank": 1, "decoded_token": "x"}


FIRST = ("choices", 0, "logprobs", "content", 0, "top_logprobs")
SHORT = {"change": lambda reply: reply["prompt_logprobs"].pop()}
USELESS: Mapping[str, tuple[dict[str, Any], tuple[str, ...], str]] = {
    "ignores logprobs": ({"change": put(None, *FIRST[:3])}, LETTERS,
                        "answers without log-probabilities: .*Use hf/PATH or vllm/PATH"),
    "no alternatives": ({"change": put([], *FIRST)}, LETTERS, r"answers without .*top_logprobs.*Use hf/PATH"),
    "nan for a token": ({"change": put(math.nan, *FIRST, 3, "logprob")}, LETTERS,
                       "no usable log-probabilities: .*got nan.*Use hf/PATH"),
    "allows fewer": ({"most": 5}, LETTERS, "does not name 20 alternatives .*takes 5: give --model-args top_logprobs=5"),
    "allows none": ({"most": 0}, LETTERS, "rejects requests for log-probabilities: .*Use hf/PATH"),
    "rejects prompts": ({"scores_prompts": False}, CHOICES, r"continue_final_message\): only vLLM accepts them.*vllm-s"),
    "ignores prompts": ({"scores_prompts": "ignores"}, CHOICES, r"answers without .*\(prompt_logprobs\).*vllm-server/PATH"),
    "fewer tokens": (SHORT, CHOICES, "no usable log-probabilities: .*of a prompt that has"),
    "two for a token": ({"change": two_each}, CHOICES, "one token is expected at each place of the prompt, got 2"),
    "nan in a prompt": ({"change": nan_prompt}, CHOICES, "a number up to 0, got nan"),
    "end token kept": ({"continues": False}, CHOICES, "do not decode to the given answer"),
}  # fmt: skip


@pytest.mark.parametrize(
    ("server_like", "continuations", "message"), USELESS.values(), ids=USELESS.keys()
)
def test_a_server_without_usable_log_probabilities_stops_the_run(
    toy_model: Path,
    server_like: dict[str, Any],
    continuations: tuple[str, ...],
    message: str,
) -> None:
    requests = [question(index, continuations) for index in range(30)]
    outcomes: list[Answer | Failure] = []
    with (
        ToyServer(toy_model, **server_like) as server,
        pytest.raises(UsageError, match=f"(?s){server.base_url}.*{message}"),
    ):
        model_at(server).loglikelihood(requests, outcomes.append)
    assert not any(isinstance(result, Answer) for result in outcomes)
    # four workers' first question, and a chat of the suite
    assert len(server.calls) <= 4 * 6 + 6


def test_a_malformed_reply_to_one_question_is_its_own_failure(toy_model: Path) -> None:
    def change(reply: dict[str, Any]) -> None:
        if reply["usage"]["prompt_tokens"] == longest:
            reply["choices"][0]["logprobs"] = None

    requests = [question(index, LETTERS) for index in range(3)]
    requests.append(choose("odd", " ".join(TEXTS[:3]), LETTERS))
    longest = len(ids_of(toy_model, open_text(requests[-1])))
    for some in (requests, requests[-1:]):
        with ToyServer(toy_model, change=change) as server:
            outcomes = results(model_at(server), some)
        failed = outcomes.pop("odd")
        assert isinstance(failed, Failure)
        assert (failed.reason, failed.detail) == (
            "no log-probabilities", "the reply names no tokens and no log-probabilities",
        )  # fmt: skip
        assert all(isinstance(result, Answer) for result in outcomes.values())


def templated(folder: Path, opening: str, answered: str) -> Path:
    """Changes how the template of a copy of the toy opens an answer, and how it writes a given one."""
    text = (folder / "chat_template.jinja").read_text()
    assistant = (
        "{% if message.role == 'assistant' %}<|assistant|>"
        + answered
        + "{{ eos_token }}{% else %}"
    )
    body = "<|{{ message.role }}|>{{ message.content }}{{ eos_token }}"
    assert body in text
    assert "<|assistant|>{% endif %}" in text
    text = text.replace(body, f"{assistant}{body}{{% endif %}}").replace(
        "<|assistant|>{% endif %}", f"<|assistant|>{opening}{{% endif %}}"
    )
    (folder / "chat_template.jinja").write_text(text)
    return folder


def test_an_answer_that_joins_with_the_prompt_is_a_failure(
    toy_copy: Path,
) -> None:
    folder = templated(toy_copy, "The pat", "The pat{{ message.content }}")
    requests = [question(0, ("ient has a fever", "Yes")), question(1, ("(no)", "!"))]
    with ToyServer(folder) as server:
        outcomes = results(model_at(server, concurrency=1), requests)
    joined = outcomes["q0"]
    assert isinstance(joined, Failure)
    assert joined.reason == "answer not told from the prompt"
    assert (
        "the tokenizer joins the end of the prompt with the beginning of the answer"
        in joined.detail
    )
    assert isinstance(outcomes["q1"], Answer)  # nothing joins there


USELESS_FOR = "no usable log-probabilities: .*"
TEMPLATES = {
    "empty thoughts": (
        "",
        "Walks without a stick.{{ message.content }}",
        f"{USELESS_FOR}do not decode to",
    ),
    "thoughts begun": (
        "Walks",
        "{{ message.content }}",
        f"{USELESS_FOR}answered question differently",
    ),
    "answers twice": (
        "",
        "{{ message.content }}{{ message.content }}",
        f"{USELESS_FOR}changes answers",
    ),
    # The library that renders chats refuses to continue an answer that the template has
    # changed.
    "letters": (
        "",
        "{{ message.content | replace('e', 'E') }}",
        "a chat template that writes answers unchanged",
    ),
}


@pytest.mark.parametrize(
    ("opening", "answered", "message"), TEMPLATES.values(), ids=TEMPLATES.keys()
)
def test_a_template_that_changes_answers_stops_the_run(
    toy_copy: Path, opening: str, answered: str, message: str
) -> None:
    folder = templated(toy_copy, opening, answered)
    with ToyServer(folder) as server, pytest.raises(UsageError, match=message):
        results(model_at(server), [question(0)])


def test_a_template_may_trim_answers(toy_copy: Path, toy_model: Path) -> None:
    folder = templated(toy_copy, "", "{{ message.content | trim }}")
    with ToyServer(folder) as server:
        trimmed = scores(
            model_at(server), [question(0, (" The patient", "The patient "))]
        )
    with ToyServer(toy_model) as server:
        plain = scores(model_at(server), [question(0, ("The patient",))])
    assert trimmed["q0"].logprobs[0] == pytest.approx(plain["q0"].logprobs[0], abs=1e-4)
    assert trimmed["q0"].tokens[0] == plain["q0"].tokens[0]


def test_an_empty_continuation_is_a_failure(toy_model: Path) -> None:
    with ToyServer(toy_model) as server:
        outcomes = results(
            model_at(server),
            [question(0, ("The", "")), question(1), question(2, ("The", "  "))],
        )
    assert isinstance(outcomes.pop("q1"), Answer)
    assert [getattr(failed, "reason", "") for failed in outcomes.values()] == [
        "empty continuation"
    ] * 2
