"""What lighteval says of a question's choices, as the answer that the suite's scorers read.

lighteval's transformers backend (0.13.0) reports the tokens of too few choices where the longest has fewer tokens than there
are choices: of five letters of one token each, the first alone. No more is missing than can be told apart: that many rows
came means that the longest has that many tokens. So all counts are known of one-token letters, and of texts; what is between
is answered by all counts that are possible.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from medical_tasks.errors import UsageError
from medical_tasks.models.choice_scores import ChoiceScores

__all__ = ["agreed", "choices_texts"]

_MOST: Final = 5000  # of possible answers; five choices have nine at most


def choices_texts(response: Any, choices: int) -> list[str]:
    """Writes the log-probabilities of a response as `ChoiceScores`.

    Args:
        response: lighteval's `ModelResponse` to a question with choices.
        choices: how many there are.

    Returns:
        The text; several where the numbers of tokens are not all known, one for each possibility; none when the model
        computed no number for a choice (nan, as float16 gives where it is too narrow).

    Raises:
        UsageError: The backend does not tell what is needed.
    """
    logprobs, rows = response.logprobs, response.output_tokens
    is_table = hasattr(rows, "tolist")  # transformers: rows of one width, filled up with -1
    counts = [sum(int(token) >= 0 for token in row) for row in (rows.tolist() if is_table else rows)]
    missing = choices - len(counts)
    if len(logprobs) != choices or not counts or missing < 0 or (missing and not is_table):
        raise UsageError(
            f"lighteval's backend gives {len(logprobs)} log-probabilities and the tokens of {len(counts)} continuations for a "
            f"question of {choices} choices. Its `accelerate` and `vllm` give both; so does medical-tasks run."
        )
    if any(math.isnan(logprob) for logprob in logprobs):
        return []
    longest = len(counts)
    if longest**missing > _MOST:
        raise UsageError(
            f"lighteval does not say how many tokens {missing} of {choices} choices have. Use: medical-tasks run"
        )
    known = tuple(min(float(each), 0.0) for each in logprobs)
    return [
        ChoiceScores(logprobs=known, tokens=(*counts, *rest)).to_text()
        for rest in itertools.product(range(1, longest + 1), repeat=missing)
    ]


def agreed(scores: Sequence[Mapping[str, float]], names: Sequence[str]) -> dict[str, float]:
    """Takes the values on which all scores of a document agree.

    Args:
        scores: of each possible answer.
        names: the metrics.

    Returns:
        Metric name to value; nan where they differ, and where there is none.
    """
    found = {name: {score.get(name, math.nan) for score in scores} for name in names}
    return {name: next(iter(values)) if len(values) == 1 else math.nan for name, values in found.items()}
