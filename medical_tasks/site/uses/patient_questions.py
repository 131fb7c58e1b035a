"""patient-questions: what patients ask, against a clinician's own answers, as K-QA has it.

The statements of the clinician's answer are drafted by the maker (`decompose kqa`), or
are its sentences; reviewers mend them and sort them into what an answer must have and
what is nice to have. An answer is judged by how many it entails and contradicts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from medical_tasks.benchmarks.kqa.data import question_id
from medical_tasks.construct.decompose.command import run as decompose
from medical_tasks.construct.options import Decompose
from medical_tasks.construct.shared import write_lines
from medical_tasks.errors import IncompleteError, UsageError
from medical_tasks.io.tables import write_table
from medical_tasks.options import read_settings
from medical_tasks.runs.results import Json, JsonDict
from medical_tasks.site.desk.sheets import Choice, Field, Item, Sheet
from medical_tasks.site.desk.work import Decided
from medical_tasks.site.folder import Site
from medical_tasks.site.judging import Drawn
from medical_tasks.site.making import Drafted, Made, work_folder
from medical_tasks.site.options import Make
from medical_tasks.site.sampling import Patient
from medical_tasks.site.uses.sheets import (
    items_sheet,
    labels_sheet,
    lines_in,
    marks_of,
    passages_of,
    read_drafts,
    read_lines,
    statements_in,
    stratum_of,
    write_drafts,
)

_VERDICTS: Final = {
    "entailed": "Entailment",
    "neutral": "Neutral",
    "contradicted": "Contradiction",
}
_COLUMNS: Final = (
    "", "Question", "llm_x", "answer", "claim", "category_x", "majority_label",
    "label_0", "label_1", "label_2",
)  # fmt: skip


class PatientQuestions:
    """See the module."""

    def draft(
        self, site: Site, patients: list[Patient], options: Make
    ) -> Drafted | None:
        """The statements of each clinician's answer."""
        asked = _asked(patients)
        failed = 0
        if site.settings.models.maker:
            found, failed = _decomposed(site, asked, options)
            if options.forecast:
                return None
        else:
            found = {
                name: (statements_in(one["answer"]), []) for name, one in asked.items()
            }

        write_drafts(
            site,
            (
                {**asked[name], "id": name, "must_have": must, "nice_to_have": nice}
                for name, (must, nice) in found.items()
            ),
        )
        return Drafted(items=len(found), failed=failed)

    def sheet(self, site: Site, patients: list[Patient]) -> Sheet:
        """A question with the clinician's answer, and its statements, one a line."""
        known = {each.id: each for each in patients}
        return items_sheet(
            site,
            "Statements of answers",
            "One statement a line. Must have: without it an answer would be unsafe or "
            "incomplete. Nice to have: true and helpful. Mend both lists. Drop a question that "
            "says who the patient is, or that nobody should answer.",
            (
                _item(draft, known[draft["patient"]])
                for draft in read_drafts(site)
                if draft["patient"] in known
            ),
        )

    def made(
        self, site: Site, patients: list[Patient], decided: Mapping[str, Decided]
    ) -> Made:
        """The kept questions in the form of K-QA's own file."""
        known = {each.id for each in patients}
        rows, owners = [], {}
        for draft in read_drafts(site):
            one = decided.get(draft["id"])
            if one is None or one.value != "keep" or draft["patient"] not in known:
                continue

            lists = {
                name: lines_in(one.edits.get(name, "\n".join(draft[name])))
                for name in ("must_have", "nice_to_have")
            }
            if not any(lists.values()):
                raise UsageError(
                    f"question {draft['id']}: was kept, and its two lists of statements are "
                    "empty, so that no answer could be scored. Write a statement or drop the "
                    "question at the desk: medical-tasks site review"
                )

            rows.append(
                {
                    "Question": draft["question"],
                    "Free_form_answer": draft["answer"],
                    "Must_have": lists["must_have"],
                    "Nice_to_have": lists["nice_to_have"],
                }
            )
            owners[question_id(draft["question"])] = draft["patient"]

        if not rows:
            raise UsageError("no question was kept, so that there is nothing to ask.")

        source = work_folder(site) / "questions.jsonl"
        write_lines(source, rows)
        return Made(
            source=source,
            patients=owners,
            figures={
                "kept": len(rows),
                "removed": len(decided) - len(rows),
                "must_have": sum(len(row["Must_have"]) for row in rows),
            },
        )

    def scoring(self, site: Site) -> Mapping[str, str]:
        """None."""
        return {}


MAKER: Final = PatientQuestions()


class StatementLabels:
    """A statement and an answer: does the answer entail or contradict it?"""

    def sheet(
        self, site: Site, drawn: Sequence[Drawn], patients: Mapping[str, Patient]
    ) -> Sheet:
        """One statement an answer, drawn by the answer's id."""
        owners = {draft["id"]: draft["patient"] for draft in read_drafts(site)}
        return labels_sheet(
            site,
            "Statements in answers",
            "Entailed: the answer says this statement, in any words. Contradicted: it says the "
            "opposite, or advises against it. Else neutral.",
            (
                Choice(key="1", value="entailed", label="entailed"),
                Choice(key="2", value="neutral", label="neutral"),
                Choice(key="3", value="contradicted", label="contradicted"),
            ),
            (
                Item(
                    id=each.id,
                    prompt=f"{each.item.fields['question']}\nStatement: {_statement(each)[0]}",
                    answer=each.text,
                    stratum=stratum_of(patients[owners[each.item.id]]),
                )
                for each in drawn
            ),
        )

    def check(
        self,
        site: Site,
        drawn: Sequence[Drawn],
        decided: Mapping[str, Decided],
        path: Path,
    ) -> Mapping[str, object]:
        """The labels in the form of K-QA's physicians; the third is the final label.

        So their pairwise agreement there is no measure of two raters: that is kappa of
        the desk.
        """
        reviewers = site.settings.reviewers
        rows, seen = [], set[tuple[str, str, str]]()
        for number, each in enumerate(drawn):
            one = decided[each.id]
            pair = each.item.id, each.text, _statement(each)[0]
            if pair in seen:  # two models that answer alike are one pair
                continue

            seen.add(pair)
            marks = marks_of(one, reviewers.names, reviewers.adjudicator)
            said = [marks.get(name, one.value) for name in reviewers.names][:2]
            labels = [_VERDICTS[mark] for mark in (*said, one.value, one.value)][:3]
            text, importance = _statement(each)
            final = _VERDICTS[one.value]
            question = each.item.fields["question"]
            rows.append(
                (
                    number,
                    question,
                    each.role,
                    each.text,
                    text,
                    importance,
                    final,
                    *labels,
                )
            )

        write_table(path, [_COLUMNS, *rows], private=True)
        return {"set": "kqa"}


LABELLING: Final = StatementLabels()


def _statement(drawn: Drawn) -> tuple[str, str]:
    """The statement that is labelled with an answer, by the answer's id; its importance."""
    fields = drawn.item.fields
    every = [
        *((text, "Must_have") for text in fields["must_have"]),
        *((text, "Nice_to_have") for text in fields["nice_to_have"]),
    ]
    return every[int(drawn.id[1:], 16) % len(every)]


def _asked(patients: Sequence[Patient]) -> dict[str, JsonDict]:
    """The questions by the ids that the dataset gives them; the first of equal ones counts."""
    found: dict[str, JsonDict] = {}
    for patient in patients:
        for cells in patient.rows:
            question = " ".join(cells["question"].split())
            found.setdefault(
                question_id(question),
                {
                    "patient": patient.id,
                    "question": question,
                    "answer": cells["answer"].strip(),
                },
            )

    return found


def _item(draft: Json, patient: Patient) -> Item:
    return Item(
        id=draft["id"],
        prompt=draft["question"],
        passages=passages_of({"Clinician's answer": draft["answer"]}),
        editable=tuple(
            Field(name=name, label=label, text="\n".join(draft[name]))
            for name, label in (
                ("must_have", "must have, one a line"),
                ("nice_to_have", "nice to have, one a line"),
            )
        ),
        stratum=stratum_of(patient),
    )


def _decomposed(
    site: Site, asked: Mapping[str, Json], options: Make
) -> tuple[dict[str, tuple[list[str], list[str]]], int]:
    """The statements by the maker; what it answered before is not asked again."""
    folder, models = work_folder(site), site.settings.models
    source, out = folder / "answers.jsonl", folder / "drafted_statements.jsonl"
    write_lines(
        source,
        (
            {"Question": one["question"], "Free_form_answer": one["answer"]}
            for one in asked.values()
        ),
    )
    failed = 0
    out.unlink(missing_ok=True)
    try:
        decompose(
            Decompose(
                benchmark="kqa",
                source=source,
                out=out,
                work=folder / "replies",
                judge=models.maker,
                judge_args=read_settings(models.args.get("maker", "")),
                importance="judge",
                credentialed=not site.settings.open,
                forecast=options.forecast,
                allow_remote=options.allow_remote,
                attest_zero_retention=options.attest_zero_retention,
            )
        )
    except IncompleteError:
        if not out.is_file():
            raise

        failed = 1

    if options.forecast:
        return {}, 0

    found = {
        question_id(row["Question"]): (row["Must_have"], row["Nice_to_have"])
        for row in read_lines(out)
    }
    return found, failed and len(asked) - len(found)
