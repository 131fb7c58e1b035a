"""`hf/...` on the toy: the answers of transformers for one prompt at a time, in any batch, and nothing cut."""

from __future__ import annotations

import types
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.models.base import Answer, Failure, Request
from tests.models.choice_runs import CHOICES
from tests.models.local_runs import (
    QUESTIONS,
    Opener,
    alone,
    answers,
    count_calls,
    decode,
    results,
)
from tests.models.toy_texts import TEXTS, ask, change_json

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("one_thread")]


def test_answers_are_those_of_transformers_alone(toy_model: Path, default: Any) -> None:
    assert len(QUESTIONS) == 21
    by_key = answers(default, QUESTIONS)
    finishes = set()
    for request in QUESTIONS:
        expected = alone(toy_model, request)
        answer = by_key[request.key]
        assert (answer.text, answer.output_tokens) == (
            decode(toy_model, expected),
            len(expected),
        )
        assert answer.finish == (
            "length" if len(expected) == request.max_new_tokens else "stop"
        )
        finishes.add(answer.finish)
    assert finishes == {"stop", "length"}


@pytest.mark.parametrize(
    "options",
    [
        {"batch_size": "1"},
        {"batch_size": "5", "chunk_size": "9"},
        {"batch_size": "auto"},
    ],
)
def test_batches_and_chunks_change_no_answer(
    toy_model: Path, opened: Opener, default: Any, options: dict[str, str]
) -> None:
    assert answers(opened(toy_model, **options), QUESTIONS) == answers(
        default, QUESTIONS
    )


def test_each_chunk_is_delivered_before_the_next_one_runs(
    toy_model: Path, opened: Opener
) -> None:
    model = opened(toy_model)
    calls = count_calls(model)
    results(model, QUESTIONS)
    assert calls == [8, 8, 5]  # a default chunk is one batch
    model = opened(toy_model, batch_size="4", chunk_size="8")
    seen: list[str] = []

    def stop_at_ten(result: Answer | Failure) -> None:
        seen.append(result.key)
        if len(seen) == 10:
            raise KeyboardInterrupt

    calls = count_calls(model)
    with pytest.raises(KeyboardInterrupt):
        model.generate(QUESTIONS, stop_at_ten)
    assert calls == [8, 8]
    assert len(set(seen)) == 10


def test_a_prompt_that_just_fits_is_answered_and_a_longer_one_is_a_failure(
    toy_model: Path, opened: Opener
) -> None:
    model = opened(toy_model, max_length="200")
    layout = model.setup.layout
    words = "fever cough "

    def length(count: int, size: int) -> Request:
        return ask(f"{count}-{size}", words * count, size=size)

    def tokens(request: Request) -> int:
        return len(layout.tokens(layout.render(request.messages)))

    count = max(
        count for count in range(1, 100) if tokens(length(count, 16)) + 16 <= 200
    )
    fits, over, hopeless = (
        length(count, 16),
        length(count, 200 - tokens(length(count, 1)) + 1),
        length(3, 200),
    )
    assert tokens(over) + over.max_new_tokens == 201
    outcomes = results(model, [over, fits, hopeless])
    assert isinstance(outcomes[fits.key], Answer)
    for request in (over, hopeless):
        failure = outcomes[request.key]
        assert isinstance(failure, Failure)
        assert failure.reason == "prompt too long"
        assert failure.detail == (
            f"{tokens(request)} tokens and {request.max_new_tokens} for the answer, the model's context is 200"
        )


def test_many_tokens_in_few_characters_are_not_cut(
    toy_model: Path, default: Any
) -> None:
    # Alone in one call, lighteval would cut the first prompt at the tokens of the
    # second, which has more characters.
    dense = ask("dense", "ŵ" * 150, size=4)
    wordy = ask("wordy", "The patient reports chest pain on exertion. " * 8, size=4)
    sizes = {
        request.key: len(
            default.setup.layout.tokens(default.setup.layout.render(request.messages))
        )
        for request in (dense, wordy)
    }
    assert sizes["dense"] > sizes["wordy"] + 4
    assert len(dense.messages[0]["content"]) < len(wordy.messages[0]["content"])
    by_key = answers(default, [dense, wordy])
    for request in (dense, wordy):
        assert by_key[request.key].text == decode(toy_model, alone(toy_model, request))


def test_a_prompt_that_lighteval_changed_is_an_error(
    toy_model: Path, opened: Opener
) -> None:
    model = opened(toy_model)
    inner = model.inner.greedy_until

    def drop_a_token(docs: list[Any]) -> list[Any]:
        responses: list[Any] = inner(docs)
        responses[0].input_tokens[-1] += 1
        return responses

    model.inner.greedy_until = drop_a_token
    with pytest.raises(RuntimeError, match="lighteval changed the prompt of request q"):
        model.generate(QUESTIONS[:3], lambda _: None)


def test_stop_sequences_end_the_answer_and_are_not_in_it(default: Any) -> None:
    whole = answers(default, QUESTIONS)
    longest = max(whole.values(), key=lambda answer: len(answer.text))
    stop = longest.text[len(longest.text) // 2 :][:4]
    request = next(question for question in QUESTIONS if question.key == longest.key)
    stopped = replace(request, stop=("never-said", stop))
    answer = answers(default, [stopped])[longest.key]
    assert answer.text == longest.text[: longest.text.index(stop)]
    assert answer.finish == "stop"


def test_questions_of_different_lengths_and_stops_in_one_call(default: Any) -> None:
    mixed = [
        ask(f"m{size}{stop}", TEXTS[5], size=size, stop=stop)
        for size in (1, 24)
        for stop in ((), ("never-said",))
    ]
    by_key = answers(default, mixed)
    assert by_key["m24()"].text == by_key["m24('never-said',)"].text
    assert by_key["m24()"].text.startswith(by_key["m1()"].text)
    assert by_key["m1()"].output_tokens == 1


def test_every_end_token_of_the_model_ends_an_answer(
    toy_model: Path, toy_copy: Path, opened: Opener
) -> None:
    request = max(QUESTIONS, key=lambda question: len(alone(toy_model, question)))
    ids = alone(toy_model, request)
    second_end = ids[len(ids) // 2]
    change_json(toy_copy, "generation_config.json", eos_token_id=[2, second_end])
    model = opened(toy_copy)
    by_key = answers(model, QUESTIONS)
    kept = ids[: ids.index(second_end)]
    assert (by_key[request.key].output_tokens, by_key[request.key].finish) == (
        len(kept),
        "stop",
    )
    assert by_key[request.key].text == decode(toy_model, kept)
    # Alone, generation stops at that token.
    steps: list[int] = []
    inner = model.inner.greedy_until

    def counted(docs: list[Any]) -> Any:
        responses = inner(docs)
        steps.extend(len(response.output_tokens[0]) for response in responses)
        return responses

    model.inner.greedy_until = counted
    answers(model, [request])
    assert steps == [len(kept) + 1]


def test_the_models_own_generation_settings_are_ignored(
    toy_copy: Path, opened: Opener, default: Any
) -> None:
    change_json(
        toy_copy,
        "generation_config.json",
        do_sample=True,
        temperature=1.9,
        repetition_penalty=4.0,
        num_beams=3,
    )
    assert answers(opened(toy_copy), QUESTIONS[:5]) == answers(default, QUESTIONS[:5])


def test_a_model_without_a_chat_template_has_the_plain_layout(
    toy_copy: Path, opened: Opener, default: Any
) -> None:
    (toy_copy / "chat_template.jinja").unlink()
    model = opened(toy_copy)
    assert model.identity["layout"] == "plain"
    assert model.identity["weights"] != default.identity["weights"]
    assert len(answers(model, QUESTIONS[:5])) == 5


def test_a_given_repetition_penalty_is_used(toy_model: Path, opened: Opener) -> None:
    model = opened(toy_model, repetition_penalty="2.5")
    assert model.identity["decoding"] == "greedy, repetition_penalty=2.5"
    by_key = answers(model, QUESTIONS[:5])
    plain = 0
    for request in QUESTIONS[:5]:
        expected = alone(toy_model, request, repetition_penalty=2.5)
        assert by_key[request.key].text == decode(toy_model, expected)
        plain += expected == alone(toy_model, request)
    assert plain < 5


def test_sampling_is_repeatable_by_its_seed(
    toy_model: Path, opened: Opener, default: Any
) -> None:
    def texts(**options: str) -> list[str]:
        return [
            answer.text
            for answer in answers(
                opened(toy_model, temperature="1.0", **options), QUESTIONS
            ).values()
        ]

    first, again, other = texts(seed="1"), texts(seed="1"), texts(seed="2")
    assert first == again
    assert first != other
    greedy = [answer.text for answer in answers(default, QUESTIONS).values()]
    assert greedy not in (first, other)


def test_different_requests_in_two_processes_are_an_error(
    toy_model: Path, opened: Opener
) -> None:
    model = opened(toy_model)
    model.share = types.MethodType(lambda self, keys: ["other"], model)
    with pytest.raises(RuntimeError, match="given different requests"):
        model.generate(QUESTIONS[:2], lambda _: None)
    with pytest.raises(RuntimeError, match="given different requests"):
        model.loglikelihood(CHOICES[:2], lambda _: None)
