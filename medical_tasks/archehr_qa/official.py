"""The shared task's own reading and adding up, bug for bug (scoring script of 2025, archehr-qa 771b948).

It splits a line at its last two pipes, leaves ids as they stand (`|1, 2|` cites `1` and ` 2`), throws away what is behind the last
pipe, and counts the citations of what it cuts off. An answer that cites nothing ends the script, and with it the scoring of the
whole submission: there is no figure to reproduce, and none is made up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from medical_tasks.archehr_qa.factuality import Counts, count, positives
from medical_tasks.archehr_qa.spec import WORD_LIMIT
from medical_tasks.errors import UsageError

__all__ = ["NO_FIGURE", "OfficialAnswer", "official_answer", "official_factuality"]

NO_FIGURE: Final = "official script ends: no citations"
"""Why an answer has no official figures."""

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


def official_factuality(
    answers: Sequence[tuple[str, str]], key: Mapping[str, Mapping[str, str]]
) -> dict[str, dict[str, dict[str, float]]]:
    """Computes the script's factuality of a submission, 0-1.

    Args:
        answers: id of the case and answer, in the submission's order. A case that stands there twice counts twice.
        key: id of the case to id of the sentence to its label.

    Returns:
        `strict` and `lenient`, of each `macro` and `micro`, of each `precision`, `recall` and `f1`; 0 for 0/0.

    Raises:
        UsageError: The script ends with an error on this submission: a case is missing, or not of the key, or cites nothing.
            Names cases, quotes no text.
    """
    given = Counter(case for case, _ in answers)
    wrong = sorted(given.keys() ^ key.keys())
    if wrong:
        raise UsageError(
            f"official script: cases of the answers and of the key differ, in {', '.join(wrong[:5])}. It scores all cases of the "
            "key or none; give an answer to each."
        )
    read = [(case, official_answer(answer)) for case, answer in answers]
    silent = sorted(case for case, answer in read if not answer.citations)
    if silent:
        raise UsageError(
            f"official script: case {', '.join(silent[:5])} cites nothing, where it ends with an AssertionError and scores no case "
            "at all. Cite at least one sentence in each, as |1,2| at the end of a line."
        )
    made: dict[str, dict[str, dict[str, float]]] = {}
    for name, lenient in (("strict", False), ("lenient", True)):
        counts = [count(answer.citations, positives(key[case], lenient=lenient)) for case, answer in read]
        each = [_shares(one) for one in counts]
        macro = (
            {part: sum(shares[part] for shares in each) / len(each) for part in each[0]} if each else _shares(Counts())
        )
        made[name] = {"macro": macro, "micro": _shares(sum(counts, Counts()))}
    return made


def _shares(counts: Counts) -> dict[str, float]:
    """In the script's arithmetic, to the last bit."""
    cited, right = counts.hits + counts.wrong, counts.hits + counts.missed
    precision, recall = counts.hits / cited if cited else 0.0, counts.hits / right if right else 0.0
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return {"precision": precision, "recall": recall, "f1": f1}
