from __future__ import annotations

import math
from pathlib import Path

import pytest

from medical_tasks.benchmarks.ehrnoteqa.spec import DATASET
from medical_tasks.errors import RefusedError, UsageError
from medical_tasks.guard import policy
from medical_tasks.models.endpoint import open_endpoint
from tests.models.local_runs import reference
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
from tests.models.toy_server import ToyServer, logprob_rows

pytestmark = pytest.mark.usefixtures("one_thread")


def test_texts_agree_with_a_direct_computation(toy_model: Path) -> None:
    asked = [question(index) for index in (0, 5, 11)]
    with ToyServer(toy_model) as server:
        found = scores_of(model_at(server), asked)
    for request in asked:
        context = ids_of(toy_model, open_text(request))
        scores = found[request.key]
        assert scores.below is None
        for place, text in enumerate(request.continuations):
            ids = ids_of(toy_model, text)
            rows = logprob_rows(toy_model, context + ids)
            wanted = sum(float(rows[len(context) - 1 + step, token]) for step, token in enumerate(ids))
            assert scores.logprobs[place] == pytest.approx(wanted, abs=1e-4)
            assert scores.tokens[place] == len(ids)
    assert len(server.asked) == 3 * 6


def test_body_of_the_requests_about_texts(toy_model: Path) -> None:
    request = question(0, ("chest pain", "The", "chest pain"))
    with ToyServer(toy_model) as server:
        found = scores_of(model_at(server), [request])["q0"]
    assert found.logprobs[0] == found.logprobs[2]
    bodies = server.paths(CHAT)
    chat = [dict(message) for message in request.messages]
    common = {"model": "toy", "max_tokens": 1, "temperature": 0.0, "prompt_logprobs": 0}
    answered = {"add_generation_prompt": False, "continue_final_message": True}
    assert bodies == [
        {**common, "messages": chat},
        {**common, **answered, "messages": [*chat, {"role": "assistant", "content": "chest pain"}]},
        {**common, **answered, "messages": [*chat, {"role": "assistant", "content": "The"}]},
    ]


def test_letters_agree_with_a_direct_computation(toy_model: Path) -> None:
    asked = [question(index, LETTERS) for index in (0, 5, 11)]
    _, tokenizer = reference(toy_model)
    spelled = [[token for token in range(len(tokenizer)) if tokenizer.decode([token]).strip() == x] for x in LETTERS]
    assert all(spelled)
    with ToyServer(toy_model, most=len(tokenizer)) as server:
        found = scores_of(model_at(server, alternatives=len(tokenizer)), asked)
        part = scores_of(model_at(server), asked)
    for request in asked:
        after = logprob_rows(toy_model, ids_of(toy_model, open_text(request)))[-1]
        wanted = [math.log(sum(math.exp(float(after[token])) for token in tokens)) for tokens in spelled]
        assert found[request.key].logprobs == pytest.approx(wanted, abs=1e-4)
        assert found[request.key].tokens == (1,) * 5
        assert found[request.key].below is None
        few, below = part[request.key], float(after.topk(20).values[-1])
        assert None in few.logprobs  # a toy seldom thinks of letters
        assert few.below == pytest.approx(below, abs=1e-4)
        for told, known in zip(few.logprobs, wanted, strict=True):
            assert told is None or told <= known + 1e-4
    assert len(server.asked) == 6
    assert {key: server.paths(CHAT)[-1][key] for key in ("max_tokens", "logprobs", "top_logprobs", "temperature")} == {
        "max_tokens": 1, "logprobs": True, "top_logprobs": 20, "temperature": 0.0,
    }  # fmt: skip


def test_question_alone_decides_the_way_unless_it_is_given(toy_model: Path) -> None:
    with ToyServer(toy_model) as server:
        scores_of(model_at(server, way="prompt"), [question(0, LETTERS)])
        assert len(server.asked) == 6
        scores_of(model_at(server), [question(0, (" A", "B "))])
        assert len(server.asked) == 7
        scores_of(model_at(server, way="top"), [question(0, LETTERS)])
        assert len(server.asked) == 8
        with pytest.raises(UsageError, match="logprobs=top tells the answer's first token.*longer texts"):
            results_of(model_at(server, way="top"), [question(0)])
        assert len(server.asked) == 8


def test_prompt_and_top_tell_the_same_of_a_letter_with_one_spelling(toy_model: Path) -> None:
    _, tokenizer = reference(toy_model)
    letter = next(
        x for x in "QXZKJqxzkj" if sum(tokenizer.decode([t]).strip() == x for t in range(len(tokenizer))) == 1
    )
    with ToyServer(toy_model, most=len(tokenizer)) as server:
        (top,) = scores_of(model_at(server, alternatives=len(tokenizer)), [question(0, (letter,))]).values()
        (text,) = scores_of(model_at(server, way="prompt"), [question(0, (letter,))]).values()
    assert top.logprobs == pytest.approx(text.logprobs, abs=1e-4)


def test_sampling_is_left_out_and_a_server_that_takes_no_temperature_gets_none(toy_model: Path) -> None:
    options = {"temperature": "0.9", "top_p": "0.5", "seed": "3"}
    with ToyServer(toy_model) as server:
        base = {"base_url": server.base_url}
        results_of(open_endpoint("openai-api/x/toy", options=base | options), [question(0, LETTERS)])
        results_of(open_endpoint("openai-api/x/toy", options=base | {"temperature": "none"}), [question(0, LETTERS)])
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


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("logprobs", "yes", "logprobs must be auto, top or prompt, got 'yes'"),
        ("top_logprobs", "0", "top_logprobs must be a whole number from 1, got '0'"),
        ("context", "8k", "context must be a whole number from 1, got '8k'"),
    ],
)
def test_malformed_arguments(name: str, value: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        open_endpoint("openai-api/x/m", options={"base_url": "http://127.0.0.1:1/v1", name: value})


def test_guard_is_asked(tmp_path: Path) -> None:
    model = open_endpoint("openai-api/x/m", options={"base_url": "http://10.1.2.3:9/v1"})
    for continuations in (LETTERS, CHOICES):
        held = policy.protect([policy.Subject.of(DATASET)], audit=tmp_path / "audit.log")
        with held, pytest.raises(RefusedError, match=r"10\.1\.2\.3"):
            results_of(model, [question(0, continuations)])
