"""A judge checked on criteria that physicians decided, from the file of the authors' meta-evaluation."""

from __future__ import annotations

from collections.abc import Sequence

from medical_rubric.data import LABELLED, read_lines
from medical_rubric.judging import load_judge_prompts, question
from medical_tasks.data.dataset_source import file_sha256
from medical_tasks.judges.base import Judge, Unscored
from medical_tasks.judges.check_figures import CheckPair, subset
from medical_tasks.judges.check_sets import CheckRequest, CheckSet, Mode
from medical_tasks.judges.checks import TWO_WAY
from medical_tasks.scoring.agreement import majority
from medical_tasks.spec import texts_sha256

NOT_MET, MET = TWO_WAY.classes[::-1]


def read_check_set(request: CheckRequest) -> CheckSet:
    """A pair a line; of what physicians are evenly divided about there is no label."""
    path = request.needed("medical_rubric", "the file of the meta-evaluation").expanduser()
    prompts = load_judge_prompts(request.prompts, request.upstream)
    rows = dict(read_lines(path, LABELLED))
    most, every = max(len(row["binary_labels"]) for row in rows.values()), []
    for place, row in rows.items():
        labels = [MET if label else NOT_MET for label in row["binary_labels"]]
        pair = CheckPair(
            id=place,
            gold=majority(labels),
            ratings=(*labels, *[None] * (most - len(labels))),
            cluster=texts_sha256(*(message["content"] for message in row["prompt"])),
            group=row["category"],
            words=len(row["completion"].split()),
        )
        every.append(pair)
    pairs = subset(every, request.max_pairs)

    def ask(judge: Judge, mode: Mode, backwards: bool) -> Sequence[str | Unscored]:
        asked = [
            question(name, row["prompt"], row["completion"], row["rubric"], prompts)
            for name, row in ((pair.id, rows[pair.id]) for pair in pairs)
        ]
        outcomes = judge.ask(asked)
        return [
            each if isinstance(each, Unscored) else (NOT_MET, MET)[each.value] for each in outcomes
        ]

    return CheckSet(
        name="medical_rubric",
        pairs=pairs,
        ask=ask,
        ways=2,
        views=(TWO_WAY,),
        source={path.name: file_sha256(path)},
        prompts={"set": prompts.name, "sha256": prompts.sha256},
    )
