"""Words of the synthetic notes: examinations, findings with what they mean, and filling; all written for this package."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["EXAMINATIONS", "FILLING", "NORMAL", "OTHER_EXAMINATIONS", "SEEN", "Examination", "Seen"]


@dataclass(frozen=True, kw_only=True)
class Examination:
    """A description as the files have it, and what it is of.

    Attributes:
        share: how often, against the others.
    """

    description: str
    modality: str
    anatomy: str
    share: int


@dataclass(frozen=True, kw_only=True)
class Seen:
    """Something abnormal.

    Attributes:
        finding: a sentence, `{n}` in it for a number of millimeters.
    """

    finding: str
    meaning: str


# A line each: modality, anatomy, share, description.
_EXAMINATIONS = """\
CT | head    | 320 | CT HEAD W/O CONTRAST
CT | head    |  40 | CTA HEAD W&W/O C & RECONS
CT | abdomen | 120 | CT ABDOMEN W/CONTRAST
CT | abdomen |  60 | CT ABD & PELVIS WITH CONTRAST
CT | chest   |  70 | CT CHEST W/O CONTRAST
CT | chest   |  60 | CTA CHEST W&W/O C&RECONS, NON-CORONARY
CT | spine   |  70 | CT C-SPINE W/O CONTRAST
CT | neck    |  14 | CT NECK W/CONTRAST (EG:PAROTIDS)
CT | sinus   |  16 | CT SINUS/MANDIBLE/MAXILLOFACIAL W/O CONTRAST
CT | pelvis  |   8 | CT PELVIS W/O CONTRAST
MR | head    |  90 | MR HEAD W & W/O CONTRAST
MR | spine   |  30 | MR CERVICAL SPINE W/O CONTRAST
MR | spine   |  15 | MR L SPINE W/O CONTRAST
MR | abdomen |  14 | MRCP (MR ABD W&W/OC)
MR | neck    |   4 | MRA NECK W/O CONTRAST
MR | pelvis  |   4 | MR PELVIS W&W/O CONTRAST
"""
EXAMINATIONS = tuple(
    Examination(modality=modality, anatomy=anatomy, share=int(share), description=description)
    for modality, anatomy, share, description in (
        (part.strip() for part in line.split("|")) for line in _EXAMINATIONS.splitlines()
    )
)

OTHER_EXAMINATIONS = (
    "CHEST (PORTABLE AP)",
    "CHEST (PA & LAT)",
    "PORTABLE ABDOMEN",
    "ABDOMEN U.S. (COMPLETE STUDY)",
    "RENAL U.S.",
    "BILAT LOWER EXT VEINS",
    "CAROTID SERIES COMPLETE",
    "VIDEO OROPHARYNGEAL SWALLOW",
    "CT GUIDED NEEDLE PLACTMENT",
    "CT TORSO W/CONTRAST",
)

# A line each: what is seen, and what it means.
_SEEN = """\
head: A collection of high density along the convexity measures {n} mm in thickness. | Subdural hematoma of {n} mm.
head: A focus of hemorrhage in the frontal lobe measures approx. {n} mm. | Frontal hemorrhage of {n} mm.
head: The ventricles are larger than before, with temporal horns of {n} mm. | Hydrocephalus, more than before.
head: There is loss of gray-white differentiation in the parietal lobe. | Subacute parietal infarct.
abdomen: A hypodense lesion of the liver measures {n} mm. | Liver lesion of {n} mm, to be characterized by MR.
abdomen: The common duct is dilated to {n} mm. | Dilated common duct, without a stone that can be seen.
abdomen: There is stranding around the cecum, and the appendix measures {n} mm. | Acute appendicitis.
abdomen: A collection with an enhancing wall measures {n} mm. | Abscess of {n} mm.
chest: A nodule of the right upper lobe measures {n} mm. | Nodule of {n} mm; follow-up in 6 mos. is advised.
chest: There are filling defects in segmental arteries of the left lower lobe. | Pulmonary embolism on the left.
chest: Lymph nodes of the mediastinum measure up to {n} mm. | Enlarged mediastinal lymph nodes.
spine: The fifth vertebral body has lost {n} mm of its height. | Compression fracture of the fifth vertebral body.
spine: A disc protrusion of {n} mm indents the thecal sac. | Disc protrusion with narrowing of the canal.
spine: There is a step of {n} mm between the sixth and the seventh vertebra. | Malalignment at C6-C7.
neck: A node at level II measures {n} mm. | Enlarged node of the neck, {n} mm.
neck: A plaque narrows the left internal carotid artery to {n} mm. | Stenosis of the left internal carotid artery.
sinus: There is a fluid level of {n} mm in the left maxillary sinus. | Acute left maxillary sinusitis.
sinus: The left orbital floor is displaced by {n} mm. | Fracture of the left orbital floor.
pelvis: A collection behind the bladder measures {n} mm. | Pelvic collection of {n} mm.
pelvis: A cyst of the right ovary measures {n} mm. | Simple cyst of the right ovary.
"""


def _by_anatomy(text: str) -> dict[str, tuple[str, ...]]:
    lines = [line.split(": ", maxsplit=1) for line in text.splitlines()]
    return {name: tuple(rest for each, rest in lines if each == name) for name, _ in lines}


SEEN = {
    name: tuple(Seen(finding=finding, meaning=meaning) for finding, meaning in (line.split(" | ") for line in lines))
    for name, lines in _by_anatomy(_SEEN).items()
}

NORMAL = _by_anatomy("""\
head: There is no shift of midline structures.
head: The basal cisterns are patent.
head: Mastoid air cells are clear, vs. opacification on the examination of [**2150-4-3**].
head: No fracture is identified.
abdomen: The spleen, the adrenal glands and the pancreas are unremarkable.
abdomen: Both kidneys enhance symmetrically, without hydronephrosis.
abdomen: There is no free air.
abdomen: Dr. [**Last Name (un) 77**] has seen loops of small bowel of normal caliber, i.e. up to 2.5 cm.
chest: The airways are patent to the segmental level.
chest: There is no pericardial effusion.
chest: The heart and the great vessels are of normal size.
chest: Mild atelectasis is present at both bases, approx. as on [**2151-1-2**].
spine: Alignment is maintained.
spine: The prevertebral soft tissues are not swollen.
spine: No other fracture is seen.
spine: Facet joints show mild degenerative changes, e.g. at two levels.
neck: The airway is patent.
neck: The thyroid gland is homogeneous.
neck: Salivary glands are symmetric.
neck: The jugular veins are patent.
sinus: The frontal sinuses are clear.
sinus: The nasal septum deviates to the right.
sinus: The orbits are intact.
sinus: Teeth No. 8 and No. 9 are absent, cf. the examination of [**2149-7-2**].
pelvis: The bladder is distended and has a thin wall.
pelvis: There is no free fluid.
pelvis: No lymph node is enlarged.
pelvis: The rectum is unremarkable.
""")

# `{a}` and `{b}` are small numbers. Quotes, commas and marks of de-identification are meant: files of notes have them.
FILLING = """\
Neuro: alert and oriented x{a}, follows commands, moves all extremities, pupils {a} mm and brisk.
Resp: on {a} L nasal cannula with sats 9{a}%, lungs coarse at the bases, suctioned for scant white sputum.
CV: NSR {b}, no ectopy, BP {b}/60 by cuff, pulses by Doppler, extremities warm.
GI: abdomen soft, bowel sounds present, tolerating tube feeds at {b} cc/hr with residuals of {a} cc.
GU: Foley draining clear yellow urine {b} cc/hr, I/O even.
Family: daughter [**Name (NI) 12**] called, was updated, will visit "first thing" tomorrow.
Skin: intact, dressing to L groin dry, no hematoma; turned every {a} hours.
Plan: wean O2 as tolerated, follow hct q{a}h, transfuse for less than 2{a}, PT consult.
Sinus rhythm, rate {b}. Left axis deviation. Since the previous tracing of [**2150-{a}-12**] no change.
The left ventricular cavity size is normal. Ejection fraction {b}%. Trace mitral regurgitation is seen.
Assessment: {b} year old with sepsis, improving on day {a} of antibiotics, pressors off since [**2151-{a}-1**].
Labs: Na 13{a}, K 4.{a}, Cr 1.{a}, WBC {a}.{a}, Hct 2{a}.5, lactate 1.{a}.
""".splitlines()
