"""Reading answers out of generated tokens."""

from __future__ import annotations

import pytest

from medical_tasks.models.local_model import Prompt, read_answer
from tests.models.toy_texts import ask

ENDS = frozenset({2, 9})


@pytest.mark.parametrize(
    ("tokens", "stop", "expected"),
    [
        ([], (), ("", 0, "stop")),
        ([2], (), ("", 0, "stop")),
        ([5, 6, 2, 2], (), ("5 6", 2, "stop")),
        ([5, 9, 7, 2], (), ("5", 1, "stop")),
        ([5, 6, 7, 8], (), ("5 6 7 8", 4, "length")),
        ([5, 6, 7], (), ("5 6 7", 3, "stop")),  # its batch was ended by a stop sequence of all rows
        ([5, 6, 7, 8], ("7", "6"), ("5 ", 4, "stop")),
        ([5, 6, 7, 8], ("x",), ("5 6 7 8", 4, "length")),
        ([5, 6, 7, 2], ("7",), ("5 6 ", 3, "stop")),
        ([5, 6, 7, 2], ("5",), ("", 3, "stop")),
    ],
)
def test_reading_an_answer(tokens: list[int], stop: tuple[str, ...], expected: tuple[str, int, str]) -> None:
    prompt = Prompt(request=ask("k", "x", size=4), text="x", tokens=(1,), stop=stop)
    answer = read_answer(prompt, tokens, ENDS, lambda ids: " ".join(map(str, ids)))
    assert (answer.text, answer.output_tokens, answer.finish) == expected
