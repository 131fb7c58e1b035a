"""EHRNoteQA's judge prompts, which ask whether a model's answer is right (paper, appendix E.1, figures 8 to 10).

The authors released no text for `evidence`. The model's answer comes last, so that
servers can cache the notes.

- `open` (paper, figure 8): notes, question, right answer, model's answer; 0 or 1
- `evidence` (figure 10): the same with marked passages instead of the right answer
- `choice` (figure 9): five choices, the right one, model's answer, no notes; yes or no

Our prompts quote the model's answer as a JSON string, last. The authors' have it
unquoted, and none for evidence; their script asks once (`--votes 1 --judge-args
temperature=0`). Judges of entailment decide whether the right answer, or a passage,
follows from the model's answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from typing import Final

from medical_tasks.benchmarks.ehrnoteqa.prompts import check_template, read_prompt_dict
from medical_tasks.data.task_data import check_prompt_set
from medical_tasks.io.files import packaged
from medical_tasks.judges.base import JudgePrompts
from medical_tasks.spec import TaskSpec, texts_sha256

OPEN: Final = "open"
EVIDENCE: Final = "evidence"
CHOICE: Final = "choice"

OFFICIAL_KEYS: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    OPEN: ("openended", ("note", "question", "correct_answer", "output")),
    CHOICE: ("multichoice", ("output", "choices", "answer")),
}
"""For each question of the authors, its key in their dict, and the slots of its text."""

VERDICTS: Final = ("Score 1", "Score 0", "0", "1", '"yes"', '"no"')
"""The verdicts as our prompts write them."""

_OWN: Final[Mapping[str, str]] = packaged(__file__, "judge_prompts.json")
AGAIN: Final = (
    "That could not be read: {problem}. Reply with the one JSON object asked for, nothing before "
    "it and nothing "
    "after it."
)
OFFICIAL_SCORE_AGAIN: Final = (
    "That could not be read: {problem}. Say it again; "
    'the first line is "Score: 0" or "Score: 1" and nothing else.'
)
OFFICIAL_CHOICE_AGAIN: Final = (
    'That could not be read: {problem}. Reply with the one word "yes" or "no".'
)


def load_judge_prompts(
    task: TaskSpec, name: str = "own", upstream: Path | None = None
) -> JudgePrompts:
    """Loads the judge's prompts `open`, `evidence` and `choice`; with `official`, the second is ours."""
    check_prompt_set(task, name, what="set of judge prompts")
    texts = dict(_OWN)
    if name == "official":
        path, prompts = read_prompt_dict(upstream, "evaluation")
        for kind, (key, slots) in OFFICIAL_KEYS.items():
            texts[kind] = check_template(
                prompts.get(key), slots, where=f"{path}, {key!r}"
            )

    requests = (AGAIN, OFFICIAL_SCORE_AGAIN, OFFICIAL_CHOICE_AGAIN)
    return JudgePrompts(
        name=name,
        sha256=texts_sha256(*chain.from_iterable(texts.items()), *requests),
        texts=texts,
    )
