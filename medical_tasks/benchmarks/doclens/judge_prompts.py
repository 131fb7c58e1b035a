"""What the judge of DocLens is asked (paper, sections 3.1 to 3.4 and appendix A.2).

| kind | asks for |
|---|---|
| `make` | the claims of a text |
| `claims` | whether a text entails each of several claims |
| `claim` | whether it entails one |
| `question` | whether one short question is a special case of another (MeQSum, both ways) |
| `same` | whether both are the same question (MeQSum) |
| `citation` | whether cited sentences entail a sentence of the output together, and which of them it needs |
| `summary` | the same where the output is a question |

Each but `make` comes in the paper's four styles: as JSON or as lines, with an explanation before the verdict or without. Ours
(`judge_texts`) are written from the protocol's facts; `official_prompts` reads the authors'.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from medical_tasks.benchmarks.doclens.judge_texts import JSON_AGAIN, LINES_AGAIN, STYLES, as_json, key, own_texts
from medical_tasks.benchmarks.doclens.official_prompts import OFFICIAL_STYLES, read_official_texts
from medical_tasks.errors import UsageError
from medical_tasks.judges.base import JudgePrompts, Judging
from medical_tasks.judges.reading import quoted
from medical_tasks.spec import Message, TaskSpec

__all__ = [
    "FORMS",
    "PROMPT_SETS",
    "again",
    "check_judging",
    "load_judge_prompts",
    "own_messages",
    "quoted_lines",
]

PROMPT_SETS: Final = ("own", "official")
FORMS: Final[Mapping[str, tuple[str, str]]] = {
    "note": ("a section of a clinical note", "turns of the visit's dialogue"),
    "section": ("a section of a clinical note", "turns of the visit's dialogue"),
    "impression": ("the impression of a radiology report", "sentences of the report's findings"),
    "question": ("a short question", "sentences of the patient's own, longer question"),
    "text": ("a clinical text", "sentences of its source"),
}
"""What a text of each form is called, and what it cites."""

_SLOT: Final = re.compile(r"\{(what|source|text|claims?|first|second|cited|sentence)\}")


def again(style: str) -> str:
    """What is said when a reply to one of our texts cannot be read; `{problem}` is filled in later."""
    return JSON_AGAIN if as_json(style) else LINES_AGAIN


def load_judge_prompts(task: TaskSpec, name: str = "own", upstream: Path | None = None) -> JudgePrompts:
    """Loads the texts that a task's judge is asked with.

    Args:
        task: any task of the benchmark.
        name: `own` or `official`.
        upstream: for `official`, a checkout of the authors' repository.

    Returns:
        Ours by kind and style (`claims/json_cot`), or the authors' files for the task's form by name.

    Raises:
        UsageError: Unknown set, `official` without a checkout, or a file that is not of the expected form.
        MissingError: A file of the authors' is not there.
    """
    if name not in PROMPT_SETS:
        raise UsageError(f"unknown set of judge prompts {name!r} for {task.name}. Sets: {', '.join(PROMPT_SETS)}.")
    texts = own_texts() if name == "own" else read_official_texts(task, upstream)
    nouns = [f"{form}\0{what}\0{source}" for form, (what, source) in FORMS.items()]
    whole = "\0".join((*(f"{one}\0{text}" for one, text in texts.items()), *nouns, JSON_AGAIN, LINES_AGAIN))
    return JudgePrompts(name=name, sha256=hashlib.sha256(whole.encode()).hexdigest(), texts=texts)


def check_judging(judging: Judging, style: str) -> None:
    """Refuses what does not go together, before anybody is asked.

    Raises:
        UsageError: An unknown style, one the authors have no prompts for, or lines in a batch.
    """
    if style not in STYLES:
        raise UsageError(f"style must be one of {', '.join(STYLES)}; got {style!r}.")
    if judging.prompts.name == "official" and style not in OFFICIAL_STYLES:
        raise UsageError(
            f"the authors have judge prompts of the styles {' and '.join(OFFICIAL_STYLES)}; got {style}. Choose one of them, or "
            "use --prompts own."
        )
    if judging.mode == "batched" and not as_json(style):
        raise UsageError(
            f"style {style} asks about one claim at a time, and cannot be batched. Give --judging single, or one of the "
            "styles json_cot and json."
        )


def quoted_lines(texts: Sequence[tuple[str, str]]) -> str:
    """Writes texts with their names, one a line, each as a JSON string."""
    return "\n".join(f"{name}: {quoted(text)}" for name, text in texts)


def own_messages(prompts: JudgePrompts, kind: str, style: str, *, form: str, **values: str) -> tuple[Message, ...]:
    """Fills one of our texts.

    Args:
        prompts: ours.
        kind: what is asked.
        style: how.
        form: of the text that is judged.
        **values: what stands in its slots, quoted already.
    """
    what, source = FORMS[form]
    known = {"what": what, "source": source, **values}
    # All slots at once: what stands in a text is never a slot, and braces of the forms are none.
    content = _SLOT.sub(lambda slot: known[slot[1]], prompts.texts[key(kind, style)])
    return ({"role": "user", "content": content},)
