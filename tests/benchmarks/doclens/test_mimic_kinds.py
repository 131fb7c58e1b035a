"""Modality and anatomy from descriptions as MIMIC-III has them."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.benchmarks.doclens.mimic_report import ANATOMIES, MODALITIES, TRAIN_KINDS, Kind, LeftOut, kind_of

KINDS = {
    "CT HEAD W/O CONTRAST": ("CT", "head"),
    "P CT HEAD W/O CONTRAST PORT": ("CT", "head"),
    "CTA HEAD W&W/O C & RECONS": ("CT", "head"),
    "CT BRAIN PERFUSION": ("CT", "head"),
    "CT ORBIT, SELLA & IAC W/ CONTRAST": ("CT", "head"),
    "CT ABDOMEN W/CONTRAST": ("CT", "abdomen"),
    "CT ABDOMEN W/O CONTRAST": ("CT", "abdomen"),
    "CT ABD & PELVIS W/O CONTRAST": ("CT", "abdomen"),
    "CT ABDOMEN/PELVIS": ("CT", "abdomen"),
    "CTA ABD W&W/O C & RECONS": ("CT", "abdomen"),
    "CT UROGRAM": ("CT", "abdomen"),
    "CT PELVIS W/CONTRAST": ("CT", "pelvis"),
    "CT CHEST W/CONTRAST": ("CT", "chest"),
    "CT CHEST HIGH RESOLUTION": ("CT", "chest"),
    "CTA CHEST W&W/O C&RECONS, NON-CORONARY": ("CT", "chest"),
    "CHEST CTA WITH CONTRAST": ("CT", "chest"),
    "CT C-SPINE W/O CONTRAST": ("CT", "spine"),
    "CT T-SPINE W/O CONTRAST": ("CT", "spine"),
    "CT L-SPINE W/ CONTRAST": ("CT", "spine"),
    "CT SINUS/MANDIBLE/MAXILLOFACIAL W/O CONTRAST": ("CT", "sinus"),
    "CT NECK W/CONTRAST (EG:PAROTIDS)": ("CT", "neck"),
    "CTA NECK W&W/OC & RECONS": ("CT", "neck"),
    "MR HEAD W & W/O CONTRAST": ("MR", "head"),
    "MR HEAD W/O CONTRAST": ("MR", "head"),
    "MRA BRAIN W/O CONTRAST": ("MR", "head"),
    "MRV HEAD W/O CONTRAST (VENOUS SINUSES)": ("MR", "head"),
    "MR CERVICAL SPINE W/O CONTRAST": ("MR", "spine"),
    "MR L SPINE SCAN": ("MR", "spine"),
    "MR THORACIC SPINE W & W/O CONTRAST": ("MR", "spine"),
    "MRA NECK W&W/O CONTRAST": ("MR", "neck"),
    "MRCP (MR ABD W&W/OC)": ("MR", "abdomen"),
    "MRI ABDOMEN W/O & W/CONTRAST": ("MR", "abdomen"),
    "MR PELVIS W&W/O CONTRAST": ("MR", "pelvis"),
    "ct head w/o contrast ": ("CT", "head"),
}
NONE = {
    "CHEST (PORTABLE AP)": LeftOut.OTHER_MODALITY,
    "CHEST (PRE-OP PA & LAT)": LeftOut.OTHER_MODALITY,
    "ABDOMEN U.S. (COMPLETE STUDY)": LeftOut.OTHER_MODALITY,
    "BILAT LOWER EXT VEINS": LeftOut.OTHER_MODALITY,
    "-59 DISTINCT PROCEDURAL SERVICE": LeftOut.OTHER_MODALITY,
    "": LeftOut.OTHER_MODALITY,
    "PET/CT AND MR HEAD": LeftOut.SEVERAL_MODALITIES,
    "CT GUIDED NEEDLE PLACTMENT": LeftOut.PROCEDURE,
    "CT GUIDANCE DRAINAGE ABDOMEN": LeftOut.PROCEDURE,
    "CT LOW EXT W/O C RIGHT": LeftOut.OTHER_ANATOMY,
    "MR KNEE W/O CONTRAST": LeftOut.OTHER_ANATOMY,
    "MR CARDIAC MORPH & FUNC": LeftOut.OTHER_ANATOMY,
    "CT 150CC NONIONIC CONTRAST": LeftOut.OTHER_ANATOMY,
    "CT TORSO W/CONTRAST": LeftOut.OTHER_ANATOMY,
    "CTA THORACIC AORTA": LeftOut.OTHER_ANATOMY,
    "CTA HEAD AND NECK": LeftOut.SEVERAL_ANATOMIES,
    "CT HEAD & C-SPINE": LeftOut.SEVERAL_ANATOMIES,
    "CT CHEST/ABD/PELVIS": LeftOut.SEVERAL_ANATOMIES,
    "CTA ABD & PELVIS, AORTA RUNOFF": LeftOut.SEVERAL_ANATOMIES,
    "CT PELVIS AND HIP": LeftOut.SEVERAL_ANATOMIES,
}


@pytest.mark.parametrize(("description", "kind"), KINDS.items())
def test_kinds(description: str, kind: tuple[str, str]) -> None:
    assert kind_of(description) == Kind(*kind)


@pytest.mark.parametrize(("description", "reason"), NONE.items())
def test_descriptions_without_a_kind(description: str, reason: LeftOut) -> None:
    assert kind_of(description) is reason


def test_the_table_of_tests_has_every_modality_and_anatomy() -> None:
    assert {modality for modality, _ in KINDS.values()} == set(MODALITIES)
    assert {anatomy for _, anatomy in KINDS.values()} == set(ANATOMIES)
    assert len(ANATOMIES) == 7  # paper, appendix on the experiments
    assert len(set(TRAIN_KINDS)) == 6  # paper, appendix on the evaluated methods
    assert set(TRAIN_KINDS) <= set(itertools.starmap(Kind, itertools.product(MODALITIES, ANATOMIES)))


@settings(deadline=None, max_examples=150)
@given(st.permutations(["CT", "HEAD", "W/O", "CONTRAST", "PORT"]), st.sampled_from([" ", "/", ", ", " - "]))
def test_the_order_of_words_does_not_count(words: list[str], between: str) -> None:
    assert kind_of(between.join(words)) == Kind("CT", "head")


@settings(deadline=None, max_examples=150)
@given(st.text(max_size=60))
def test_any_text(description: str) -> None:
    found = kind_of(description)
    assert isinstance(found, LeftOut) or (found.modality in MODALITIES and found.anatomy in ANATOMIES)
