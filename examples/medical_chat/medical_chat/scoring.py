"""From the answers of a conversation to the nine figures."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Final

from medical_chat.declarations import KINDS
from medical_tasks.errors import UsageError
from medical_tasks.spec import Answer, Counts, Item, ItemScore, Verdicts

Parts = Sequence[float | None]
"""What answers earn, from 0 to 1; None where nobody could tell."""

_LETTER: Final = r"[(\[\"'`]*([A-E])\b"
# The authors' patterns, in their order: the first that matches decides, by its last match.
_INTRODUCTIONS: Final = (
    r"\\boxed\{([A-E])\}",
    r"correct\s+answer\s+is[\s:]*\(*([A-E])\b",
    rf"answer\s*[:-]\s*{_LETTER}",
    rf"answer\s+is\s+{_LETTER}",
    rf"conclusion\s*[:-]\s*{_LETTER}",
)
_OPTION: Final = re.compile(r"[Oo]ption\s+([A-E])\b")
# These look at the text with its marks of bold type.
_LATER_LINE: Final = re.compile(r"(?ims)correct\s+answer\s+is\s*:.*?^([A-E])\s*:")
_LINE: Final = re.compile(r"(?im)^\s*([A-E])\s*:\s+[A-Z]")
_FIRST: Final = re.compile(r"(?i)\A[*\s]*([A-E])(?![A-Za-z])")


def final_text(reply: str) -> str:
    """Returns a model's text after its reasoning."""
    return reply.rpartition("</think>")[2].strip()


def letter_of(reply: str) -> str:
    """Reads the letter of a reply, as the authors' script does for most models; "" for none."""
    text = final_text(reply)
    plain = text.replace("*", "")
    for pattern in _INTRODUCTIONS:
        if letters := re.findall(pattern, plain, re.IGNORECASE):
            return str(letters[-1]).upper()
    of_lines = _LATER_LINE.search(text) or _LINE.search(text) or _FIRST.search(text)
    match = _OPTION.search(plain) or of_lines
    return match[1].upper() if match else ""


def replies_of(item: Item, answer: Answer) -> Mapping[str, str]:
    """Returns the reply to each turn, by its key."""
    try:
        replies = json.loads(answer.text)
    except ValueError:
        replies = None
    if not isinstance(replies, dict):
        raise UsageError(
            f"the answer to item {item.id} is no JSON object of turns and replies. Give a run, or "
            'an object such as {"1": "A", "1-1": "C"}, which the authors call model_answer.'
        )
    return {key: str(reply or "") for key, reply in replies.items()}


def score_choices(item: Item, answer: Answer) -> ItemScore:
    """Scores letters; a turn without a reply or a letter is wrong."""
    replies, turns = replies_of(item, answer), item.fields["turns"]
    letters = [letter_of(replies.get(turn["key"], "")) for turn in turns]
    hits = [float(letters[n] == turn["answer"]) for n, turn in enumerate(turns)]
    return conversation_score(item, {"content": hits[::2], "source": hits[1::2]}, " ".join(letters))


def conversation_score(
    item: Item, earned: Mapping[str, Parts], parsed: str, unscored: str | None = None
) -> ItemScore:
    """Computes the nine figures from the scores of answers and sources."""
    counts, values, limits = dict[str, Counts](), {}, {}
    pairs = [_both(*pair) for pair in zip(earned["content"], earned["source"], strict=True)]
    for kind, parts in {**earned, "pair": pairs}.items():
        scored = [score for score in parts if score is not None]
        missing, full = len(parts) - len(scored), all(score == 1 for score in scored)
        verdicts = Verdicts(kind=kind, hits=sum(scored), known=len(scored), missing=missing)
        share = Counts(how="share", verdicts=(verdicts,))
        counts |= {kind: share, f"{kind}_patient": share}
        if missing and full:
            limits[f"{kind}_all"] = (0.0, 1.0)
        else:
            values[f"{kind}_all"] = float(full)
    weights = dict.fromkeys(KINDS, float(len(pairs)))
    more = {"values": values, "limits": limits, "weights": weights, "unscored": unscored}
    return ItemScore.counted(counts, id=item.id, parsed=parsed, **more)


def _both(content: float | None, source: float | None) -> float | None:
    """Scores a pair: 1 if both are fully right, 0 if one is not, None if that is unknown."""
    wrong = any(score is not None and score < 1 for score in (content, source))
    return 0.0 if wrong else None if None in (content, source) else 1.0
