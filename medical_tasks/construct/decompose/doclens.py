"""`medical-tasks decompose doclens`: references or outputs decomposed into claims.

A file of claims is for one side. It holds each text with its claims, so that scoring can
look them up (Xie et al. 2024, sections 3.1 and 3.2).
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from medical_tasks.benchmarks.doclens.data import OwnText, read_own_texts
from medical_tasks.benchmarks.doclens.judge_prompts import load_judge_prompts
from medical_tasks.benchmarks.doclens.judging import judged_text, make_claims
from medical_tasks.benchmarks.doclens.measures import (
    FULL,
    ClaimRecord,
    Side,
    claim_rows,
)
from medical_tasks.benchmarks.doclens.pieces import SECTIONS, divide_note
from medical_tasks.benchmarks.doclens.scoring import text_units
from medical_tasks.catalog import dataset_spec, parse_task_names
from medical_tasks.construct.contract import Decomposition
from medical_tasks.construct.decompose.asking import (
    NOT_ASKED,
    credentialed_subjects,
    destination_of,
    not_taken_apart,
    open_judge,
    read_request,
    write_draft,
)
from medical_tasks.construct.options import Decompose
from medical_tasks.data.task_data import load_task_data
from medical_tasks.errors import UsageError
from medical_tasks.guard import policy
from medical_tasks.io.output import tell
from medical_tasks.judges.base import Judging, Unscored
from medical_tasks.runs.responses import Answer, parse_answers, read_file
from medical_tasks.scoring.reasoning import without_reasoning
from medical_tasks.spec import DatasetSpec, Item, TaskSpec

_DOCLENS: Final = "doclens"
_OWN_TASK: Final = "doclens_own"


def run(arguments: Decompose) -> int:
    """Decomposes the texts.

    If the judge did not decompose some texts, the others are written and the step ends
    with exit code 5. The same command then asks for the missing ones alone.
    """
    if arguments.side is None:
        raise UsageError(
            "decompose doclens needs --side reference or --side output. See: --help"
        )

    task = _task(arguments.task)
    spec = dataset_spec(task.dataset)
    request = read_request(arguments, task, texts="texts")
    subjects = [
        *credentialed_subjects(arguments, named=arguments.task or _OWN_TASK),
        policy.Subject.of(spec, task=f"decompose {_DOCLENS}"),
    ]
    if arguments.side == "reference" and arguments.source is not None:
        # Sources with references in a file are somebody's own, whatever task scores them.
        subjects.append(
            policy.Subject.of(dataset_spec(_OWN_TASK), task=f"decompose {_DOCLENS}")
        )

    with policy.protect(subjects, policy.attestation_from(arguments)):
        passages = _read_passages(arguments, task, spec)
        destination = destination_of(arguments, private=policy.protecting())
        settings = {"side": arguments.side, "task": task.name}
        sources = [arguments.source] if arguments.source is not None else []
        prompts = load_judge_prompts(task, request.prompts, request.options.upstream)
        with open_judge(
            request, destination, settings, texts="texts", sources=sources
        ) as judge:
            outcomes = make_claims(
                {
                    passage.name: (passage.text, task.options["form"], passage.section)
                    for passage in passages
                    if passage.text
                },
                Judging(judge=judge, prompts=prompts),
            )

        if request.options.forecast:
            tell(NOT_ASKED)
            return 0

        failed = {
            name: outcome.reason
            for name, outcome in outcomes.items()
            if isinstance(outcome, Unscored)
        }
        if len(failed) < len(passages):
            write_draft(
                destination, claims_text(passages, outcomes, side=arguments.side)
            )
            claims = [
                outcome
                for outcome in outcomes.values()
                if not isinstance(outcome, Unscored)
            ]
            _tell_written(
                destination.out,
                texts=len(claims),
                claims=sum(map(len, claims)),
                blank=len(passages) - len(outcomes),
            )
            name = "claims" if arguments.side == "reference" else "output_claims"
            tell(f"Go over them, then score with --task-args {name}={destination.out}")

        if failed:
            raise not_taken_apart(
                failed,
                len(outcomes),
                texts="texts",
                some_done=len(failed) < len(passages),
            )

        return 0


def _task(requested: str | None) -> TaskSpec:
    """Returns the task whose texts are decomposed; by default, one's own notes."""
    tasks = parse_task_names(requested or _OWN_TASK)
    if len(tasks) != 1 or tasks[0].benchmark.name != _DOCLENS:
        raise UsageError(
            f"--task takes one task of DocLens, such as {_OWN_TASK} or aci_bench; got "
            f"{requested!r}."
        )

    if tasks[0].options["form"] == "question":
        raise UsageError(
            f"{tasks[0].name}: a question is one claim, so there is nothing to take apart."
        )

    return tasks[0]


def _tell_written(out: Path, *, texts: int, claims: int, blank: int) -> None:
    tell(
        f"{texts} texts taken apart into {claims} claims, in {out}"
        + (f"; {blank} are blank and have none" if blank else ""),
        texts=texts,
        claims=claims,
        blank=blank,
        out=out,
    )


def _read_passages(
    arguments: Decompose, task: TaskSpec, spec: DatasetSpec
) -> Sequence[Passage]:
    source: Path | None = arguments.source
    if source is not None:
        for name in ("data", "config", "split"):
            if getattr(arguments, name) is not None:
                raise UsageError(
                    f"--source and --{name}: the texts are in a file or a built dataset. Leave one "
                    "out."
                )

    if arguments.side == "output":
        if source is None:
            raise UsageError("--side output needs --source, a file of responses.")

        return outputs(
            parse_answers(source, read_file(source, option="--source")), task
        )

    if source is not None:
        return own_references(read_own_texts(source), task)

    data = load_task_data(
        task, spec, data=arguments.data, config=arguments.config, split=arguments.split
    )
    return built_references(data.items)


@dataclass(frozen=True, kw_only=True)
class Passage:
    """A text to decompose; `text` has no citations, and is "" for a blank one."""

    record: str
    section: str
    text: str

    @property
    def name(self) -> str:
        """The name among all passages; names of sections have no slash."""
        return f"{self.record}/{self.section}"


def own_references(texts: Iterable[OwnText], task: TaskSpec) -> list[Passage]:
    """Returns the references of a user's own file.

    Notes are divided into sections: the record's own if it has any, else by headings.
    """
    if task.options["form"] not in ("note", "section"):
        return [_passage(text.id, FULL, text.reference) for text in texts]
    return [passage for text in texts for passage in _own_sections(text)]


def _own_sections(text: OwnText) -> Iterator[Passage]:
    for section in text.sections:
        if section not in SECTIONS:
            raise UsageError(
                f"example_id {text.id}: a note has the sections {', '.join(SECTIONS)}, but this "
                "record has others as well. Rename reference_SECTION, or leave it out."
            )
    divided = text.sections or divide_note(text.reference)
    return (
        _passage(text.id, section, divided.get(section, "")) for section in SECTIONS
    )


def outputs(answers: Iterable[Answer], task: TaskSpec) -> list[Passage]:
    """Returns the outputs of a file of responses."""
    return [
        _passage(unit.item, unit.section, unit.output)
        for answer in answers
        if answer.text is not None
        for unit in text_units(
            _blank_item(answer, task), without_reasoning(answer.text).strip()
        )
    ]


def _blank_item(answer: Answer, task: TaskSpec) -> Item:
    """Makes an item that has only the form of its text."""
    form = task.options["form"]
    section = answer.id.rpartition("/")[2]
    if form == "section" and section not in SECTIONS:
        raise UsageError(
            f"{answer.position}: an id of {task.name} is ENCOUNTER/SECTION, with one of "
            f"{', '.join(SECTIONS)}. Outputs of whole notes are taken apart with --task aci_bench."
        )

    fields = {
        "form": form,
        "sentences": (),
        "reference": "",
        "sections": dict.fromkeys(SECTIONS, ""),
    }
    return Item(
        id=answer.id, fields=fields, groups={"section": section}, cluster=answer.id
    )


def built_references(items: Iterable[Item]) -> list[Passage]:
    """Returns the references of a built dataset."""
    return [
        _passage(unit.item, unit.section, unit.reference)
        for item in items
        for unit in text_units(item, "")
    ]


def _passage(record: str, section: str, text: str) -> Passage:
    return Passage(record=record, section=section, text=judged_text(text))


def claims_text(
    passages: Sequence[Passage],
    claims: Mapping[str, tuple[str, ...] | Unscored],
    *,
    side: Side,
) -> str:
    """Returns a file of claims: JSON in the authors' format, one record for each example.

    Passages that were not decomposed are left out.
    """
    by_record: dict[str, list[tuple[Passage, tuple[str, ...]]]] = defaultdict(list)
    for passage in passages:
        passage_claims = claims[passage.name] if passage.text else ()
        if not isinstance(passage_claims, Unscored):
            by_record[passage.record].append((passage, passage_claims))

    records = [
        ClaimRecord(
            id=name,
            claims={
                passage.section: passage_claims for passage, passage_claims in entries
            },
            texts={passage.section: passage.text for passage, _ in entries},
        )
        for name, entries in by_record.items()
    ]
    return (
        json.dumps(claim_rows(records, side=side), ensure_ascii=False, indent=1) + "\n"
    )


DECOMPOSITION = Decomposition(
    options=("side", "task", "data", "config", "split", "prompts", "upstream"),
    run=run,
)
