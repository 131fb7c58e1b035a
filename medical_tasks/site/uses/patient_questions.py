"""patient-questions: compares answers to patients with a clinician's own, as K-QA does.

The statements of the clinician's answer are drafted by the maker (`decompose kqa`), or
are its sentences; reviewers correct them and sort them into what an answer must have and
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
from medical_tasks.errors import UsageError
from medical_tasks.io.tables import write_table
from medical_tasks.options import read_settings
from medical_tasks.runs.results import Json, JsonDict
from medical_tasks.site.desk.sheets import Choice, Field, Item, Sheet
from medical_tasks.site.desk.work import Decided
from medical_tasks.site.folder import Site
from medical_tasks.site.judging import Drawn
from medical_tasks.site.making import Drafted, KeptItems, work_folder
from medical_tasks.site.options import Make
from medical_tasks.site.sampling import Patient
from medical_tasks.site.uses.sheets import (
    decompose_with,
    items_sheet,
    labels_sheet,
    lines_in,
    marks_of,
    passages_of,
    read_drafts,
    read_lines,
    statements_in,
    stratum_of,
    with_patients,
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
        questions = _questions_of(patients)
        failed = 0
        if site.settings.models.maker:
            statements, failed = _decomposed(site, questions, options)
            if options.forecast:
                return None
        else:
            statements = {
                name: (statements_in(question["answer"]), [])
                for name, question in questions.items()
            }

        write_drafts(
            site,
            (
                {**questions[name], "id": name, "must_have": must, "nice_to_have": nice}
                for name, (must, nice) in statements.items()
            ),
        )
        return Drafted(items=len(statements), failed=failed)

    def sheet(self, site: Site, patients: list[Patient]) -> Sheet:
        """The sheet of questions with the clinician's answer and its statements, one a line."""
        return items_sheet(
            site,
            "Statements of answers",
            "One statement a line. Must have: without it an answer would be unsafe or "
            "incomplete. Nice to have: true and helpful. Correct both lists. Drop a question that "
            "says who the patient is, or that nobody should answer.",
            (
                _item(draft, patient)
                for draft, patient in with_patients(read_drafts(site), patients)
            ),
        )

    def kept_items(
        self, site: Site, patients: list[Patient], decided: Mapping[str, Decided]
    ) -> KeptItems:
        """The kept questions in the form of K-QA's own file."""
        rows, owners = [], {}
        for draft, patient in with_patients(read_drafts(site), patients):
            decision = decided.get(draft["id"])
            if decision is None or decision.value != "keep":
                continue

            lists = {
                name: lines_in(decision.edits.get(name, "\n".join(draft[name])))
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
            owners[question_id(draft["question"])] = patient.id

        if not rows:
            raise UsageError("no question was kept, so that there is nothing to ask.")

        source = work_folder(site) / "questions.jsonl"
        write_lines(source, rows)
        return KeptItems(
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
        """The sheet of one statement for each answer."""
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
                    id=answer.id,
                    prompt=f"{answer.item.fields['question']}\nStatement: {_statement(answer)[0]}",
                    answer=answer.text,
                    stratum=stratum_of(patients[owners[answer.item.id]]),
                )
                for answer in drawn
            ),
        )

    def check(
        self,
        site: Site,
        drawn: Sequence[Drawn],
        decided: Mapping[str, Decided],
        path: Path,
    ) -> Mapping[str, object]:
        """Writes the labels in the form of K-QA's physicians, with the final label as the third.

        So pairwise agreement there does not measure two raters, as the desk's kappa does.
        """
        reviewers = site.settings.reviewers
        rows, seen = [], set[tuple[str, str, str]]()
        for number, answer in enumerate(drawn):
            decision = decided[answer.id]
            pair = answer.item.id, answer.text, _statement(answer)[0]
            if pair in seen:  # two models that answer alike are one pair
                continue

            seen.add(pair)
            marks = marks_of(decision, reviewers.names, reviewers.adjudicator)
            values = [marks.get(name, decision.value) for name in reviewers.names][:2]
            labels = [
                _VERDICTS[mark] for mark in (*values, decision.value, decision.value)
            ][:3]
            text, importance = _statement(answer)
            final = _VERDICTS[decision.value]
            question = answer.item.fields["question"]
            rows.append(
                (
                    number,
                    question,
                    answer.role,
                    answer.text,
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
    """The statement that is labelled for an answer, by the answer's id, and its importance."""
    fields = drawn.item.fields
    every = [
        *((text, "Must_have") for text in fields["must_have"]),
        *((text, "Nice_to_have") for text in fields["nice_to_have"]),
    ]
    return every[int(drawn.id[1:], 16) % len(every)]


def _questions_of(patients: Sequence[Patient]) -> dict[str, JsonDict]:
    """The questions by their ids in the dataset; of equal questions the first counts."""
    questions: dict[str, JsonDict] = {}
    for patient in patients:
        for cells in patient.rows:
            question = " ".join(cells["question"].split())
            questions.setdefault(
                question_id(question),
                {
                    "patient": patient.id,
                    "question": question,
                    "answer": cells["answer"].strip(),
                },
            )

    return questions


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
    site: Site, questions: Mapping[str, Json], options: Make
) -> tuple[dict[str, tuple[list[str], list[str]]], int]:
    """The statements by the maker, which is not asked again for stored replies."""
    folder, models = work_folder(site), site.settings.models
    source, out = folder / "answers.jsonl", folder / "drafted_statements.jsonl"
    write_lines(
        source,
        (
            {"Question": question["question"], "Free_form_answer": question["answer"]}
            for question in questions.values()
        ),
    )
    is_incomplete = decompose_with(
        decompose,
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
        ),
    )
    if options.forecast:
        return {}, 0

    statements = {
        question_id(row["Question"]): (row["Must_have"], row["Nice_to_have"])
        for row in read_lines(out)
    }
    return statements, len(questions) - len(statements) if is_incomplete else 0
