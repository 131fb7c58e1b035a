"""What the modules share: the dataset and the tags of criteria that have figures of their own."""

from __future__ import annotations

from typing import Final

from medical_tasks.spec import DatasetSpec

DATASET: Final = DatasetSpec(
    name="medical_rubric",
    title="HealthBench",
    access="open",
    licence="MIT",
    homepage="https://github.com/openai/simple-evals",
    paper="https://arxiv.org/abs/2505.08775",
    citation="@misc{arora2025healthbench, title = {HealthBench}, eprint = {2505.08775}}",
    configs=("full", "hard", "consensus", "demo"),
    default_config="full",
    how_to_get=(
        "the addresses of its JSON Lines files are in healthbench_eval.py: INPUT_PATH and so on",
        "medical-tasks build medical_rubric --config full --source FILE.jsonl",
    ),
    version="1.1.0",
)
TAGS: Final = (
    "axis:accuracy",
    "axis:communication_quality",
    "axis:completeness",
    "axis:context_awareness",
    "axis:instruction_following",
    "level:cluster",
    "level:example",
)
