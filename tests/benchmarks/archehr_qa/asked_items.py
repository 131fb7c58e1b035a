"""Cases of a few sentences, for the tests of questions and protocols."""

from __future__ import annotations

from typing import Any

from medical_tasks.benchmarks.archehr_qa.spec import TASKS
from medical_tasks.spec import Item, TaskSpec

__all__ = ["HEURISTIC", "SENTENCES", "case", "task_of"]

SENTENCES = (
    "Brief course:",
    "A stone blocked the duct, and the\nfever came from it.",
    "The stone was taken out by endoscopy.",
    "Her sister visited.",
    "The fever was gone on the third day.",
)
_LABELS = ("not-relevant", "essential", "essential", "not-relevant", "supplementary")
_ANSWER = ("The fever came from a stone in the duct.", "The stone was taken out.", "Then the fever went away.")


def task_of(name: str) -> TaskSpec:
    """The task `archehr_<name>`."""
    (task,) = [task for task in TASKS if task.name == f"archehr_{name}"]
    return task


HEURISTIC = task_of("heuristic")


def case(id_: str = "7", **changes: Any) -> Item:
    """A case with a key and a clinician's answer."""
    fields: dict[str, Any] = {
        "id": id_,
        "source": "mimic-iii",
        "patient_narrative": f"My mother ({id_}) had a fever for days.\nWhy did she have it? Thank you",
        "patient_question": "Why did she have it?",
        "clinician_question": "What was the cause of her fever?",
        "sentence_ids": [str(number) for number in range(1, len(SENTENCES) + 1)],
        "sentences": list(SENTENCES),
        "paragraph_ids": ["0"] * len(SENTENCES),
        "relevance": list(_LABELS),
        "clinician_answer": " ".join(_ANSWER),
        "answer_sentences": list(_ANSWER),
        "answer_citations": ["2", "3", "5"],
        "answer_sentence_ids": ["1", "2", "3"],
        "document_id": "",
    }
    fields |= changes
    return Item(id=id_, fields=fields, groups={"source": fields["source"]}, cluster=id_)
