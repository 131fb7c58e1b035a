"""Models that refuse common settings, and that reason before they answer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medical_tasks.cli.entry import main
from medical_tasks.errors import UsageError
from medical_tasks.models.base import Request
from medical_tasks.models.chat_reply import safe_name
from medical_tasks.models.endpoint import EndpointModel, open_endpoint
from medical_tasks.models.inspect_reply import Seen
from medical_tasks.models.refusals import LEFT_OUT, Adaptations, refused_names
from medical_tasks.runs.results import read_items, read_results
from tests.fault_server import hashed_answer
from tests.models.fake_providers import (
    REASONING,
    THOUGHT,
    FakeProvider,
    HFRouterServer,
    MistralServer,
    OpenAIServer,
    OpenRouterServer,
)
from tests.models.local_runs import answers
from tests.models.toy_texts import numbered

ADAPTED = {"max_tokens": "max_completion_tokens", "temperature": LEFT_OUT}


def opened(server: FakeProvider, model: str = "gpt-5", **more: str) -> EndpointModel:
    options = {"base_url": server.base_url, "api_key_env": "FAKE_KEY", **more}
    return open_endpoint(f"openai-api/fake/{model}", options=options)


def questions(count: int, *, stop: tuple[str, ...] = ()) -> list[Request]:
    return numbered(count, more=" word" * 40, size=1000, stop=stop)


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_KEY", "sk-fake-0123456789")


def test_the_suites_own_settings_are_adapted_and_noted_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with OpenAIServer() as server:
        model = opened(server, concurrency="4", reasoning_effort="low")
        first = answers(model, questions(12))
        calls = len(server.calls)
        again = answers(model, questions(3))
    texts = {
        request.key: hashed_answer(str(request.messages[0]["content"]))
        for request in questions(12)
    }
    assert {key: answer.text for key, answer in first.items()} == texts
    for answer in (*first.values(), *again.values()):
        assert answer.adapted == ADAPTED
        assert answer.reasoning_tokens == REASONING["low"]
        assert answer.output_tokens == REASONING["low"] + 2
        assert (answer.cached_tokens, answer.served_model) == (32, "gpt-5-2025-08-07")
    # Each of the four in flight may meet both refusals, and no later request does.
    assert calls <= 12 + 2 * 4
    assert server.bodies[-1] == {
        "model": "gpt-5",
        "messages": server.bodies[-1]["messages"],
        "max_completion_tokens": 1000,
        "reasoning_effort": "low",
    }
    notes = [
        line
        for line in capsys.readouterr().err.splitlines()
        if line.startswith("note:")
    ]
    assert notes == [
        f"note: {server.base_url} (model 'gpt-5') refuses max_tokens, which is sent as "
        "max_completion_tokens from now on",
        f"note: {server.base_url} (model 'gpt-5') refuses temperature, which is left out from now on",
    ]


def test_a_refused_stop_word_cuts_the_answer_all_the_same() -> None:
    with OpenAIServer(answer=lambda _: "the answer is END of it") as server:
        (answer,) = answers(opened(server), questions(1, stop=("END", "of"))).values()
    assert (answer.text, answer.finish) == ("the answer is ", "stop")
    assert answer.adapted == {**ADAPTED, "stop": LEFT_OUT}


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"temperature": "0.7"}, "temperature=0.7"),
        ({"top_p": "0.5"}, "top_p=0.5"),
        ({"reasoning_effort": "xhigh"}, "reasoning_effort=xhigh"),
        ({"max_tokens_field": "max_tokens"}, "max_tokens=1000"),
        ({"extra_body": '{"reasoning_effort": "none"}'}, "reasoning_effort=none"),
    ],
)
def test_a_refused_setting_of_the_user_ends_the_run_and_is_named(
    settings: dict[str, str], named: str
) -> None:
    with OpenAIServer() as server, pytest.raises(UsageError) as error:
        answers(opened(server, **settings), questions(40))
    message = str(error.value)
    assert f"refuses a setting: it refuses {named}: HTTP 400" in message
    assert "Leave it out of --model-args" in message
    assert len(server.calls) < 60


def test_a_model_without_reasoning_refuses_the_effort() -> None:
    with (
        OpenAIServer() as server,
        pytest.raises(UsageError, match="refuses reasoning_effort=high"),
    ):
        answers(opened(server, "gpt-4o", reasoning_effort="high"), questions(2))


def test_replies_of_routers_have_provider_and_reasoning() -> None:
    for kind, provider in ((OpenRouterServer, "Novita"), (HFRouterServer, "together")):
        with kind() as server:
            (answer,) = answers(opened(server, "org/model"), questions(1)).values()
        assert (answer.provider, answer.reasoning) == (provider, THOUGHT)
        assert THOUGHT not in answer.text
        assert answer.adapted == {}


def test_mistrals_reasoning_and_refused_fields_are_read() -> None:
    with MistralServer() as server:
        (answer,) = answers(opened(server, "magistral-medium"), questions(1)).values()
        with pytest.raises(UsageError, match="refuses seed=3"):
            answers(opened(server, "magistral-medium", seed="3"), questions(1))
    assert answer.reasoning == THOUGHT
    assert answer.text.startswith("answer ")


def test_settings_are_sent_unchanged() -> None:
    extra = {"provider": {"order": ["a", "b"]}, "verbosity": "low"}
    settings = {
        "top_k": "20",
        "min_p": "0.1",
        "presence_penalty": "-1",
        "max_completion_tokens": "77",
    }
    with OpenRouterServer() as server:
        model = opened(server, seed="5", extra_body=json.dumps(extra), **settings)
        answers(model, questions(1))
    body = {key: value for key, value in server.bodies[0].items() if key != "messages"}
    assert body == {
        "model": "gpt-5",
        "temperature": 0.0,
        "max_completion_tokens": 77,
        "top_k": 20,
        "min_p": 0.1,
        "presence_penalty": -1.0,
        "seed": 5,
        **extra,
    }
    assert json.loads(model.identity["extra_body"]) == extra
    with pytest.raises(
        UsageError, match="extra_body must be a JSON object of further fields"
    ):
        opened(server, extra_body='{"messages": []}')


def test_a_run_keeps_its_usage_and_adaptations(
    demo_home: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with OpenAIServer() as server:
        args = f"base_url={server.base_url},api_key_env=FAKE_KEY,reasoning_effort=high"
        args += ",price_in=1.25,price_out=10,price_cached=0.125"
        run = ["run", "--tasks", "medcalc", "--config", "demo", "--out", "run"]
        run += ["--model", "openai-api/fake/gpt-5", "--model-args", args]
        assert main([*run, "--max-new-tokens", "449"]) == 0
        shown = capsys.readouterr().out
        first = len(server.calls)
        before = read_results(here / "run")["tasks"]["medcalc"]
        assert main([*run, "--max-new-tokens", "449"]) == 0
        assert len(server.calls) == first
    after = read_results(here / "run")["tasks"]["medcalc"]
    assert after["recipe"] == before["recipe"]
    assert after["usage"] == before["usage"]
    assert after["recipe"]["generation"]["adapted"] == ADAPTED
    usage, items = after["usage"], after["n_items"]
    assert usage["reasoning_tokens"] == items * REASONING["high"]
    assert usage["output_tokens"] == items * 449
    assert usage["served_models"] == {"gpt-5-2025-08-07": items}
    cached = usage["cached_tokens"]
    cost = (
        (usage["prompt_tokens"] - cached) * 1.25
        + cached * 0.125
        + usage["output_tokens"] * 10
    )
    assert usage["cost_usd"] == pytest.approx(cost / 1e6)
    rows = read_items(here / "run")
    assert {row["reasoning_tokens"] for row in rows} == {REASONING["high"]}
    assert {row["served_model"] for row in rows} == {"gpt-5-2025-08-07"}
    assert sum(row["prompt_tokens"] for row in rows) == usage["prompt_tokens"]
    assert "of reasoning)" in shown
    assert (
        "the server refuses max_tokens (sent as max_completion_tokens), temperature (left out)."
        in shown
    )


def test_a_warning_counts_the_answers_emptied_by_reasoning(
    demo_home: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with OpenAIServer() as server:
        args = f"base_url={server.base_url},api_key_env=FAKE_KEY"
        run = [
            "run",
            "--tasks",
            "medcalc",
            "--config",
            "demo",
            "--out",
            "run",
            "--max-new-tokens",
        ]
        run += ["100", "--model", "openai-api/fake/gpt-5", "--model-args", args]
        assert main(run) == 0
    entry = read_results(here / "run")["tasks"]["medcalc"]
    assert entry["thought_only"] == entry["n_items"]
    warning = f"WARNING: {entry['n_items']} answers are EMPTY, since reasoning used up all tokens allowed."
    assert warning in capsys.readouterr().out


ANY = (
    st.none()
    | st.integers()
    | st.sampled_from(["max_tokens", "not supported: stop", "", []])
)
PARTS = st.fixed_dictionaries(
    {}, optional=dict.fromkeys(("error", "message", "param", "code", "detail"), ANY)
)
ERRORS = ANY | PARTS | st.builds(lambda inner: {"error": inner}, PARTS)


@given(ERRORS)
def test_any_error_is_read_and_adaptations_come_to_an_end(error: object) -> None:
    sent = {
        "model": "m",
        "messages": [],
        "max_tokens": 1,
        "temperature": 0.0,
        "stop": ["x"],
    }
    adaptations = Adaptations(own=frozenset(sent))
    names = [
        *refused_names(error),
        "max_tokens",
        "max_completion_tokens",
        "temperature",
        "stop",
    ]
    learnt = 0
    while adaptations.learn(adaptations.applied(sent), names):
        learnt += 1
        assert learnt <= 3
    assert {"model", "messages"} <= set(adaptations.applied(sent))


@pytest.mark.parametrize(
    ("named", "kept"),
    [
        ("Google AI Studio", "Google AI Studio"),
        ("org/model-2025-08-07", "org/model-2025-08-07"),
        ("Mrs Jones came with chest pain", ""),
        ("x" * 81, ""),
        ("a\nb", ""),
        (7, ""),
        (None, ""),
    ],
)
def test_a_name_from_a_server_is_kept_only_if_it_looks_like_a_name(
    named: object, kept: str
) -> None:
    assert safe_name(named) == kept
    assert Seen().provider == ""
    seen = Seen()
    seen.response = {"provider": named}
    assert seen.provider == kept
