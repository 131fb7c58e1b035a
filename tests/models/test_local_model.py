"""Answers read from generated tokens, and prompts planned in chunks."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medical_tasks.models.base import Request
from medical_tasks.models.local_model import Prompt, plan_chunks, read_answer
from tests.models.toy_texts import CASES, ask

ENDS = frozenset({2, 9})


@pytest.mark.parametrize(("tokens", "stop", "expected"), CASES["reading_an_answer"])
def test_reading_an_answer(
    tokens: list[int], stop: list[str], expected: list[Any]
) -> None:
    prompt = Prompt(
        request=ask("k", "x", size=4), text="x", tokens=(1,), stop=tuple(stop)
    )
    answer = read_answer(prompt, tokens, ENDS, lambda ids: " ".join(map(str, ids)))
    assert [answer.text, answer.output_tokens, answer.finish] == expected


Shape = tuple[int, int, int, bool]


def prompt(
    key: int, characters: int, tokens: int, room: int = 10, *, stops: bool = False
) -> Prompt:
    request = Request(
        key=f"{key:03}",
        messages=({"role": "user", "content": "x"},),
        max_new_tokens=room,
    )
    return Prompt(
        request=request,
        text="x" * characters,
        tokens=tuple(range(tokens)),
        stop=("\n",) if stops else (),
    )


def lighteval_limit(chunk: list[Prompt]) -> int:
    """Where lighteval 0.13.0 cuts a batch: tokens of the first prompt, sorted by characters, plus the answer length."""
    first = sorted(
        chunk,
        key=lambda candidate: -(len(candidate.text) + candidate.request.max_new_tokens),
    )[0]
    return len(first.tokens) + first.request.max_new_tokens


@given(
    shapes=st.lists(
        st.tuples(
            st.integers(1, 400),
            st.integers(1, 100),
            st.sampled_from([1, 10]),
            st.booleans(),
        ),
        max_size=30,
    ),
    size=st.one_of(st.none(), st.integers(1, 8)),
)
def test_chunks_hold_each_prompt_once_and_none_is_cut(
    shapes: list[Shape], size: int | None
) -> None:
    prompts = [
        prompt(key, chars, tokens, room, stops=stops)
        for key, (chars, tokens, room, stops) in enumerate(shapes)
    ]
    chunks = list(plan_chunks(prompts, size))
    assert sorted(item.request.key for chunk in chunks for item in chunk) == [
        item.request.key for item in prompts
    ]
    for chunk in chunks:
        assert 0 < len(chunk) <= (size or len(prompts))
        assert len({(item.request.max_new_tokens, item.stop) for item in chunk}) == 1
        assert max(len(item.tokens) for item in chunk) <= lighteval_limit(chunk)
        assert [len(item.tokens) for item in chunk] == sorted(
            (len(item.tokens) for item in chunk), reverse=True
        )


@given(
    shapes=st.lists(st.tuples(st.integers(1, 400), st.integers(1, 100)), max_size=20),
    seed=st.randoms(),
)
def test_chunks_do_not_depend_on_the_order_and_without_a_limit_there_is_one(
    shapes: list[tuple[int, int]], seed: object
) -> None:
    prompts = [prompt(key, chars, tokens) for key, (chars, tokens) in enumerate(shapes)]
    shuffled = list(prompts)
    seed.shuffle(shuffled)  # type: ignore[attr-defined]
    assert list(plan_chunks(prompts, 4)) == list(plan_chunks(shuffled, 4))
    prompts = [
        prompt(key, 4 * tokens, tokens) for key, tokens in enumerate((5, 30, 12))
    ]
    assert [
        [len(item.tokens) for item in chunk] for chunk in plan_chunks(prompts, None)
    ] == [[30, 12, 5]]
