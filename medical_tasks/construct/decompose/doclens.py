"""`medical-tasks decompose doclens`.

References and outputs taken apart into claims by a judge model, for a file of claims.

A file is of one side and holds each text with its claims, by which scoring finds them
(Xie et al. 2024, sections 3.1 and 3.2).
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
    asked,
    not_taken_apart,
    read_request,
    said_credentialed,
    write_draft,
    written_to,
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
    """Takes the texts apart, as parsed options say.

    Texts that the judge left are named, and the step ends with exit code 5; the others
    are written all the same, and the same command asks again for those alone.
    """
    if arguments.side is None:
        raise UsageError(
            "decompose doclens needs --side reference or --side output. See: --help"
        )

    task = _task(arguments.task)
    spec = dataset_spec(task.dataset)
    request = read_request(arguments, task, texts="texts")
    subjects = [
        *said_credentialed(arguments, named=arguments.task or _OWN_TASK),
        policy.Subject.of(spec, task=f"decompose {_DOCLENS}"),
    ]
    if arguments.side == "reference" and arguments.source is not None:
        # Whatever they will be scored as, sources with references in a file are
        # somebody's own.
        subjects.append(
            policy.Subject.of(dataset_spec(_OWN_TASK), task=f"decompose {_DOCLENS}")
        )

    with policy.protect(subjects, policy.attestation_from(arguments)):
        parts = _parts(arguments, task, spec)
        written = written_to(arguments, private=policy.protecting())
        settings = {"side": arguments.side, "task": task.name}
        sources = [arguments.source] if arguments.source is not None else []
        prompts = load_judge_prompts(task, request.prompts, request.options.upstream)
        with asked(request, written, settings, texts="texts", sources=sources) as judge:
            made = make_claims(
                {
                    part.name: (part.text, task.options["form"], part.section)
                    for part in parts
                    if part.text
                },
                Judging(judge=judge, prompts=prompts),
            )

        if request.options.forecast:
            tell(NOT_ASKED)
            return 0

        failed = {
            name: found.reason
            for name, found in made.items()
            if isinstance(found, Unscored)
        }
        if len(failed) < len(parts):
            write_draft(written, claims_text(parts, made, side=arguments.side))
            claims = [
                found for found in made.values() if not isinstance(found, Unscored)
            ]
            _tell_written(
                written.out,
                texts=len(claims),
                claims=sum(map(len, claims)),
                blank=len(parts) - len(made),
            )
            name = "claims" if arguments.side == "reference" else "output_claims"
            tell(f"Go over them, then score with --task-args {name}={written.out}")

        if failed:
            raise not_taken_apart(
                failed, len(made), texts="texts", some_done=len(failed) < len(parts)
            )

        return 0


def _task(requested: str | None) -> TaskSpec:
    """The task whose texts are taken apart; notes of one's own where none is named."""
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


def _parts(arguments: Decompose, task: TaskSpec, spec: DatasetSpec) -> Sequence[Part]:
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
class Part:
    """One text to be taken apart. `text`: without citations; "" for a blank one."""

    record: str
    section: str
    text: str

    @property
    def name(self) -> str:
        """Its name among all parts: no section's has a slash."""
        return f"{self.record}/{self.section}"


def own_references(texts: Iterable[OwnText], task: TaskSpec) -> list[Part]:
    """The references of a user's own file.

    Of notes in sections, the record's own if it has any, else by their headings.
    """
    if task.options["form"] not in ("note", "section"):
        return [_part(text.id, FULL, text.reference) for text in texts]
    return [part for text in texts for part in _own_sections(text)]


def _own_sections(text: OwnText) -> Iterator[Part]:
    for section in text.sections:
        if section not in SECTIONS:
            raise UsageError(
                f"example_id {text.id}: a note has the sections {', '.join(SECTIONS)}, and this "
                "record others as well. Rename reference_SECTION, or leave it out."
            )
    divided = text.sections or divide_note(text.reference)
    return (_part(text.id, section, divided.get(section, "")) for section in SECTIONS)


def outputs(answers: Iterable[Answer], task: TaskSpec) -> list[Part]:
    """The outputs of a file of responses."""
    return [
        _part(unit.item, unit.section, unit.output)
        for answer in answers
        if answer.text is not None
        for unit in text_units(
            _blank_item(answer, task), without_reasoning(answer.text).strip()
        )
    ]


def _blank_item(answer: Answer, task: TaskSpec) -> Item:
    """An item that knows nothing but what form its text has."""
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


def built_references(items: Iterable[Item]) -> list[Part]:
    """The references of a built dataset."""
    return [
        _part(unit.item, unit.section, unit.reference)
        for item in items
        for unit in text_units(item, "")
    ]


def _part(record: str, section: str, text: str) -> Part:
    return Part(record=record, section=section, text=judged_text(text))


def claims_text(
    parts: Sequence[Part],
    claims: Mapping[str, tuple[str, ...] | Unscored],
    *,
    side: Side,
) -> str:
    """A file of claims, JSON in the authors' form, a record an example in order.

    What was not taken apart is not there.
    """
    made: dict[str, list[tuple[Part, tuple[str, ...]]]] = defaultdict(list)
    for part in parts:
        found = claims[part.name] if part.text else ()
        if not isinstance(found, Unscored):
            made[part.record].append((part, found))

    records = [
        ClaimRecord(
            id=name,
            claims={part.section: found for part, found in some},
            texts={part.section: part.text for part, _ in some},
        )
        for name, some in made.items()
    ]
    return (
        json.dumps(claim_rows(records, side=side), ensure_ascii=False, indent=1) + "\n"
    )


DECOMPOSITION = Decomposition(
    options=("side", "task", "data", "config", "split", "prompts", "upstream"),
    run=run,
)
