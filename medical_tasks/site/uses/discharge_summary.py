"""discharge-summary: compares a model's summary with a clinician's own, as DocLens does.

The claims of the clinician's summary are drafted by the maker (`decompose doclens`), or
are its sentences; reviewers correct them. Completeness is the share of these claims that
the model's summary entails, conciseness the share of its claims that the clinician's
entails, and attribution concerns its citations.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from medical_tasks.benchmarks.doclens.pieces import EMPTY
from medical_tasks.construct.decompose.doclens import run as decompose
from medical_tasks.construct.options import Decompose
from medical_tasks.errors import UsageError
from medical_tasks.io.files import WholeFile, read_text
from medical_tasks.io.tables import write_table
from medical_tasks.options import read_settings
from medical_tasks.runs.results import Json
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
    note_texts,
    passages_of,
    read_drafts,
    statements_in,
    stratum_of,
    with_patients,
    write_drafts,
)

CLAIMS: Final = "claims.json"
_FACTEHR: Final = (
    "doc_id", "prompt", "index", "entailment_type", "model_name", "premise", "hypothesis",
    "human_pred",
)  # fmt: skip


class DischargeSummary:
    """See the module."""

    def draft(
        self, site: Site, patients: list[Patient], options: Make
    ) -> Drafted | None:
        """The claims of each clinician's summary."""
        maker, failed = site.settings.models.maker, 0
        if maker:
            claims, failed = _decomposed(site, patients, options)
            if options.forecast:
                return None
        else:
            claims = {
                patient.id: statements_in(summary_of(patient)) for patient in patients
            }

        write_drafts(
            site, ({"id": name, "claims": own} for name, own in claims.items())
        )
        return Drafted(items=len(claims), failed=failed)

    def sheet(self, site: Site, patients: list[Patient]) -> Sheet:
        """The sheet of clinicians' summaries with their claims, one a line."""
        return items_sheet(
            site,
            "Claims of summaries",
            "One claim a line: everything that the summary says, each claim once and "
            "understandable by itself. Correct the list. Drop a summary that is inadequate.",
            (
                _item(draft, patient)
                for draft, patient in with_patients(read_drafts(site), patients)
            ),
        )

    def kept_items(
        self, site: Site, patients: list[Patient], decided: Mapping[str, Decided]
    ) -> KeptItems:
        """The kept notes with their summaries; also writes the file of claims."""
        drafts = {draft["id"]: draft["claims"] for draft in read_drafts(site)}
        texts, claims, changed = [], [], 0
        for patient in patients:
            decision = decided.get(patient.id)
            if decision is None or decision.value != "keep":
                continue

            own = lines_in(decision.edits.get("claims", "\n".join(drafts[patient.id])))
            changed += own != drafts[patient.id]
            reference = summary_of(patient)
            texts.append(_record(patient, reference))
            claims.append(
                {
                    "example_id": patient.id,
                    "reference": reference,
                    "subclaims_reference": own,
                }
            )

        if not texts:
            raise UsageError("no summary was kept, so that there is nothing to ask.")

        source = work_folder(site) / "texts.json"
        _write_json(source, texts)
        _write_json(work_folder(site) / CLAIMS, claims)

        return KeptItems(
            source=source,
            patients={row["example_id"]: row["example_id"] for row in texts},
            figures={
                "kept": len(texts),
                "removed": len(decided) - len(texts),
                "lists_revised": changed,
                "claims": sum(len(row["subclaims_reference"]) for row in claims),
            },
        )

    def scoring(self, site: Site) -> Mapping[str, str]:
        """The task's scoring setting: the file of the checked claims."""
        return {"claims": str(work_folder(site) / CLAIMS)}


MAKER: Final = DischargeSummary()


class ClaimLabels:
    """A claim and a model's summary: does the summary say it?"""

    def sheet(
        self, site: Site, drawn: Sequence[Drawn], patients: Mapping[str, Patient]
    ) -> Sheet:
        """The sheet of one claim for each answer, without summaries that have no claims."""
        claims = _claims_for(site, drawn)
        return labels_sheet(
            site,
            "Claims in summaries",
            "Stated: the summary says this claim, in any words, whole. Else not stated. You do "
            "not see whose summary it is.",
            (
                Choice(key="1", value="stated", label="stated"),
                Choice(key="0", value="missing", label="not stated"),
            ),
            (
                Item(
                    id=answer.id,
                    prompt=claims[answer.id],
                    passages=passages_of({"Summary": answer.text}, claims[answer.id]),
                    stratum=stratum_of(patients[answer.item.id]),
                )
                for answer in drawn
                if answer.id in claims
            ),
            marked="sentences that share most words with the claim",
        )

    def check(
        self,
        site: Site,
        drawn: Sequence[Drawn],
        decided: Mapping[str, Decided],
        path: Path,
    ) -> Mapping[str, object]:
        """The labels in FactEHR's published form, which `judge-check doclens` reads."""
        claims = _claims_for(site, drawn)
        rows = [
            (
                answer.item.id,
                "site",
                number,
                "recall",
                answer.role,
                answer.text,
                claims[answer.id],
                int(decided[answer.id].value == "stated"),
            )
            for number, answer in enumerate(drawn)
        ]
        write_table(path, [_FACTEHR, *rows], private=True)

        return {"set": "doclens"}


LABELLING: Final = ClaimLabels()


def summary_of(patient: Patient) -> str:
    """The clinician's own summary, from the patient's last row that has one."""
    summaries = [cells["summary"].strip() for cells in patient.rows]
    return next((text for text in reversed(summaries) if text), EMPTY)


def _claims_for(site: Site, drawn: Sequence[Drawn]) -> dict[str, str]:
    """The claim of the clinician's summary that is labelled for each answer.

    The answer's id decides which one, so that it is always the same.
    """
    rows = json.loads(read_text(work_folder(site) / CLAIMS))
    claims = {row["example_id"]: row["subclaims_reference"] for row in rows}
    return {
        answer.id: own[int(answer.id[1:], 16) % len(own)]
        for answer in drawn
        if (own := claims[answer.item.id])
    }


def _record(patient: Patient, reference: str) -> dict[str, str]:
    notes = "\n\n".join(note_texts(patient).values())
    return {"example_id": patient.id, "input": notes, "reference": reference}


def _write_json(path: Path, content: object) -> None:
    with WholeFile(path, private=True) as stream:
        stream.write(json.dumps(content, ensure_ascii=False, indent=1) + "\n")


def _item(draft: Json, patient: Patient) -> Item:
    text = "\n".join(draft["claims"])
    return Item(
        id=draft["id"],
        prompt="Are these the claims of the summary?",
        passages=passages_of({"Clinician's summary": summary_of(patient)}),
        editable=(Field(name="claims", label="claims, one a line", text=text),),
        stratum=stratum_of(patient),
    )


def _decomposed(
    site: Site, patients: Sequence[Patient], options: Make
) -> tuple[dict[str, list[str]], int]:
    """The claims by the maker, which is not asked again for stored replies."""
    folder, models = work_folder(site), site.settings.models
    source, out = folder / "references.json", folder / "drafted_claims.json"
    _write_json(source, [_record(patient, summary_of(patient)) for patient in patients])
    is_incomplete = decompose_with(
        decompose,
        Decompose(
            benchmark="doclens",
            source=source,
            side="reference",
            out=out,
            work=folder / "replies",
            judge=models.maker,
            judge_args=read_settings(models.args.get("maker", "")),
            forecast=options.forecast,
            allow_remote=options.allow_remote,
            attest_zero_retention=options.attest_zero_retention,
        ),
    )
    if options.forecast:
        return {}, 0

    rows = json.loads(read_text(out))
    claims = {row["example_id"]: row["subclaims_reference"] for row in rows}
    return claims, len(patients) - len(claims) if is_incomplete else 0
