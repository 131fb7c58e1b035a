"""The benchmark: its object and its two tasks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from medical_chat.declarations import DATASET, LETTERS, METRICS, right_choice
from medical_tasks import spec

if TYPE_CHECKING:
    from medical_chat.talking import Conversation
    from medical_tasks.data.dataset_source import DatasetSource
    from medical_tasks.judges.base import JudgePrompts

OWN: Final = spec.OWN_PROMPTS


class MedicalChat(spec.Benchmark):
    """Conversations about discharge notes, in which each answer is followed by its source."""

    datasets = (DATASET,)
    views = (spec.View(title="By number of notes", metrics=("content", "source"), by="num_notes"),)

    def sources(self) -> tuple[DatasetSource, ...]:
        """See `data`."""
        from medical_chat.data import SOURCES

        return SOURCES

    def load_prompts(self, task: spec.TaskSpec, asking: spec.Asking = OWN) -> spec.PromptSet:
        """See `talking`; later turns are the protocol's."""
        talk = self.open_protocol(task, asking)
        return spec.PromptSet(name=asking.prompts, sha256=talk.sha256, render=talk.opening)

    def open_protocol(self, task: spec.TaskSpec, asking: spec.Asking = OWN) -> Conversation:
        """See `talking`."""
        from medical_chat.talking import Conversation

        return Conversation(task, asking)

    def gold_response(self, task: spec.TaskSpec, item: spec.Item) -> str:
        """The right letters or their texts, by turn."""
        letters, turns = task.options["form"] == "choice", item.fields["turns"]
        return json.dumps({t["key"]: t["answer"] if letters else right_choice(t) for t in turns})

    def load_judge_prompts(
        self, task: spec.TaskSpec, name: str = "own", upstream: Path | None = None
    ) -> JudgePrompts:
        """See `judging`."""
        from medical_chat.judging import KINDS, as_prompts
        from medical_chat.talking import load_texts

        return as_prompts(name, load_texts(name, upstream, KINDS))

    def score_items(
        self,
        task: spec.TaskSpec,
        items: Sequence[spec.Item],
        answers: Sequence[spec.Answer],
        scoring: spec.Scoring = spec.PLAIN_SCORING,
    ) -> list[spec.ItemScore]:
        """See `scoring`, and `judging` for open answers."""
        from medical_chat.judging import judged
        from medical_chat.scoring import score_choices
        from medical_tasks.judges.rounds import ask_together

        pairs = zip(items, answers, strict=True)
        if not task.judge:
            return [score_choices(*pair) for pair in pairs]
        judging = scoring.judge
        return ask_together(judging.judge, [judged(*pair, judging.prompts) for pair in pairs])

    def note_words(self) -> frozenset[str]:
        """Letters, which say nothing of the notes."""
        return frozenset(LETTERS)


BENCHMARK = MedicalChat()


def _task(form: str, title: str, judges: tuple[str, ...] = ()) -> spec.TaskSpec:
    return spec.TaskSpec(
        name=f"medical_chat_{form}",
        title=f"EHRNote-ChatQA, {title}",
        benchmark=BENCHMARK,
        dataset=DATASET.name,
        split="test",
        metrics=METRICS,
        version="1-A",
        generation_size=2048,
        groups=("num_notes", "category"),
        strata=("num_notes",),
        cluster="patient",
        judge=bool(judges),
        options={"form": form},
        protocol="turns",
        paper=spec.PaperSetting(items=967, configs=("full",), prompts="official", judges=judges),
    )


MedicalChat.tasks = (
    _task("choice", "answered by letters"),
    _task("open", "answered freely, with a judge", ("gpt-5.4",)),
)
