"""Declares the benchmark K-QA and its tasks; `declarations` has its datasets and metrics.

Manes et al., "K-QA: A Real-World Medical Q&A Benchmark", BioNLP 2024,
https://arxiv.org/abs/2401.14493. Reference implementation:
https://github.com/Itaymanes/K-QA.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from medical_tasks.benchmarks.kqa.declarations import (
    DATASET,
    KQA_OWN,
    METRICS,
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
    Plot,
    PromptSet,
    PublishedAnswer,
    Row,
    Scoring,
    TaskSpec,
    View,
    hub_question,
)

if TYPE_CHECKING:
    from pathlib import Path

    from medical_tasks.data.dataset_source import DatasetSource
    from medical_tasks.judges.base import JudgePrompts
    from medical_tasks.judges.check_sets import CheckSetSource


_RETRIEVAL_ARGUMENTS = {
    "documents": "folder of .txt, .md, .html and .jsonl files to retrieve from; `demo` is the "
    "corpus of the demo questions",
    "top_k": "passages a question is given (default 5)",
    "chunk_words": "words of a passage at most (default 150)",
}

_OTHER_EXAMPLES = "the paper's worked examples are other ones"
_OTHER_DOCUMENTS = "the paper's documents are not published"

# The longest answers of the paper's systems average 242 words (table 5), about 350
# tokens; an answer in bullet points with a safety note may be three times as long.
_TOKENS = 1024


class KQABenchmark(Benchmark):
    """The benchmark's interface to the suite."""

    name = "kqa"
    position = 2
    title = "K-QA"
    paper = DATASET.paper
    datasets = (DATASET, KQA_OWN)
    check_set = DATASET.name
    sometimes_counted = ("hallucination_rate_answered",)

    def sources(self) -> tuple[DatasetSource, ...]:
        """See `data`."""
        from medical_tasks.benchmarks.kqa.data import SOURCES

        return SOURCES

    def load_items(self, task: TaskSpec, rows: Sequence[Row]) -> list[Item]:
        """See `data`."""
        from medical_tasks.benchmarks.kqa.data import load_items

        return load_items(task, rows)

    def load_prompts(self, task: TaskSpec, asking: Asking = OWN_PROMPTS) -> PromptSet:
        """See `prompts`."""
        from medical_tasks.benchmarks.kqa.prompts import load_prompts

        return load_prompts(task, asking.prompts, asking.upstream, asking.arguments)

    def person_questions(
        self, task: TaskSpec, items: Sequence[Item], asking: Asking = OWN_PROMPTS
    ) -> list[PersonQuestion]:
        """The patient's question, without the rest of a model's prompt."""
        return [PersonQuestion(question=item.fields["question"]) for item in items]

    def gold_response(self, task: TaskSpec, item: Item) -> str:
        """See `prompts`."""
        from medical_tasks.benchmarks.kqa.prompts import gold_response

        return gold_response(task, item)

    def score_items(
        self,
        task: TaskSpec,
        items: Sequence[Item],
        answers: Sequence[Answer],
        scoring: Scoring = PLAIN_SCORING,
    ) -> list[ItemScore]:
        """See `scoring`."""
        from medical_tasks.benchmarks.kqa.scoring import score_items

        texts = [answer.text for answer in answers]
        return score_items(task, items, texts, judging=scoring.judge)

    def unanswered_limits(
        self, task: TaskSpec, item: Item
    ) -> Mapping[str, tuple[float, float]]:
        """See `scoring`."""
        from medical_tasks.benchmarks.kqa.scoring import unanswered_limits

        return unanswered_limits(task, item)

    def load_judge_prompts(
        self, task: TaskSpec, name: str = "own", upstream: Path | None = None
    ) -> JudgePrompts:
        """See `judge_prompts`."""
        from medical_tasks.benchmarks.kqa.judge_prompts import load_judge_prompts

        return load_judge_prompts(task, name, upstream)

    def eval_fields(self, task: TaskSpec) -> HubTask:
        """The question alone, graded by a model."""
        return hub_question("question", "answer", scorer={"name": "model_graded_qa"})

    def plots(
        self, task: TaskSpec, rows: Sequence[Row], items: Mapping[str, Item]
    ) -> list[Plot]:
        """See `scoring`."""
        from medical_tasks.benchmarks.kqa.scoring import statement_plots

        return statement_plots(rows)

    def published_answers(
        self, task: TaskSpec, record: Mapping[str, object]
    ) -> Sequence[PublishedAnswer]:
        """Reads a record of the `--result_file` of `run_eval.py`."""
        if not {"Question", "result"} <= record.keys():
            return ()
        return (PublishedAnswer(item=str(record["Question"]), text=record["result"]),)

    def check_sets(self) -> Mapping[str, CheckSetSource]:
        """`kqa`: the statements that three physicians labelled."""
        from medical_tasks.benchmarks.kqa.judge_check import check_set

        return {"kqa": check_set(KQA)}


BENCHMARK = KQABenchmark()


def _task(name: str, title: str) -> TaskSpec:
    examples, retrieval = "icl" in name, "rag" in name
    return TaskSpec(
        name=name,
        title=title,
        benchmark=BENCHMARK,
        dataset=DATASET.name,
        split="test",
        metrics=METRICS,
        version="3-A",
        generation_size=_TOKENS,
        groups=("must_haves", "question_form"),
        strata=("must_haves", "question_form"),
        judge=True,
        options={
            "shots": "3" if examples else "0",
            "retrieval": "bm25" if retrieval else "none",
            "family": "kqa_rag" if retrieval else "kqa",
        },
        arguments=_RETRIEVAL_ARGUMENTS if retrieval else {},
        paper=PaperSetting(
            items=201,
            configs=("answered",),
            prompts="same",
            # The authors' script calls GPT-4 by these names.
            judges=("gpt-4", "gpt-4-8k"),
            differs=_OTHER_DOCUMENTS
            if retrieval
            else _OTHER_EXAMPLES
            if examples
            else "",
        ),
    )


KQA = _task("kqa", "K-QA, the question alone")
KQA_ICL = _task("kqa_icl", "K-QA, with instructions and three worked examples")
KQA_RAG = _task("kqa_rag", "K-QA, with passages retrieved from your documents")
KQA_ICL_RAG = _task(
    "kqa_icl_rag", "K-QA, with instructions, worked examples and retrieved passages"
)

KQA_CREDENTIALED = replace(
    KQA,
    name=KQA_OWN.name,
    title="K-QA's form, credentialed questions",
    dataset=KQA_OWN.name,
    paper=None,
)

KQABenchmark.tasks = (KQA, KQA_ICL, KQA_RAG, KQA_ICL_RAG, KQA_CREDENTIALED)
KQABenchmark.views = (
    View(
        title="Comprehensiveness and hallucination",
        metrics=("hallucination_rate", "comprehensiveness"),
        tasks={
            "kqa": "",
            "kqa_icl": "ICL",
            "kqa_rag": "RAG",
            "kqa_icl_rag": "ICL, RAG",
        },
        plane=True,
    ),
)
