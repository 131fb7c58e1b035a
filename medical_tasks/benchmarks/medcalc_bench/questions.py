"""The wordings of each calculator's question, for rows that this package makes or fills in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from medical_tasks.io.files import packaged

QUESTIONS: Final[Mapping[int, Sequence[str]]] = {
    int(key): texts for key, texts in packaged(__file__, "questions.json").items()
}
"""By the calculator's id. Where published variants of a rule differ, every wording names the dataset's."""


def named_drugs(
    question: str, entities: Mapping[str, Any], words: Callable[[str], str] = str
) -> str:
    """Puts the names of both drugs into the question of the calculator that converts a steroid.

    Args:
        question: a wording, which for that calculator holds `{source}` and `{target}`.
        entities: the row's entities, which name the drugs.
        words: makes a drug's name for the question of the name in the entities.
    """
    if "{source}" not in question:
        return question

    source, target = entities["input steroid"][0], entities["target steroid"]
    return question.replace("{source}", words(source)).replace(
        "{target}", words(target)
    )
