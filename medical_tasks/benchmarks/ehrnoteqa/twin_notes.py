"""Synthetic discharge summaries in the layout of MIMIC-IV-Note: sections, `___` for what is removed, wrapped lines.

A note says what happened in one invented stay, and is filled up to a length with laboratory lines and paragraphs of the
hospital course, which are wrapped once for many notes: a file of hundreds of thousands takes a minute or two.
"""

from __future__ import annotations

import random
import textwrap
from dataclasses import dataclass

from medical_tasks.benchmarks.ehrnoteqa.twin_words import (
    ACTIVITIES,
    ADVICE,
    LABS,
    PAST,
    PRESSURES,
    SENTENCES,
    STAYS,
    VALUES,
    Stay,
)

__all__ = ["TwinStay", "Writer", "draw_stays"]

_PARAGRAPHS = 600
_LAB_LINES = 400
_WIDTH = 68
_BLANK = " \n"  # blank lines of these files hold a space


@dataclass(frozen=True, kw_only=True)
class TwinStay:
    """One admission of an invented patient.

    Attributes:
        about: what it was about.
        creatinine: at discharge, as the note gives it.
        pressure: the blood pressure on admission.
        past: an operation of former years, the same in all stays of a patient.
        activity: what the patient could do at discharge.
        advice: what the patient was told to do at home.
        date: charted, `YYYY-MM-DD`.
    """

    about: Stay
    creatinine: str
    pressure: str
    past: str
    activity: str
    advice: str
    date: str


def draw_stays(draw: random.Random, count: int) -> list[TwinStay]:
    """Draws admissions of one patient, oldest first.

    Up to as many as there are kinds of stays, no two are about the same or have the same creatinine.

    Args:
        draw: the source of chance.
        count: how many.

    Returns:
        The admissions.
    """
    distinct = count <= len(STAYS)
    kinds = draw.sample(STAYS, count) if distinct else draw.choices(STAYS, k=count)
    values = draw.sample(VALUES, count) if distinct else draw.choices(VALUES, k=count)
    past = draw.choice(PAST)
    year, month = draw.randrange(2110, 2190), draw.randrange(12)
    stays = []
    for kind, creatinine in zip(kinds, values, strict=True):
        date = f"{year + month // 12:04d}-{month % 12 + 1:02d}-{draw.randrange(1, 29):02d}"
        stays.append(
            TwinStay(
                about=kind,
                creatinine=creatinine,
                pressure=draw.choice(PRESSURES),
                past=past,
                activity=draw.choice(ACTIVITIES),
                advice=draw.choice(ADVICE),
                date=date,
            )
        )
        month += draw.randrange(1, 20)
    return stays


class Writer:
    """Writes notes; what they are filled up with depends on the seed alone.

    Args:
        seed: of the filling.
    """

    def __init__(self, seed: int) -> None:
        draw = random.Random(f"{seed}-filling")  # noqa: S311  # invented notes, not secrets
        self._paragraphs = [_paragraph(draw) for _ in range(_PARAGRAPHS)]
        self._labs = [_lab_line(draw) for _ in range(_LAB_LINES)]

    def note(self, draw: random.Random, stay: TwinStay, *, sex: str, length: int) -> str:
        """Writes a note.

        Args:
            draw: the source of chance.
            stay: what it tells.
            sex: `F` or `M`.
            length: characters it should have; a note without any filling has about 1,500.

        Returns:
            Its text.
        """
        about = stay.about
        head = (
            f"{_BLANK}Name:  ___                     Unit No:   ___\n{_BLANK}"
            f"Admission Date:  ___              Discharge Date:   ___\n{_BLANK}"
            f"Date of Birth:  ___             Sex:   {sex}\n{_BLANK}"
            f"Service: {about.service}\n{_BLANK}"
            f"Allergies: \nNo known drug allergies\n{_BLANK}Attending: ___.\n{_BLANK}"
            f"Chief Complaint:\n{about.complaint}\n{_BLANK}"
            f"Major Surgical or Invasive Procedure:\n___: {about.procedure}\n\n{_BLANK}"
            f"History of Present Illness:\nPatient with a history as below who came to the ___ with\n"
            f"{about.complaint.lower()} for {draw.randrange(1, 9)} days.   Evaluated in the emergency\ndepartment, then "
            f"admitted to {about.service.lower()}.\n{_BLANK}"
            f"Past Medical History:\n- hypertension\n- hyperlipidemia\n- s/p {stay.past} ___\n{_BLANK}"
            "Social History:\n___\nFamily History:\nNon-contributory.\n"
            f"{_BLANK}Physical Exam:\nADMISSION PHYSICAL EXAM:\nVS: T {draw.randrange(970, 1020) / 10} BP "
            f"{stay.pressure} HR {draw.randrange(55, 120)}\n{_BLANK}"
            "Pertinent Results:\nADMISSION LABS:\n"
        )
        course = (
            f"{_BLANK}Brief Hospital Course:\n# {about.diagnosis[0].upper()}{about.diagnosis[1:]}\nThe work-up showed "
            f"{about.diagnosis}. The patient\nunderwent {about.procedure},\nwithout complications.\n"
        )
        tail = (
            f"{_BLANK}Discharge labs: creatinine {stay.creatinine}.\n{_BLANK}"
            f"Medications on Admission:\n1. Lisinopril 10 mg PO DAILY \n2. Aspirin 81 mg PO DAILY \n{_BLANK}"
            f"Discharge Medications:\n1. NEW: {about.drug} \n2. Lisinopril 10 mg PO DAILY \n3. Aspirin 81 mg PO DAILY \n"
            f"{_BLANK}Discharge Disposition:\nHome With Service\n\nFacility:\n___\n{_BLANK}"
            f"Discharge Diagnosis:\nPRIMARY: {about.diagnosis}\n{_BLANK}"
            f"Discharge Condition:\nMental Status: Clear and coherent.\nActivity Status: {stay.activity}.\n{_BLANK}"
            f"Discharge Instructions:\nYou were in the hospital because of {about.complaint.lower()}.\n"
            f"At home: {stay.advice}.\nPlease go to your visit at the {about.clinic}.\n{_BLANK}Followup Instructions:\n___\n"
        )
        left = length - len(head) - len(course) - len(tail)
        labs = self._filling(draw, self._labs, left // 4)
        return head + labs + course + self._filling(draw, self._paragraphs, left - len(labs)) + tail

    @staticmethod
    def _filling(draw: random.Random, parts: list[str], length: int) -> str:
        chosen: list[str] = []
        while length > 0:
            chosen.append(parts[int(draw.random() * len(parts))])
            length -= len(chosen[-1])
        return "".join(chosen)


def _paragraph(draw: random.Random) -> str:
    sentences = draw.sample(SENTENCES, draw.randrange(2, 5))
    text = "  ".join(
        sentence.format(a=draw.randrange(2, 10), b=draw.randrange(50, 120), c=draw.randrange(2, 9))
        for sentence in sentences
    )
    return _BLANK + textwrap.fill(f"- {text}", _WIDTH) + "\n"


def _lab_line(draw: random.Random) -> str:
    values = " ".join(f"{name}-{draw.randrange(10, 1500) / 10}" for name in draw.sample(LABS, draw.randrange(4, 8)))
    return f"___ {draw.randrange(1, 13):02d}:{draw.randrange(60):02d}{draw.choice(('AM', 'PM'))} BLOOD {values}\n"
