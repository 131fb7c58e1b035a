from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medical_tasks.models.endpoint_choices import (
    OddScoresError,
    is_letter,
    read_continuation,
    read_first_token,
    read_prompt,
)
from tests.models.toy_texts import CASES

LETTERS = ("A", "B", "C", "D", "E")


def entries(
    alternatives: Sequence[Sequence[Any]], chosen: Sequence[Any] | None = None
) -> list[Mapping[str, Any]]:
    """A server's entries for an answer of one token: the first of its alternatives unless another is `chosen`."""
    token, logprob = chosen or alternatives[0]
    return [
        {
            "token": token,
            "logprob": logprob,
            "top_logprobs": [
                {"token": text, "logprob": value} for text, value in alternatives
            ],
        }
    ]


@pytest.mark.parametrize(
    ("continuation", "letter"),
    [
        ("A", True),
        (" b ", True),
        ("7", True),
        ("é", True),
        ("", False),
        (" ", False),
        ("AB", False),
        (".", False),
    ],
)
def test_is_letter(continuation: str, letter: bool) -> None:
    assert is_letter(continuation) is letter


@pytest.mark.parametrize(
    ("alternatives", "chosen", "letters", "logprobs", "below"), CASES["first_tokens"]
)
def test_log_probabilities_of_letters(
    alternatives: list[Any],
    chosen: Any,
    letters: list[str],
    logprobs: list[float | None],
    below: float | None,
) -> None:
    scores = read_first_token(entries(alternatives, chosen), letters)
    assert [*scores.logprobs] == [
        value if value is None else pytest.approx(value) for value in logprobs
    ]
    assert (scores.tokens, scores.below) == ((1,) * len(letters), below)
    assert scores.to_text()


@pytest.mark.parametrize(
    ("name", "reply", "reason", "detail"), CASES["malformed_first_tokens"]
)
def test_malformed_first_tokens(
    name: str, reply: Any, reason: str, detail: str
) -> None:
    with pytest.raises(OddScoresError, match=detail) as caught:
        read_first_token(reply, LETTERS)
    assert caught.value.reason == reason


@given(
    weights=st.lists(st.floats(1e-6, 1.0), min_size=5, max_size=40),
    spellings=st.lists(
        st.sampled_from(["A", " A", "A\n", "B", "\u2581B", "C", "x", "The"]),
        min_size=40,
        max_size=40,
    ),
    cut=st.integers(1, 40),
)
def test_probabilities_sum_to_at_most_one_and_bounds_hold(
    weights: list[float], spellings: list[str], cut: int
) -> None:
    total = sum(weights)
    every = sorted(
        (
            (text, math.log(weight / total))
            for text, weight in zip(spellings, weights, strict=False)
        ),
        key=lambda entry: -entry[1],
    )
    whole = read_first_token(entries(every), ("A", "B", "C"))
    few = read_first_token(entries(every[:cut]), ("A", "B", "C"))
    assert (
        sum(math.exp(value) for value in whole.logprobs if value is not None)
        <= 1 + 1e-9
    )
    for exact, bound in zip(whole.logprobs, few.logprobs, strict=True):
        if bound is not None:
            assert exact is not None
            assert bound <= exact + 1e-12
    if few.below is not None:
        assert all(value <= few.below + 1e-12 for text, value in every[cut:])


# Prompts.


def prompt(*tokens: tuple[int, str, Any]) -> list[Any]:
    """vLLM's log-probabilities of a prompt: null for the first token, then one entry a token."""
    entries = [
        {str(token): {"logprob": value, "rank": 1, "decoded_token": text}}
        for token, text, value in tokens
    ]
    return [None, *entries[1:]]


CONTEXT = ((1, "<s>", None), (2, "Which", -3.0), (3, "?", -1.0))


def test_log_probabilities_after_the_context_are_summed() -> None:
    context = read_prompt(prompt(*CONTEXT), prompt_tokens=3)
    whole = read_prompt(
        prompt(*CONTEXT, (7, " the", -0.5), (8, "left", -1.25)), prompt_tokens=5
    )
    assert read_continuation(context, whole, "the left") == (-1.75, 2)
    assert read_continuation(
        context, read_prompt(whole_of((7, "A", -9999.0)), prompt_tokens=None), "A"
    ) == (
        -math.inf,
        1,
    )


def whole_of(*answer: tuple[int, str, Any]) -> list[Any]:
    return prompt(*CONTEXT, *answer)


@pytest.mark.parametrize(
    ("name", "reply", "count", "reason", "detail"), CASES["malformed_prompts"]
)
def test_malformed_prompts(
    name: str, reply: Any, count: int | None, reason: str, detail: str
) -> None:
    with pytest.raises(OddScoresError, match=detail) as caught:
        read_prompt(reply, prompt_tokens=count)
    assert caught.value.reason == reason


@pytest.mark.parametrize(
    ("name", "kept", "rest", "reason", "detail"), CASES["odd_answers"]
)
def test_an_answer_that_cannot_be_separated_has_no_score(
    name: str, kept: int, rest: list[Any], reason: str, detail: str
) -> None:
    reply = [*prompt(*CONTEXT)[:kept], *rest]
    context = read_prompt(prompt(*CONTEXT), prompt_tokens=3)
    with pytest.raises(OddScoresError, match=detail) as caught:
        read_continuation(context, read_prompt(reply, prompt_tokens=None), "A")
    assert caught.value.reason == reason


@pytest.mark.parametrize(
    ("pieces", "text", "same"),
    CASES["characters_of_several_tokens"],
)
def test_text_with_characters_of_several_tokens_is_compared(
    pieces: list[str], text: str, same: bool
) -> None:
    context = read_prompt(prompt(*CONTEXT), prompt_tokens=3)
    whole = read_prompt(
        whole_of(*((10 + i, piece, -1.0) for i, piece in enumerate(pieces))),
        prompt_tokens=None,
    )
    if same:
        assert read_continuation(context, whole, text) == (
            -float(len(pieces)),
            len(pieces),
        )
    else:
        with pytest.raises(OddScoresError, match="do not decode to"):
            read_continuation(context, whole, text)


def test_no_detail_quotes_a_token() -> None:
    context = read_prompt(prompt(*CONTEXT), prompt_tokens=3)
    for reply in (
        whole_of((7, "canary", -1.0)),
        whole_of((7, "A", -1.0), (8, "canary", -2.0)),
    ):
        with pytest.raises(OddScoresError) as caught:
            read_continuation(context, read_prompt(reply, prompt_tokens=None), "A")
        assert "canary" not in str(caught.value)
    with pytest.raises(OddScoresError) as caught:
        read_first_token(entries([("canary", math.nan)]), LETTERS)
    assert "canary" not in str(caught.value)
