"""References and outputs taken apart into claims by a judge model, for a file of claims (Xie et al. 2024, sections 3.1 and 3.2).

Claims of a file are the same in every scoring, and people can mend them; the authors published those of ACI-BENCH's references. A
file is of one side. It holds each text with its claims, so that scoring finds them by the text (`scoring`); clinical notes have
claims of each section. A text is taken apart without its citations, a blank one has no claims and nobody is asked.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from medical_tasks.benchmarks.doclens.judging import judged_text
from medical_tasks.benchmarks.doclens.measures import FULL, ClaimRecord, Side, claim_rows
from medical_tasks.benchmarks.doclens.own_data import OwnText
from medical_tasks.benchmarks.doclens.pieces import SECTIONS, divide_note
from medical_tasks.benchmarks.doclens.scoring import text_units
from medical_tasks.errors import UsageError
from medical_tasks.judges.base import Unscored
from medical_tasks.runs.responses import Answer
from medical_tasks.scoring.reasoning import spoken
from medical_tasks.spec import Item, TaskSpec

NOTES: Final = ("note", "section")
"""Forms of texts that have sections."""


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


def check_task(task: TaskSpec) -> None:
    """Refuses a task whose texts are not taken apart."""
    if task.options["form"] == "question":
        raise UsageError(f"{task.name}: a question is one claim, so there is nothing to take apart.")


def own_references(texts: Iterable[OwnText], task: TaskSpec) -> list[Part]:
    """The references of a user's own file.

    Returns each reference, for clinical notes in sections: the record's own if it has any, else by their headings.
    """
    if task.options["form"] not in NOTES:
        return [_part(text.id, FULL, text.reference) for text in texts]
    return [part for text in texts for part in _own_sections(text)]


def _own_sections(text: OwnText) -> Iterator[Part]:
    for section in text.sections:
        if section not in SECTIONS:
            raise UsageError(
                f"example_id {text.id}: a note has the sections {', '.join(SECTIONS)}, and this record others as well. Rename "
                "reference_SECTION, or leave it out."
            )
    divided = text.sections or divide_note(text.reference)
    return (_part(text.id, section, divided.get(section, "")) for section in SECTIONS)


def outputs(answers: Iterable[Answer], task: TaskSpec) -> list[Part]:
    """The outputs of a file of responses."""
    given = [answer for answer in answers if answer.text is not None]
    return [
        _part(unit.item, unit.section, unit.output)
        for answer in given
        for unit in text_units(_blank_item(answer, task), spoken(str(answer.text)).strip())
    ]


def _blank_item(answer: Answer, task: TaskSpec) -> Item:
    """An item that knows nothing but what form its text has."""
    form = task.options["form"]
    section = answer.id.rpartition("/")[2]
    if form == "section" and section not in SECTIONS:
        raise UsageError(
            f"{answer.place}: an id of {task.name} is ENCOUNTER/SECTION, with one of {', '.join(SECTIONS)}. Outputs of whole notes "
            "are taken apart with --task aci_bench."
        )
    fields = {"form": form, "sentences": (), "reference": "", "sections": dict.fromkeys(SECTIONS, "")}
    return Item(id=answer.id, fields=fields, groups={"section": section}, cluster=answer.id)


def built_references(items: Iterable[Item]) -> list[Part]:
    """The references of a built dataset."""
    return [_part(unit.item, unit.section, unit.reference) for item in items for unit in text_units(item, "")]


def _part(record: str, section: str, text: str) -> Part:
    return Part(record=record, section=section, text=judged_text(text))


def claims_text(parts: Sequence[Part], claims: Mapping[str, tuple[str, ...] | Unscored], *, side: Side) -> str:
    """Writes a file of claims.

    Returns JSON in the authors' form, a record an example in order. What was not taken apart is not there.
    """
    texts: dict[str, dict[str, str]] = {}
    made: dict[str, dict[str, tuple[str, ...]]] = {}
    for part in parts:
        found = claims[part.name] if part.text else ()
        if not isinstance(found, Unscored):
            texts.setdefault(part.record, {})[part.section] = part.text
            made.setdefault(part.record, {})[part.section] = found
    records = [ClaimRecord(id=name, claims=made[name], texts=texts[name]) for name in made]
    return json.dumps(claim_rows(records, side=side), ensure_ascii=False, indent=1) + "\n"
