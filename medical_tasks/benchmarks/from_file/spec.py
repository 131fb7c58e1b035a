"""The benchmark, dataset and task that a YAML file describes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final

from medical_tasks.io.files import read_bytes, readable
from medical_tasks.judges.rubrics import RubricBenchmark, points_metrics
from medical_tasks.scoring.choice_orders import (
    ORDER,
    in_orders,
    order_metrics,
    ordered_task,
    with_order_values,
)
from medical_tasks.spec import (
    OWN_PROMPTS,
    PLAIN_SCORING,
    Answer,
    Asking,
    DatasetSpec,
    Item,
    ItemScore,
    MetricSpec,
    PersonQuestion,
    PromptSet,
    Row,
    Scoring,
    TaskSpec,
    texts_sha256,
)

if TYPE_CHECKING:
    from medical_tasks.benchmarks.from_file.form import Described
    from medical_tasks.data.dataset_source import DatasetSource
    from medical_tasks.spec import Message

CONFIG: Final = "own"
_READS: Final = {"choice": "the letter", "number": "the number"}
_ACCURACY: Final = MetricSpec(
    name="accuracy", kind="proportion", description="share of questions answered right"
)


class TableBenchmark(RubricBenchmark):
    """A benchmark of the questions in a table.

    `made_from` makes one from a YAML file. A package may derive a class from this one to
    change what a YAML file cannot: how answers are scored, or how questions are asked.

    Attributes:
        path: the YAML file.
        form: what it says.
    """

    path: ClassVar[Path]
    form: ClassVar[Described]

    @property
    def table(self) -> Path:
        """The path of the table, relative to the YAML file."""
        return self.path.parent / Path(self.form.file).expanduser()

    def sources(self) -> tuple[DatasetSource, ...]:
        """The dataset of the table, its only source."""
        from medical_tasks.benchmarks.from_file.rows import built_columns
        from medical_tasks.data.dataset_source import DatasetSource

        spec = self.datasets[0]
        changed = datetime.fromtimestamp(self.table.stat().st_mtime, tz=UTC)
        source = DatasetSource(
            spec=spec,
            summary=f"The questions of {self.table.name}, as {self.path.name} describes them.",
            changes=(
                f"`{CONFIG}` has the rows of the table, with what is right beside each.",
            ),
            columns=built_columns(self.form),
            key="id",
            splits={CONFIG: ("test",)},
            files={CONFIG: {}},
            read=self._read,
            published=f"{changed:%Y-%m-%d}",
            creators=(f"the authors of {self.path.name}",),
        )

        return (source,)

    def asked_with(self, task: TaskSpec, arguments: Mapping[str, str]) -> TaskSpec:
        """The task with each question in several orders of its choices."""
        return ordered_task(task, arguments)

    def load_items(self, task: TaskSpec, rows: Sequence[Row]) -> list[Item]:
        """One item per row, or per order of its choices."""
        return in_orders(task, super().load_items(self.tasks[0], rows))

    def conversation(self, item: Item) -> tuple[Message, ...]:
        """The instructions, with the braces replaced by the row's columns."""
        from medical_tasks.benchmarks.from_file.rows import LETTERS
        from medical_tasks.judges.judged import user_message

        values = {name: str(value) for name, value in item.fields.items()}
        values[self.form.columns.question] = values["question"]
        if "choices" in item.fields:
            pairs = zip(LETTERS, item.fields["choices"], strict=False)
            values["choices"] = "\n".join(f"{letter}. {text}" for letter, text in pairs)
        return user_message(self.form.template, values)

    def load_prompts(self, task: TaskSpec, asking: Asking = OWN_PROMPTS) -> PromptSet:
        """The only set, from the instructions."""
        return PromptSet(
            name="own",
            sha256=texts_sha256(self.form.template),
            render=self.conversation,
        )

    def person_questions(
        self, task: TaskSpec, items: Sequence[Item], asking: Asking = OWN_PROMPTS
    ) -> list[PersonQuestion]:
        """The model's prompts, with the letters of choices as possible answers."""
        from medical_tasks.benchmarks.from_file.rows import LETTERS

        questions = super().person_questions(task, items, asking)
        if self.form.answer != "choice":
            return questions

        return [
            replace(question, choices=tuple(LETTERS[: len(item.fields["choices"])]))
            for item, question in zip(items, questions, strict=True)
        ]

    def gold_response(self, task: TaskSpec, item: Item) -> str:
        """The right answer in the requested form; for a rubric, the table's reply."""
        answer = str(item.fields["answer"])
        return answer if self.form.answer == "rubric" else f"Answer: {answer}"

    def score_items(
        self,
        task: TaskSpec,
        items: Sequence[Item],
        answers: Sequence[Answer],
        scoring: Scoring = PLAIN_SCORING,
    ) -> list[ItemScore]:
        """See `scoring`; a judge decides the criteria of a rubric."""
        if task.judge:
            return super().score_items(task, items, answers, scoring)

        from medical_tasks.benchmarks.from_file.scoring import score_item

        read = scoring.readings or {}
        pairs = zip(items, answers, strict=True)
        scores = [
            score_item(task, item, read.get(item.id, answer.text))
            for item, answer in pairs
        ]

        return with_order_values(task, items, scores, right="accuracy")

    def unanswered_limits(
        self, task: TaskSpec, item: Item
    ) -> Mapping[str, tuple[float, float]]:
        """For a rubric, the least and the most that a missing reply could earn."""
        return super().unanswered_limits(task, item) if task.judge else {}

    def note_words(self) -> frozenset[str]:
        """The words of reasons, which quote nothing."""
        from medical_tasks.benchmarks.from_file.scoring import NOTE_WORDS

        return NOTE_WORDS

    def _read(
        self, config: str, split: str, files: Mapping[str, Path]
    ) -> Iterator[Row]:
        from medical_tasks.benchmarks.from_file.rows import read_rows

        return read_rows(self.form, self.table, self._holds)

    def _holds(self, row: Row) -> bool:
        """Whether the right answer of a row is parsed as right; without asking a judge."""
        (task,) = self.tasks
        if task.judge:
            return True
        (item,) = self.load_items(task, [row])
        (score,) = self.score_items(
            task, [item], [Answer(text=self.gold_response(task, item))]
        )
        return score.values.get(task.metrics[0].name) == task.metrics[0].best


@cache
def made_from(
    path: Path, base: type[TableBenchmark] = TableBenchmark
) -> TableBenchmark:
    """Makes the benchmark of a YAML file.

    Args:
        path: the YAML file.
        base: its base class.

    Raises:
        UsageError: The file breaks a rule of the form (`form.Described`).
        MissingError: It, or the table that it names, is not there.
    """
    from medical_tasks.benchmarks.from_file.form import read_form

    form = read_form(path)
    dataset = _dataset(path, form)
    attributes: dict[str, object] = {
        "__doc__": f"The benchmark that {path.name} describes.",
        "name": form.name,
        "title": dataset.title,
        "paper": dataset.paper,
        "datasets": (dataset,),
        "path": path,
        "form": form,
        "__reduce__": lambda self: (made_from, (path, base)),
    }
    kind: type[TableBenchmark] = type(f"Of_{form.name}", (base,), attributes)
    benchmark = kind()
    kind.tasks = (_task(benchmark, dataset, form),)

    return benchmark


def _dataset(path: Path, form: Described) -> DatasetSpec:
    """The dataset of a file, whose version ends in a digest of form and table.

    So results from an older table differ in version, even if nobody raised it.
    """
    table = path.parent / Path(form.file).expanduser()
    step = "Put it where the key file of the YAML says, seen from the YAML file."
    with readable(table, missing=step):
        content = read_bytes(table)

    homepage = form.homepage or f"urn:medical-tasks:{form.name}"
    title = form.title or form.name.replace("_", " ").capitalize()
    return DatasetSpec(
        name=form.name,
        title=title,
        access=form.access,
        licence=form.licence,
        homepage=homepage,
        paper=homepage,
        citation=form.citation or f"@misc{{{form.name}, title = {{{title}}}}}",
        configs=(CONFIG,),
        default_config=CONFIG,
        how_to_get=(f"medical-tasks --plugin {path.name} build {form.name}",),
        version=f"{form.version}.0.{form.digest(content)}",
    )


def _task(benchmark: TableBenchmark, dataset: DatasetSpec, form: Described) -> TaskSpec:
    """The task of a file: answers are right or wrong, or get points by a rubric."""
    from dataclasses import replace

    from medical_tasks.benchmarks.from_file.rows import LETTERS

    rubric = form.answer == "rubric"
    reads = _READS.get(form.answer, "")
    cluster = form.columns.cluster
    accuracy = replace(_ACCURACY, read=bool(reads))
    headlines = points_metrics() if rubric else (accuracy,)
    choices = form.answer == "choice"
    orders = order_metrics(LETTERS, same_number=False, paraphrased=False)

    return TaskSpec(
        name=form.name,
        title=f"{dataset.title}, {'judged by a rubric' if rubric else f'{form.answer} answers'}",
        benchmark=benchmark,
        dataset=dataset.name,
        split="test",
        metrics=(*headlines, *(orders if choices else ())),
        groups=tuple(form.columns.groups),
        cluster=cluster or None,
        version=f"{form.version}-A",
        generation_size=form.max_new_tokens,
        judge=rubric,
        arguments=ORDER if choices else {},
        item_arguments=frozenset(ORDER if choices else ()),
        options={"answer": form.answer, "fold_case": "yes" if form.folds else "no"},
        reads=reads,
    )
