"""What an `eval.yaml` says to inspect of each dataset: which columns it asks about, and how an answer is graded.

The Hub takes only solvers and scorers that inspect has built in, so this is a plain question with a plain grade: something that
`inspect eval hf/OWNER/NAME` can run. The protocols and metrics of this suite are in its own tasks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from medical_tasks.spec import TaskSpec

__all__ = ["inspect_fields"]

_GENERATE: Final = {"name": "generate"}
_GRADED: Final = {"name": "model_graded_qa"}
_OVERLAP: Final = {"name": "f1"}

_FROM_NOTE: Final = "Patient note:\n{patient_note}\n\n{prompt}"
_FROM_NOTES: Final = "Discharge summaries:\n{notes}\n\nQuestion: {prompt}"
_FROM_SENTENCES: Final = (
    "Sentences of a clinical note:\n{sentences}\n\nWhat the patient wrote:\n{patient_narrative}\n\nQuestion: {prompt}"
)
_CLINICIANS: Final = "Say as a clinician, in one short question, what this person asks:\n{prompt}"
_EVIDENCE: Final = "Which of these sentences are needed to answer the question?\n{sentences}\n\nQuestion: {prompt}"
_ALIGNMENT: Final = (
    "Which of these sentences does each sentence of the answer rest on?\n{sentences}\n\nAnswer: {prompt}"
)
_SUMMARY: Final = "Write the impression section that belongs to these findings:\n{prompt}"
_SHORT_QUESTION: Final = "Say in one short question what this person asks:\n{prompt}"
_NOTE: Final = "Write the clinical note of this visit:\n{turns}"
# Its placeholders are those of inspect's grader; choices is a column.
_BY_LETTER: Final = (
    "Question: {question}\n\nChoices, A to E in this order: {choices}\n\nThe right one is {criterion}.\n\n"
    "Answer to be graded: {answer}\n\nDoes the answer say what the right choice says?\n\n{instructions}"
)


def _asks(asked: str, target: str, template: str, scorer: Mapping[str, Any], *metadata: str) -> dict[str, Any]:
    fields: dict[str, Any] = {"input": asked, "target": target}
    if metadata:
        fields["metadata"] = list(metadata)
    before = [{"name": "prompt_template", "args": {"template": template}}] if template else []
    return {"field_spec": fields, "solvers": [*before, dict(_GENERATE)], "scorers": [dict(scorer)]}


_DATASETS: Final[Mapping[str, dict[str, Any]]] = {
    "medcalc_bench": _asks("question", "ground_truth_answer", _FROM_NOTE, _GRADED, "patient_note"),
    "kqa": _asks("question", "answer", "", _GRADED),
    "aci_bench": _asks("id", "note", _NOTE, _OVERLAP, "turns"),
    "mimic_rrs": _asks("findings", "impression", _SUMMARY, _OVERLAP),
    "meqsum": _asks("question", "summary", _SHORT_QUESTION, _OVERLAP),
    "archehr_qa": _asks(
        "clinician_question", "clinician_answer", _FROM_SENTENCES, _GRADED, "patient_narrative", "sentences"
    ),
    "ehrnoteqa": _asks(
        "question",
        "answer",
        _FROM_NOTES,
        {"name": "model_graded_qa", "args": {"template": _BY_LETTER}},
        "notes",
        "choices",
    ),
}

# The shared task's subtasks have other questions and other gold than its answers.
_ARCHEHR: Final[Mapping[str, dict[str, Any]]] = {
    "question": _asks("patient_narrative", "clinician_question", _CLINICIANS, _GRADED),
    "evidence": _asks("clinician_question", "relevance", _EVIDENCE, _GRADED, "sentences"),
    "alignment": _asks("clinician_answer", "answer_citations", _ALIGNMENT, _GRADED, "sentences"),
}


def inspect_fields(task: TaskSpec) -> dict[str, Any]:
    """Makes the part of a task's entry that inspect reads.

    Args:
        task: a task of a dataset that is on the Hub.

    Returns:
        `field_spec`, `solvers` and `scorers`, of plain types.
    """
    fields = _DATASETS[task.dataset]
    if task.dataset == "archehr_qa":
        return _ARCHEHR.get(task.options["form"], fields)
    if task.options.get("format", "open") == "open":
        return fields
    # Five choices, whichever way this suite asks for them.
    return {
        "field_spec": {"input": "question", "target": "answer", "choices": "choices", "metadata": ["notes"]},
        "solvers": [
            {"name": "prompt_template", "args": {"template": _FROM_NOTES}},
            {"name": "multiple_choice"},
        ],
        "scorers": [{"name": "choice"}],
    }
