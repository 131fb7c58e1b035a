"""The shared tasks' own reading, bug for bug (scoring scripts of 2025, archehr-qa 771b948, and of 2026, archehr-qa-2026 344b67e).

2025 splits a line at its last two pipes, leaves ids as they stand (`|1, 2|` cites `1` and ` 2`), throws away what is behind the
last pipe, and counts the citations of what it cuts off. 2026 takes texts and ids as they are. What a script ends on (`spec.ENDS`)
ends the scoring of a whole submission: there is no figure to reproduce, and none is made up.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from medical_tasks.benchmarks.archehr_qa.spec import WORD_LIMIT
from medical_tasks.scoring.reasoning import spoken
from medical_tasks.scoring.tokens_13a import tokenize_13a

__all__ = ["OfficialAnswer", "has_bleu", "official_alignment", "official_answer", "official_ids", "official_text"]

_ENDS: Final = (".", "!", "?")


@dataclass(frozen=True, kw_only=True, slots=True)
class OfficialAnswer:
    """An answer as the script has it.

    Attributes:
        text: at most 75 words between spaces.
        citations: each once, in order of first mention; spaces are part of them. Without any the script ends with an error.
    """

    text: str
    citations: tuple[str, ...]


def official_answer(answer: str) -> OfficialAnswer:
    """Reads an answer as the script does.

    Args:
        answer: what a submission has as `answer`.
    """
    sentences: list[str] = []
    citations: list[str] = []
    for line in answer.strip().split("\n"):
        if not line.strip():
            continue
        parts = line.rsplit("|", 2)
        if len(parts) == 3:  # text, ids and what stands behind them
            citations += [cited for cited in parts[1].split(",") if cited.strip()]
            line = parts[0]
        sentence = line.strip()
        if sentence:
            sentences.append(sentence if sentence.endswith(_ENDS) else f"{sentence}.")
    text = " ".join(sentences)
    words = [word for word in text.split(" ") if word.strip()]
    if len(words) > WORD_LIMIT:
        text = " ".join(words[:WORD_LIMIT])
    return OfficialAnswer(text=text, citations=tuple(dict.fromkeys(citations)))


def official_text(prediction: str, limit: int) -> str:
    """Reads a question or an answer of 2026: as it is, or its first words where it has more than the limit; "" ends the script."""
    words = prediction.split()
    return prediction.strip() if len(words) <= limit else " ".join(words[:limit])


def has_bleu(text: str) -> bool:
    """Whether BLEU has a figure; of a text without tokens (also `<skipped>`) it divides by zero, which ends the script."""
    return bool(tokenize_13a(text))


def official_ids(reply: str, otherwise: Sequence[str]) -> tuple[str, ...]:
    """The ids that a submission with this reply has.

    Args:
        reply: as a whole a JSON list of ids, as submissions have it, or any other.
        otherwise: the ids of any other.
    """
    value = _json_list(reply)
    return tuple(value if _are_texts(value) else otherwise)


def official_alignment(reply: str, otherwise: Sequence[tuple[str, str]]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """The answer's sentences that a submission with this reply has, each with its evidence; like `official_ids`."""
    value = _json_list(reply)
    if isinstance(value, list) and all(
        isinstance(each, dict) and isinstance(each.get("answer_id"), str) and _are_texts(each.get("evidence_id"))
        for each in value
    ):
        return tuple((each["answer_id"], tuple(each["evidence_id"])) for each in value)
    return tuple((answer, (cited,)) for answer, cited in otherwise)


def _json_list(reply: str) -> Any:
    """The list that a reply is as a whole; None of any other. What is JSON as it stands has no reasoning."""
    for text in (reply.strip(), spoken(reply).strip()):
        try:
            value = json.loads(text) if text.startswith("[") else None
        except (ValueError, RecursionError):
            continue
        if isinstance(value, list):
            return value
    return None


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)
