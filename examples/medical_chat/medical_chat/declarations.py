"""What the modules share: the dataset, its turns, and the nine metrics."""

from __future__ import annotations

from typing import Final, Literal, TypedDict

from medical_tasks.spec import DatasetSpec, MetricSpec

DATASET = DatasetSpec(
    name="medical_chat",
    title="EHRNote-ChatQA",
    access="credentialed",
    licence="PhysioNet-Credentialed-1.5.0",
    homepage="https://github.com/ji-youn-kim/EHRNote-ChatQA",
    paper="https://arxiv.org/abs/2606.15735",
    citation="@misc{kim2026ehrnotechatqa, eprint = {2606.15735}, archivePrefix = {arXiv}}",
    configs=("full", "demo"),
    default_config="full",
    how_to_get=(
        "get notes.csv and questions.csv into one folder: PhysioNet, once they are released there",
        "medical-tasks build medical_chat --source FOLDER, or --config demo without any file",
    ),
    version="1.0.0",
)
LETTERS: Final = "ABCDE"


class Turn(TypedDict):
    """One question of a conversation: key `2` asks about the notes, `2-1` for its source."""

    key: str
    question: str
    choices: list[str]
    answer: str


def right_choice(turn: Turn) -> str:
    """The text of the right choice."""
    return turn["choices"][LETTERS.index(turn["answer"])]


KINDS: Final = {"content": "answers", "source": "sources of answers", "pair": "pairs of both"}
_OVER: Final[dict[str, tuple[Literal["ratio", "mean", "proportion"], str]]] = {
    "": ("ratio", "share of right {}, over all of them"),
    "_patient": ("mean", "share of right {} of a patient, averaged over patients"),
    "_all": ("proportion", "share of patients with only right {}"),
}
METRICS = tuple(
    MetricSpec(name=kind + over, kind=figure, description=description.format(what))
    for kind, what in KINDS.items()
    for over, (figure, description) in _OVER.items()
)
"""The nine accuracies of the authors' script."""
