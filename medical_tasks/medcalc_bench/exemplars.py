"""Worked examples for the one-shot prompt: our own, from the generator of fresh questions, or the authors' file.

Ours are drawn with keys of their own (`exemplar:<calculator id>`), which no seed of the `fresh` configuration can give: the
example of a calculator is never one of its questions.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType

from medical_tasks.errors import MissingError, UsageError

__all__ = ["OFFICIAL_FILE", "Exemplar", "official_exemplars", "own_exemplars"]

OFFICIAL_FILE = "one_shot_finalized_explanation.json"
_OFFICIAL_PLACES = (OFFICIAL_FILE, f"evaluation/{OFFICIAL_FILE}")


@dataclass(frozen=True, kw_only=True)
class Exemplar:
    """A worked example.

    Attributes:
        note: the example's note.
        question: what is asked about it; None where it is the question of the item itself.
        reply: what a model should reply.
    """

    note: str
    question: str | None
    reply: str


@lru_cache(maxsize=1)
def own_exemplars() -> Mapping[str, Exemplar]:
    """Draws our worked example of every calculator.

    Returns:
        Calculator id, as text, to its example; all 55, the same on every machine.
    """
    from medical_tasks.calculators import CALCULATORS
    from medical_tasks.medcalc_bench.fresh import draw_item

    exemplars: dict[str, Exemplar] = {}
    for calculator in CALCULATORS:
        item = draw_item(calculator, f"exemplar:{calculator.id}")
        answer = item.result.answer
        # As the prompt asks for it: a bare number with the digits of the last step, or (12 weeks, 3 days).
        text = f"{answer:.6g}" if isinstance(answer, float) else str(answer)
        if isinstance(answer, tuple):
            text = f"({', '.join(answer)})"
        reply = {"step_by_step_thinking": item.result.explanation, "answer": text}
        exemplars[str(calculator.id)] = Exemplar(
            note=item.note, question=item.question, reply=json.dumps(reply, ensure_ascii=False)
        )
    return MappingProxyType(exemplars)


def official_exemplars(upstream: Path | None) -> Mapping[str, Exemplar]:
    """Reads the authors' worked examples from a checkout the user has.

    Args:
        upstream: the checkout, or a folder with the file.

    Returns:
        Calculator id, as text, to its example.

    Raises:
        MissingError: No folder was given, or the file is not in it.
        UsageError: The file is not of the expected form.
    """
    if upstream is None:
        raise MissingError(
            "--prompts official needs --upstream DIR: a checkout of the authors' repository (ncbi-nlp/MedCalc-Bench), or a "
            f"folder with its {OFFICIAL_FILE}."
        )
    for place in _OFFICIAL_PLACES:
        path = upstream / place
        if path.is_file():
            return _read(path)
    raise MissingError(
        f"{upstream}: no {OFFICIAL_FILE} there nor in its evaluation/ folder. Give --upstream a checkout of the authors' "
        "repository (ncbi-nlp/MedCalc-Bench)."
    )


def _read(path: Path) -> dict[str, Exemplar]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        exemplars = {
            key: Exemplar(
                note=entry["Patient Note"], question=None, reply=json.dumps(entry["Response"], ensure_ascii=False)
            )
            for key, entry in content.items()
        }
    except (json.JSONDecodeError, UnicodeDecodeError, KeyError, TypeError, AttributeError) as error:
        raise _wrong_form(path, f"{type(error).__name__} {error}") from error
    if not exemplars:
        raise _wrong_form(path, "it holds no example")
    if odd := [key for key in exemplars if not key.isdecimal()]:
        raise _wrong_form(path, f"the key {odd[0]!r} is no calculator id")
    if odd := [key for key, exemplar in exemplars.items() if not isinstance(exemplar.note, str)]:
        raise _wrong_form(path, f"the note of calculator {odd[0]} is no text")
    return exemplars


def _wrong_form(path: Path, reason: str) -> UsageError:
    return UsageError(
        f"{path}: not the authors' file of worked examples (calculator id to 'Patient Note' and 'Response'): {reason}. "
        "Take it from a checkout of ncbi-nlp/MedCalc-Bench."
    )
