"""Declares the benchmark EHRNoteQA and its tasks; `declarations` has its dataset and metrics."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from medical_tasks.benchmarks.ehrnoteqa.declarations import (
    DATASET,
    METRICS,
    SHOWS_CHOICES,
    TITLES,
    Format,
)
from medical_tasks.errors import UsageError
from medical_tasks.scoring.choice_orders import (
    ORDER_ARGUMENTS,
    ordered_task,
    preference_table,
)
from medical_tasks.spec import (
    OWN_PROMPTS,
    PLAIN_SCORING,
    Answer,
    Asking,
    Benchmark,
    HubTask,
    Item,
    ItemScore,
    PaperSetting,
    PersonQuestion,
    PromptSet,
    PublishedAnswer,
    ResultEntry,
    Row,
    Scoring,
    Table,
    TaskSpec,
    View,
    hub_question,
)

if TYPE_CHECKING:
    from pathlib import Path

    from medical_tasks.data.dataset_source import DatasetSource
    from medical_tasks.judges.base import JudgePrompts
    from medical_tasks.judges.check_sets import CheckSetSource


_NOTE_TOKENS = {1: "up to 3,000", 2: "3,000 to 7,000"}
_SIMILARITY = {
    "sentence_bert": "folder of a Sentence-BERT checkpoint on this machine; adds the metric "
    "sentence_bert",
    "clinical_bert": "folder of a ClinicalBERT checkpoint on this machine; adds the metric "
    "clinical_bert",
}
_READS: Final = "the letter of the choice that the reply takes, such as D"
# The authors' longest answer and longest reply of the judge.
_TOKENS = 600
_VOTES = 5

_FROM_NOTES: Final = "Discharge summaries:\n{notes}\n\nQuestion: {prompt}"
# Its placeholders are those of inspect's grader; choices is a column.
_GRADED_BY_LETTER: Final = (
    "Question: {question}\n\nChoices, A to E in this order: {choices}\n\nThe right one is "
    "{criterion}.\n\n"
    "Answer to be graded: {answer}\n\nDoes the answer say what the right choice "
    "says?\n\n{instructions}"
)


# Fields of the authors' result files: some that each has, and all that hold no model's
# answers.
_RELEASED: Final = frozenset({"patient_id", "num_notes", "question", "answer"})
_NO_MODEL: Final = re.compile(
    r"patient_id|num_notes|question|answer|clinician|categor(?:y|ies)|choice_[A-E]|note_\d+|.*_gpt4_eval|Unnamed: \d+|"
)


class EHRNoteQA(Benchmark):
    """The benchmark's interface to the suite."""

    name = "ehrnoteqa"
    position = 3
    title = "EHRNoteQA"
    paper = DATASET.paper
    datasets = (DATASET,)
    mixed_rows = True

    def sources(self) -> tuple[DatasetSource, ...]:
        """See `data`."""
        from medical_tasks.benchmarks.ehrnoteqa.data import SOURCES

        return SOURCES

    def load_items(self, task: TaskSpec, rows: Sequence[Row]) -> list[Item]:
        """See `data`."""
        from medical_tasks.benchmarks.ehrnoteqa.data import load_items

        return load_items(task, rows)

    def asked_with(self, task: TaskSpec, arguments: Mapping[str, str]) -> TaskSpec:
        """Each question in several orders of its choices; see `scoring.choice_orders`."""
        return ordered_task(task, arguments)

    def keeps(self, task: TaskSpec, row: Row) -> bool:
        """See `data`."""
        from medical_tasks.benchmarks.ehrnoteqa.data import keeps

        return keeps(task, row)

    def load_prompts(self, task: TaskSpec, asking: Asking = OWN_PROMPTS) -> PromptSet:
        """See `prompts`."""
        from medical_tasks.benchmarks.ehrnoteqa.prompts import load_prompts

        return load_prompts(task, asking.prompts, asking.upstream)

    def person_questions(
        self, task: TaskSpec, items: Sequence[Item], asking: Asking = OWN_PROMPTS
    ) -> list[PersonQuestion]:
        """See `prompts`."""
        from medical_tasks.benchmarks.ehrnoteqa.prompts import person_question

        return [person_question(task, item) for item in items]

    def gold_response(self, task: TaskSpec, item: Item) -> str:
        """See `prompts`."""
        from medical_tasks.benchmarks.ehrnoteqa.prompts import gold_response

        return gold_response(task, item)

    def score_items(
        self,
        task: TaskSpec,
        items: Sequence[Item],
        answers: Sequence[Answer],
        scoring: Scoring = PLAIN_SCORING,
    ) -> list[ItemScore]:
        """See `scoring`."""
        from medical_tasks.benchmarks.ehrnoteqa.scoring import score_items

        texts = [answer.text for answer in answers]

        return score_items(
            task,
            items,
            texts,
            judging=scoring.judging,
            arguments=scoring.arguments,
            readings=scoring.readings,
        )

    def scoring_identity(
        self, task: TaskSpec, arguments: Mapping[str, str]
    ) -> Mapping[str, object]:
        """See `scoring`."""
        from medical_tasks.benchmarks.ehrnoteqa.scoring import scoring_identity

        return scoring_identity(task, arguments)

    def note_words(self) -> frozenset[str]:
        """See `scoring`."""
        from medical_tasks.benchmarks.ehrnoteqa.scoring import NOTE_WORDS

        return NOTE_WORDS

    def load_judge_prompts(
        self, task: TaskSpec, name: str = "own", upstream: Path | None = None
    ) -> JudgePrompts:
        """See `judge_prompts`."""
        from medical_tasks.benchmarks.ehrnoteqa.judge_prompts import load_judge_prompts

        return load_judge_prompts(task, name, upstream)

    def lasting_reasons(self) -> Mapping[str, str]:
        """Answers without log-probabilities, and questions of sets that have no gold."""
        from medical_tasks.benchmarks.ehrnoteqa.judging import NO_GOLD
        from medical_tasks.benchmarks.ehrnoteqa.scoring import NOT_TOLD

        return {
            NOT_TOLD: (
                "The server returned too few log-probabilities to decide: --model-args "
                "top_logprobs=N asks for more, and hf/ and "
                "vllm/ return all."
            ),
            NO_GOLD: "Nobody knows the right answers of this set: they are for people to score.",
        }

    def eval_fields(self, task: TaskSpec) -> HubTask:
        """The question about its notes.

        Open, graded by a model, or by choice, whichever way this suite asks for
        choices.
        """
        if task.options["format"] == "open":
            graded = {
                "name": "model_graded_qa",
                "args": {"template": _GRADED_BY_LETTER},
            }
            return hub_question(
                "question",
                "answer",
                template=_FROM_NOTES,
                scorer=graded,
                metadata=["notes", "choices"],
            )

        return {
            "field_spec": {
                "input": "question",
                "target": "answer",
                "choices": "choices",
                "metadata": ["notes"],
            },
            "solvers": [
                {"name": "prompt_template", "args": {"template": _FROM_NOTES}},
                {"name": "multiple_choice"},
            ],
            "scorers": [{"name": "choice"}],
        }

    def published_answers(
        self, task: TaskSpec, record: Mapping[str, object]
    ) -> Sequence[PublishedAnswer]:
        """Reads a record that `generate.py` or `evaluate.py` wrote: the question, its notes, and a column named after the model."""
        if not record.keys() >= _RELEASED:
            return ()

        models = [name for name in record if not _NO_MODEL.fullmatch(name)]
        if len(models) > 1:
            raise UsageError(
                f"has the answers of several models: {', '.join(map(repr, models))}. Leave out "
                "all but one, or name that one "
                "'response'."
            )

        return [
            PublishedAnswer(
                item=str(record["patient_id"]),
                text=record[name],
                asked={"question": record["question"]},
            )
            for name in models
        ]

    def tables(
        self,
        task: TaskSpec,
        entry: ResultEntry,
        items: Sequence[Item],
        found: Mapping[str, str],
    ) -> list[Table]:
        """The preferred positions of choices, for a run in several orders."""
        return preference_table(entry)

    def check_sets(self) -> Mapping[str, CheckSetSource]:
        """`ehrnoteqa`: answers that people scored as correct or not."""
        from medical_tasks.benchmarks.ehrnoteqa.judge_check import check_set

        return {"ehrnoteqa": check_set(TASKS)}


BENCHMARK = EHRNoteQA()

# The paper has 529 and 433 questions; the release (PhysioNet 1.0.1) lacks one of them.
_ITEMS = {1: 528, 2: 432}


def _task(form: Format, level: int) -> TaskSpec:
    """The task of a format and a level.

    Level 1 has the shorter notes, level 2 the longer ones. The model writes in the
    formats `open` and `mc`; in the others the probabilities of the choices are
    compared.
    """
    written = form in ("open", "mc")
    return TaskSpec(
        name=f"ehrnoteqa_{form}_level{level}",
        title=f"EHRNoteQA, {TITLES[form]}, level {level} (notes of {_NOTE_TOKENS[level]} tokens)",
        benchmark=BENCHMARK,
        dataset=DATASET.name,
        split="test",
        metrics=METRICS[form],
        version="3-A" if written else "2-A",
        generation_size=_TOKENS if written else 1,
        groups=("num_notes", "category"),
        strata=("num_notes",),
        cluster="patient",
        asks="text" if written else "choices",
        judge=written,
        votes=_VOTES if written else 1,
        options={"format": form, "level": str(level)},
        arguments=ORDER_ARGUMENTS if form in SHOWS_CHOICES else {},
        item_arguments=frozenset(ORDER_ARGUMENTS if form in SHOWS_CHOICES else ()),
        scoring_arguments=_SIMILARITY if form == "open" else {},
        paper=PaperSetting(
            items=_ITEMS[level],
            configs=("all", f"level{level}"),
            judges=("gpt-4-1106-preview",) if written else (),
            votes=_VOTES if written else 1,
            differs=""
            if written
            else "how the paper asked for probabilities is not published",
        ),
        reads=_READS if form == "mc" else "",
    )


TASKS = tuple(_task(form, level) for form in TITLES for level in (1, 2))

EHRNoteQA.tasks = TASKS
EHRNoteQA.views = (
    *(
        View(
            title="By level",
            metrics=("accuracy",),
            tasks={f"ehrnoteqa_{form}_level{n}": f"level {n}" for n in (1, 2)},
        )
        for form in TITLES
    ),
    View(title="By number of notes", metrics=("accuracy",), by="num_notes"),
)
