"""Probabilities by `hf/...` on the toy: transformers' for one text at a time, in any batch, and nothing cut."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from medical_tasks.models.base import Answer, ChoiceScores, Failure, Length, Request
from tests.models.choice_runs import CHOICES, LETTERS, choose, scores, summed
from tests.models.local_runs import QUESTIONS, Opener, answers, count_calls, results
from tests.models.toy_texts import ask

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("one_thread")]

TOLERANCE = 1e-4


def by_hand(toy: Path, model: Any, request: Request, gap: str = "") -> ChoiceScores:
    text = model.setup.layout.render(request.messages)
    pairs = [summed(toy, text, gap + choice) for choice in request.continuations]
    sums, counts = zip(*pairs, strict=True)
    return ChoiceScores(logprobs=sums, tokens=counts)


def check(actual: ChoiceScores, expected: ChoiceScores) -> None:
    assert actual.tokens == expected.tokens
    assert actual.logprobs == pytest.approx(expected.logprobs, abs=TOLERANCE)


def test_probabilities_are_those_of_transformers_alone(
    toy_model: Path, default: Any
) -> None:
    assert len(CHOICES) == 14
    by_key = scores(default, CHOICES)
    for request in CHOICES:
        check(by_key[request.key], by_hand(toy_model, default, request))
    assert {max(result.tokens) > 10 for result in by_key.values()} == {True, False}
    assert len({result.logprobs for result in by_key.values()}) == len(CHOICES)


@pytest.mark.parametrize(
    "options",
    [
        {"batch_size": "1"},
        {"batch_size": "5"},
        {"batch_size": "20", "chunk_size": "7"},
        {"batch_size": "auto"},
    ],
    ids=str,
)
def test_batches_and_chunks_change_no_probability(
    toy_model: Path, opened: Opener, default: Any, options: dict[str, str]
) -> None:
    expected = scores(default, CHOICES)
    for key, result in scores(opened(toy_model, **options), CHOICES).items():
        check(result, expected[key])


def test_unusual_continuations_are_not_changed(toy_model: Path, default: Any) -> None:
    odd = (
        "A",
        " A",
        "A ",
        "  ",
        "\n",
        ".",
        "ŵ",
        "\u0394\u00df",
        "A. yes",
        "A" * 40,
        "the patient has a creatinine",
    )
    request = choose("odd", "Fever?", odd)
    result = scores(default, [request])["odd"]
    check(result, by_hand(toy_model, default, request))
    # a letter of several tokens
    assert dict(zip(odd, result.tokens, strict=True))["ŵ"] == 2
    assert len(set(result.logprobs)) == len(odd)


def test_a_choice_without_tokens_or_a_finite_score_is_a_failure(
    toy_model: Path, opened: Opener, default: Any
) -> None:
    failure = results(default, [choose("empty", "Fever?", ("A", ""))])["empty"]
    assert isinstance(failure, Failure)
    assert failure.reason == "choice without tokens"
    assert (
        failure.detail
        == "choice 2 is empty, or this tokenizer cannot tell where it begins"
    )
    # Its length is known all the same.
    assert default.lengths([choose("empty", "Fever?", ("A", ""))]) == default.lengths(
        [choose("a", "Fever?", ("A",))]
    )
    model = opened(toy_model)
    model.inner.model.lm_head.weight.data[50] = float("nan")
    failure = results(model, [CHOICES[0]])[CHOICES[0].key]
    assert isinstance(failure, Failure)
    assert failure.reason == "no number"
    assert "dtype=bfloat16 or float32" in failure.detail


def test_the_plain_layout_has_a_space_before_the_choice(
    toy_copy: Path, opened: Opener
) -> None:
    (toy_copy / "chat_template.jinja").unlink()
    model = opened(toy_copy)
    request = choose("plain", "Fever?", ("A", "chest pain"))
    assert model.setup.layout.render(request.messages).endswith("Assistant:")
    check(scores(model, [request])["plain"], by_hand(toy_copy, model, request, gap=" "))


def test_lengths_are_exact_and_the_longest_prompt_that_fits_is_scored(
    toy_model: Path, opened: Opener
) -> None:
    model = opened(toy_model, max_length="200")
    layout = model.setup.layout
    prompt = layout.tokens(layout.render(choose("", "fever").messages))
    requests = {
        count: choose(f"{count}", "fever " * count, ("A", "a creatinine"))
        for count in range(1, 200)
    }
    lengths = dict(zip(requests, model.lengths(list(requests.values())), strict=True))
    first = lengths[1]
    assert first is not None
    assert (first.tokens, first.room) == (
        len(prompt) + len(layout.tokens("a creatinine")) + 1,
        200,
    )
    fits = max(
        count
        for count, length in lengths.items()
        if length is not None and length.tokens <= length.room
    )
    assert lengths[fits] == Length(tokens=200, room=200)
    outcomes = results(model, [requests[fits], requests[fits + 1]])
    kept, refused = outcomes[requests[fits].key], outcomes[requests[fits + 1].key]
    assert isinstance(kept, Answer)
    check(ChoiceScores.from_text(kept.text), by_hand(toy_model, model, requests[fits]))
    assert isinstance(refused, Failure)
    assert refused.reason == "prompt too long"
    assert (
        refused.detail
        == "201 tokens with the longest choice, the model has room for 200"
    )


def test_lengths_of_written_answers_leave_room_for_them(
    toy_model: Path, opened: Opener
) -> None:
    model = opened(toy_model, max_length="200")
    requests = [ask("a", "fever", size=16), ask("b", "fever cough " * 300, size=150)]
    layout = model.setup.layout
    expected = [
        Length(
            tokens=len(layout.tokens(layout.render(request.messages))),
            room=200 - request.max_new_tokens,
        )
        for request in requests
    ]
    assert model.lengths(requests) == expected
    assert expected[1].tokens > expected[1].room
    assert model.lengths([]) == []


def test_logits_are_computed_for_the_last_positions_only(
    toy_model: Path, opened: Opener
) -> None:
    model = opened(toy_model, batch_size="1")
    shapes: list[tuple[int, ...]] = []
    head = model.inner.model.lm_head
    head.register_forward_hook(
        lambda module, inputs, output: shapes.append(tuple(output.shape[:2]))
    )
    result = scores(
        model, [choose("long", "Fever and cough. " * 100, ("A", "chest pain"))]
    )["long"]
    # Those of the continuation and one token before it, out of hundreds.
    assert sorted(shapes) == [(1, count + 1) for count in sorted(result.tokens)]
    assert max(result.tokens) < 5


def test_a_model_that_returns_all_logits_gives_the_same_probabilities(
    toy_model: Path, opened: Opener, default: Any
) -> None:
    model = opened(toy_model)
    whole = model.inner.model

    class Plain:
        def forward(self, input_ids: Any) -> Any:
            return whole(input_ids)

        __call__ = forward

    model.inner.model = Plain()
    expected = scores(default, CHOICES[:4])
    for key, result in scores(model, CHOICES[:4]).items():
        check(result, expected[key])
    model.inner.model = whole


def test_half_precision_is_summed_in_float32(toy_model: Path, opened: Opener) -> None:
    import torch

    model = opened(toy_model, dtype="bfloat16")
    by_key = scores(model, CHOICES)
    sums = torch.tensor(
        [value for result in by_key.values() for value in result.logprobs]
    )
    coarse = sums.bfloat16().float() == sums
    assert coarse.float().mean() < 0.2
    expected = scores(opened(toy_model), CHOICES)
    for key, result in by_key.items():
        assert result.logprobs == pytest.approx(expected[key].logprobs, rel=0.05)


def test_results_are_delivered_as_soon_as_their_chunk_is_done(
    toy_model: Path, opened: Opener
) -> None:
    model = opened(toy_model, batch_size="8")
    requests = [choose(f"q{index}", f"Fever {index}?") for index in range(6)]
    calls = count_calls(model, "loglikelihood")
    seen: list[tuple[str, int]] = []
    model.loglikelihood(requests, lambda result: seen.append((result.key, len(calls))))
    # Thirty texts, eight at a time: a question is finished with the last of its five.
    assert calls == [8, 8, 8, 6]
    assert [number for _, number in seen] == [1, 2, 2, 3, 4, 4]
    assert len({key for key, _ in seen}) == 6


def test_tokens_that_lighteval_changed_or_cut_are_an_error(
    toy_model: Path, opened: Opener
) -> None:
    model = opened(toy_model)
    inner = model.inner.loglikelihood

    def swapped(docs: list[Any]) -> list[Any]:
        responses: list[Any] = inner(docs)
        return responses[::-1]

    model.inner.loglikelihood = swapped
    with pytest.raises(
        RuntimeError,
        match="lighteval changed the tokens of request q before scoring them",
    ):
        results(model, [choose("q", "Fever?")])
    model.inner.loglikelihood = inner
    model.inner._max_length = 20
    with pytest.raises(
        RuntimeError, match="lighteval cut a text that was measured to fit"
    ):
        results(model, [choose("q", "Fever and cough. " * 20)])


def test_scoring_choices_changes_no_later_answer(
    toy_model: Path, opened: Opener, default: Any
) -> None:
    model = opened(toy_model, batch_size="5")
    before = answers(model, QUESTIONS[:6])
    scores(model, CHOICES[:3])
    assert "tok_encode_pair" not in vars(model.inner)
    assert "prepare_batch_logprob" not in vars(model.inner)
    assert model.inner.config.batch_size == 5
    assert answers(model, QUESTIONS[:6]) == before == answers(default, QUESTIONS[:6])


def test_generate_and_loglikelihood_refuse_each_others_requests(default: Any) -> None:
    with pytest.raises(
        ValueError, match="request w has no continuations: ask `generate`"
    ):
        default.loglikelihood([ask("w", "Fever?")], lambda _: None)
    with pytest.raises(
        ValueError, match="request c has continuations: ask `loglikelihood`"
    ):
        default.generate([choose("c", "Fever?", LETTERS)], lambda _: None)
    default.loglikelihood([], pytest.fail)
