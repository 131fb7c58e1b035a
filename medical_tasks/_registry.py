r"""inspect's entry point: importing it registers every task and scorer as `medical_tasks/<name>`.

    inspect eval medical_tasks/medcalc --model openai-api/local/my-model -T config=v1.0
    inspect eval medical_tasks/medcalc --model openai-api/local/my-model -T max_samples=60
    inspect eval medical_tasks/kqa_rag --model openai-api/local/my-model \
        -T documents=FOLDER -T top_k=3
    inspect eval medical_tasks/meqsum_two_shot --model openai-api/local/my-model \
        -T prompts=official -T upstream=DocLens
    inspect score LOG --scorer medical_tasks/medcalc -S config=v1.0

Tasks on credentialed data and those that need probabilities are registered too, but
refused with the command to use instead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from medical_tasks.catalog import tasks
from medical_tasks.harness.inspect_adapter import registered_scorer, registered_task

if TYPE_CHECKING:
    from inspect_ai import Task

globals().update(
    {name: registered_task(task, module=__name__) for name, task in tasks().items()}
)
for spec in tasks().values():
    registered_scorer(spec, module=__name__)


def __getattr__(name: str) -> Callable[..., Task]:
    """Tells type checkers that tasks are attributes; all existing ones are defined above."""
    raise AttributeError(name)
