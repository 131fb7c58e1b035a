from __future__ import annotations

import gc
import importlib
import importlib.util
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from medical_tasks.cli import main
from medical_tasks.errors import MissingError, RefusedError, UsageError
from medical_tasks.guard import policy
from medical_tasks.guard.addresses import read_host
from medical_tasks.models.base import Answer, ChoiceScores, Failure, Request
from medical_tasks.models.budget import Ceiling, RunBudget
from medical_tasks.models.inspect_model import InspectModel, open_inspect
from medical_tasks.models.inspect_options import InspectSettings
from medical_tasks.models.opening import open_model
from tests.case_tables import json_of
from tests.fault_server import Fault, FaultServer, hashed_answer
from tests.models.fake_batches import FakeBatches
from tests.models.fake_providers import (
    CACHED,
    THOUGHT,
    AnthropicServer,
    FakeProvider,
    GoogleServer,
    HFRouterServer,
    MistralServer,
    OpenAIServer,
    OpenRouterServer,
)
from tests.models.local_runs import answers, results
from tests.models.toy_texts import NOTES, ask

WRONG = [
    (
        "openai",
        {},
        "a model of an inspect provider is named inspect/<provider>/<model>",
    ),
    ("nope/m", {}, "is no model for inspect: it has no provider 'nope'"),
    (
        "openai/m",
        {"reasonin_effort": "low"},
        "unknown model argument.*reasoning_effort.*responses_api",
    ),
    ("openai/m", {"reasoning_effort": "much"}, "must be one of none, minimal, low"),
    (
        "openai/m",
        {"concurrency": "4", "adaptive_connections": "true"},
        "Give one of them",
    ),
    ("openai/m", {"base_url": "https://me:secret@host/v1"}, "carries a user, password"),
    ("openai/m", {"model_args": "[1]"}, "model_args must be a JSON object"),
    (
        "openai/m",
        {"model_args": '{"no_such": 1}'},
        "is no model for inspect: .*no_such",
    ),
]
QUESTION = "What is the dose? " + "mg " * CACHED

# From inspect's own call of tenacity, in its 0.3.285, and from providers' libraries.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

Open = Callable[..., InspectModel]


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Iterator[Open]:
    """Opens models, with any key for each provider, and closes them at the end."""
    for name in ("OPENAI", "ANTHROPIC", "OPENROUTER", "GOOGLE", "MISTRAL"):
        monkeypatch.setenv(f"{name}_API_KEY", "k")
        monkeypatch.delenv(f"{name}_BASE_URL", raising=False)
    monkeypatch.setenv("HF_TOKEN", "k")
    models: list[InspectModel] = []

    def make(name: str, url: str = "", **options: str) -> InspectModel:
        where = {"base_url": url} if url else {}
        models.append(open_inspect(f"inspect/{name}", options={**where, **options}))
        return models[-1]

    yield make
    for model in models:
        model.close()


def questions(
    count: int = 2, *, stop: tuple[str, ...] = (), continuations: tuple[str, ...] = ()
) -> list[Request]:
    requests = [
        ask(f"k{number}", f"{number}. {QUESTION}", size=512) for number in range(count)
    ]
    return [
        replace(request, stop=stop, continuations=continuations) for request in requests
    ]


def needs(library: str) -> None:
    """Skips a test where a provider's own library is not installed."""
    try:
        spec = importlib.util.find_spec(library)
    except ModuleNotFoundError:
        spec = None
    if spec is None:
        pytest.skip(f"{library} is not installed: its provider behind inspect needs it")


def retry_anthropic_at_once() -> None:
    """Makes the anthropic library retry at once, as `fault_server` does with openai."""
    base = importlib.import_module("anthropic._base_client")
    vars(base).update(INITIAL_RETRY_DELAY=0.001, MAX_RETRY_DELAY=0.01)


def test_openais_responses_have_reasoning_and_its_usage(
    opened: Open,
) -> None:
    with OpenAIServer() as server:
        model = opened("openai/gpt-5", server.base_url, reasoning_effort="low")
        by_key = answers(model, questions(stop=("7",)))
    text = hashed_answer(f"1. {QUESTION}")
    cut = text.partition("7")[0]  # cut by the suite: these models refuse stop words
    assert by_key["k1"] == Answer(
        key="k1", text=cut, prompt_tokens=37, output_tokens=66, finish="stop", reasoning=THOUGHT,
        reasoning_tokens=64, cached_tokens=32, served_model="gpt-5-2025-08-07",
        adapted={"temperature": "left out", "stop": "left out"},
    )  # fmt: skip
    body = [body for body in server.bodies if "max_output_tokens" in body][-1]
    assert {body["max_output_tokens"], body["reasoning"]["effort"]} == {512, "low"}
    assert {"temperature", "stop"}.isdisjoint(body)
    assert model.identity == {
        "backend": "inspect", "model": "openai/gpt-5", "base_url": server.base_url, "temperature": "0.0",
        "reasoning_effort": "low",
    }  # fmt: skip


def test_reasoning_that_uses_up_the_limit_is_an_empty_answer(
    opened: Open,
) -> None:
    with OpenAIServer() as server:
        model = opened(
            "openai/gpt-5", server.base_url, responses_api="false", temperature="none"
        )
        result = answers(model, [ask("k", QUESTION, size=100)])["k"]
    assert (result.text, result.finish, result.thought_only) == ("", "length", True)
    assert (result.output_tokens, result.reasoning_tokens) == (100, 100)
    assert [body["max_completion_tokens"] for body in server.bodies] == [100]


def test_a_refused_stop_word_is_left_out_and_other_refused_settings_end_the_run(
    opened: Open, capfd: pytest.CaptureFixture[str]
) -> None:
    with OpenAIServer() as server:
        chat = {"responses_api": "false"}
        model = opened("openai/gpt-5", server.base_url, **chat)
        by_key = answers(model, questions(4, stop=("7",)))
        assert {tuple(answer.adapted) for answer in by_key.values()} == {
            ("stop", "temperature")
        }
        assert (
            capfd.readouterr().err.count("refuses stop, which is left out from now on")
            == 1
        )
        calls = len(server.calls)
        model = opened(
            "openai/gpt-5", server.base_url, reasoning_effort="xhigh", concurrency="1"
        )
        with pytest.raises(
            UsageError,
            match="it refuses reasoning_effort=xhigh.*'reasoning.effort' does not",
        ):
            results(model, questions(20))
    # inspect sends one request to learn whether reasoning may be summarized
    assert len(server.calls) == calls + 2


def test_log_probabilities_of_letters_and_providers_without_them(
    opened: Open,
) -> None:
    with OpenAIServer() as server:
        letters = questions(1, continuations=("A", "B", "C"))
        model = opened("openai/gpt-4o", server.base_url)
        outcomes: list[Answer | Failure] = []
        model.loglikelihood(letters, outcomes.append)
        assert isinstance(outcomes[0], Answer)
        scores = ChoiceScores.from_text(outcomes[0].text)
        assert scores.logprobs[0] == pytest.approx(-0.18803, abs=1e-5)
        assert scores.logprobs[1:] == (-2.0, None)
        assert server.bodies[0]["top_logprobs"] == 20
        with pytest.raises(
            UsageError, match=r"provider openai \(model 'gpt-5'\) answers without log"
        ):
            opened("openai/gpt-5", server.base_url).loglikelihood(
                letters, outcomes.append
            )
        with pytest.raises(
            UsageError, match="inspect/openai/gpt-4o: .*scores longer texts"
        ):
            model.loglikelihood(
                questions(1, continuations=("A", "a text")), outcomes.append
            )


@pytest.mark.parametrize(
    ("server", "name", "provider"),
    [
        (OpenRouterServer(), "openrouter/openai/gpt-oss-120b", "Novita"),
        (HFRouterServer(), "hf-inference-providers/openai/gpt-oss-120b:groq", "groq"),
    ],
)
def test_routers_name_the_provider(
    server: FakeProvider, name: str, provider: str, opened: Open
) -> None:
    with server:
        model = opened(name, server.base_url, reasoning_effort="low")
        result = answers(model, questions(1))["k0"]
    assert (result.provider, result.served_model) == (provider, "openai/gpt-oss-120b")
    assert (result.text, result.reasoning) == (hashed_answer(f"0. {QUESTION}"), THOUGHT)
    assert (result.reasoning_tokens, result.cached_tokens, result.adapted) == (
        64,
        32,
        {},
    )


def test_anthropics_thinking_budget_adds_to_the_limit_and_an_overload_is_retried(
    opened: Open,
) -> None:
    needs("anthropic")
    retry_anthropic_at_once()
    with AnthropicServer(
        [AnthropicServer.overloaded(), AnthropicServer.rate_limited()]
    ) as server:
        model = opened(
            "anthropic/claude-sonnet-4-5", server.root, reasoning_tokens="1024"
        )
        by_key = answers(model, questions())
        result = by_key["k1"]
        with pytest.raises(
            UsageError, match="provider anthropic .*answers without log-prob"
        ):
            model.loglikelihood(questions(1, continuations=("A", "B")), print)
    assert (result.text, result.reasoning) == (hashed_answer(f"1. {QUESTION}"), THOUGHT)
    assert (result.prompt_tokens, result.cached_tokens, result.output_tokens) == (
        37,
        32,
        194,
    )
    assert result.served_model == "claude-sonnet-4-5-20250929"
    bodies = [call.body for call in server.calls if call.path == "/v1/messages"]
    assert bodies[0]["max_tokens"] == 512 + 1024
    assert bodies[0]["thinking"]["budget_tokens"] == 1024


@pytest.mark.parametrize(
    ("server", "name", "options", "library"),
    [
        (GoogleServer(), "google/gemini-2.5-pro", {}, "google.genai"),
        (
            MistralServer(),
            "mistral/magistral-medium",
            {"conversation_api": "false"},
            "mistralai.client",
        ),
    ],
)
def test_providers_without_an_address_never_receive_protected_text(
    server: FakeProvider, name: str, options: dict[str, str], library: str, opened: Open
) -> None:
    needs(library)
    with server:
        model = opened(name, server.root, **options)
        assert answers(model, questions(1))["k0"].text == hashed_answer(
            f"0. {QUESTION}"
        )
        before = len(server.calls)
        with (
            policy.protect([NOTES]),
            pytest.raises(RefusedError, match="it is unknown where"),
        ):
            results(model, questions(1))
    assert len(server.calls) == before


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MEDICAL_TASKS_HOME", str(tmp_path))


@pytest.mark.usefixtures("home")
def test_protected_text_goes_only_to_this_machine_or_an_attested_host(
    opened: Open,
) -> None:
    elsewhere = opened("openai/gpt-4o")
    assert elsewhere.endpoint == "https://api.openai.com/v1"
    with OpenAIServer() as server, policy.protect([NOTES]):
        model = opened("openai/gpt-4o", server.base_url)
        policy.require_endpoint(model.endpoint, "model")
        assert len(answers(model, questions(2))) == len(server.calls) == 2
        model = InspectModel("inspect/mockllm/model", InspectSettings())
        policy.require_endpoint(model.endpoint, "model")
        with pytest.raises(
            RefusedError, match=r"may not be sent to api.openai.com:443 \(model\)"
        ):
            results(elsewhere, questions(1))
    attested = policy.Attestation(
        hosts=(read_host("api.openai.com"),), zero_retention=True
    )
    with policy.protect([NOTES], attested):
        policy.require_endpoint(elsewhere.endpoint, "model")


@pytest.mark.usefixtures("home")
def test_protected_text_goes_through_no_proxy_and_no_telemetry(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    with OpenAIServer() as server, policy.protect([NOTES]):
        model = opened("openai/gpt-4o", server.base_url)
        monkeypatch.setenv("HTTP_PROXY", "http://user:hidden@proxy.example:3128")
        monkeypatch.delenv("NO_PROXY", raising=False)
        monkeypatch.delenv("no_proxy", raising=False)
        with pytest.raises(
            RefusedError, match=r"sent to proxy.example:3128 \(proxy on the way to"
        ):
            results(model, questions(1))
        monkeypatch.delenv("HTTP_PROXY")
        monkeypatch.setenv("INSPECT_TELEMETRY", "package")
        with pytest.raises(RefusedError, match="may not go to inspect/openai/gpt-4o"):
            results(model, questions(1))
    assert server.calls == []


@pytest.mark.usefixtures("home")
def test_a_redirect_does_not_send_protected_text_elsewhere(opened: Open) -> None:
    away = Fault("reply", 307, {"Location": "http://192.0.2.1/v1/chat/completions"})
    with FaultServer(lambda call: away) as server, policy.protect([NOTES]):
        model = opened("openai/gpt-4o", server.base_url, max_retries="0")
        with pytest.raises(
            RefusedError, match=r"may not be sent to 192.0.2.1:80 \(model\)"
        ):
            results(model, questions(1))


def test_a_ceiling_of_tokens_refuses_the_requests_beyond_it(opened: Open) -> None:
    with OpenAIServer() as server:
        model = opened("openai/gpt-4o", server.base_url, concurrency="4")
        # a request uses 39 tokens, and reserves 512 more
        budget = RunBudget(max_tokens=2000)
        model.ceiling = Ceiling(budget)
        outcomes = results(model, questions(60))
        refused = [
            outcome for outcome in outcomes.values() if isinstance(outcome, Failure)
        ]
        assert {outcome.reason for outcome in refused} == {"budget spent"}
        assert 0 < len(server.calls) == 60 - len(refused) < 60
        assert (
            budget.tokens
            == 39 * len(server.calls)
            <= 2000
            < budget.tokens + 39 + 512 + 200
        )


def test_a_wrong_key_and_an_unreachable_server_end_the_run_at_once(
    opened: Open,
) -> None:
    with OpenAIServer() as server:
        url = server.base_url
    with FaultServer(
        lambda call: Fault.status_code(401, "Incorrect API key provided")
    ) as server:
        model = opened("openai/gpt-4o", server.base_url, concurrency="1")
        with pytest.raises(
            MissingError, match="refused the key: HTTP 401.*export OPENAI_API_KEY="
        ):
            results(model, questions(20))
        assert len(server.calls) == 1
    with pytest.raises(
        MissingError,
        match=f"nothing answers at {url}.*connection refused; given up after 3 .*Start",
    ):
        results(opened("openai/gpt-4o", url), questions(20))


@pytest.mark.parametrize(("name", "options", "message"), WRONG)
def test_wrong_names_and_arguments(
    name: str, options: dict[str, str], message: str, opened: Open
) -> None:
    with pytest.raises(UsageError, match=message):
        opened(name, **options)


def test_questions_are_measured_with_a_tokenizers_folder(
    opened: Open, toy_model: Path
) -> None:
    assert opened("mockllm/m").lengths(questions(2)) == [None, None]
    model = opened(
        "mockllm/m", tokenizer=str(toy_model), context="4096", reasoning_tokens="100"
    )
    (length, letters) = model.lengths(
        [*questions(1), *questions(1, continuations=("A", "B"))]
    )
    assert length is not None
    assert letters is not None
    assert letters.tokens == length.tokens + 1 > 32
    assert length.room == 4096 - 512 - 100


def test_an_address_of_the_environment_is_part_of_the_identity(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = {"backend": "inspect", "model": "openai/m", "temperature": "0.0"}
    assert opened("openai/m", concurrency="3", cache_prompt="true").identity == plain
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1/")
    elsewhere = {**plain, "base_url": "http://127.0.0.1:1/v1"}
    assert opened("openai/m").identity == elsewhere
    warm = opened(
        "openai/m", seed="3", top_p="0.9", temperature="none", service_tier="flex"
    )
    set_options = {"seed": "3", "top_p": "0.9", "service_tier": "flex"}
    del elsewhere["temperature"]
    assert warm.identity == {**elsewhere, **set_options}


def test_the_message_about_a_missing_package_has_its_command(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(
        MissingError, match="needs inspect_ai, which is not installed: pip install"
    ):
        open_model("inspect/openai/gpt-5", {}, log_dir=tmp_path)


def test_a_whole_benchmark_with_effort_tokens_and_cost(
    demo_home: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")

    def number(question: str) -> str:
        return json.dumps(
            {"step_by_step_thinking": "as asked", "answer": len(question) % 97}
        )

    with OpenAIServer(answer=number) as server:
        prices = "price_in=1.25,price_out=10,price_cached=0.125"
        command = [
            "run", "--tasks", "medcalc", "--config", "demo", "--model", "inspect/openai/gpt-5-like",
            "--model-args", f"base_url={server.base_url},reasoning_effort=high,{prices}", "--out", "run",
        ]  # fmt: skip
        assert main(command) == 0
        bodies = [body for body in server.bodies if "max_output_tokens" in body]
        assert main(command) == 0  # everything is in the store
    assert (
        len([body for body in server.bodies if "max_output_tokens" in body])
        == len(bodies)
        == 31
    )
    assert {body["reasoning"]["effort"] for body in bodies} == {"high"}
    entry = json_of(Path("run", "results.json"))["tasks"]["medcalc"]
    usage = entry["usage"]
    assert usage["reasoning_tokens"] == 31 * 448
    assert usage["cached_tokens"] == 31 * 32
    assert usage["served_models"] == {"gpt-5-like-2025-08-07": 31}
    fresh = usage["prompt_tokens"] - usage["cached_tokens"]
    paid = (
        fresh * 1.25 + usage["cached_tokens"] * 0.125 + usage["output_tokens"] * 10
    ) / 1e6
    assert usage["cost_usd"] == pytest.approx(paid)
    assert entry["recipe"]["generation"]["adapted"] == {"temperature": "left out"}
    report = Path("run", "report.md").read_text(encoding="utf-8")
    assert f"({31 * 448:,} of reasoning)" in report


# inspect leaves the streams of its batches' results open.
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_inspect_batches_for_openai(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    with FakeBatches(lenient=True) as server:
        options = {
            "base_url": server.base_url,
            "batch_poll": "0.05",
            "model_args": '{"responses_api": false}',
        }
        model = open_inspect("inspect/openai/gpt-4o", options=options)
        model.ask_in_batches(tmp_path / "batches.json")
        by_key = answers(
            model, [ask(f"k{number}", f"question {number}") for number in range(4)]
        )
        model.close()
    assert server.did("create")  # how many batches is inspect's choice
    assert (server.did("chat"), len(server.asked)) == (0, 4)
    texts = {call.prompt: hashed_answer(call.prompt) for call in server.calls}
    assert {answer.text for answer in by_key.values()} == set(texts.values())
    assert "stopping it loses what is under way" in capsys.readouterr().err
    gc.collect()


def test_inspect_has_no_batches_of_other_providers(tmp_path: Path) -> None:
    model = open_inspect("inspect/mockllm/model", options={})
    with pytest.raises(UsageError, match="inspect makes batches of anthropic, google"):
        model.ask_in_batches(tmp_path / "batches.json")
