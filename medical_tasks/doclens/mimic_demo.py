"""The `demo` configuration of `mimic_rrs`: synthetic reports that run every task of radiology without a download.

Two reports of `test` are of one patient. Written for this package; they describe nobody. Not medical advice.
"""

from __future__ import annotations

from medical_tasks.doclens.mimic_demo_reports import EXAMPLE_REPORTS, DemoReport
from medical_tasks.doclens.mimic_report import Kind, Report
from medical_tasks.doclens.mimic_sample import Candidate

__all__ = ["demo_reports"]


def demo_reports(split: str) -> list[Candidate]:
    """Returns the reports of a split, in order.

    Args:
        split: `train` or `test`.

    Returns:
        Its reports.
    """
    return [
        Candidate(
            id=each.id,
            patient_id=each.patient_id,
            kind=Kind(each.modality, each.anatomy),
            report=Report(findings=each.findings, impression=each.impression),
        )
        for each in (*EXAMPLE_REPORTS, *_TEST_REPORTS)
        if each.split == split
    ]


_TEST_REPORTS = (
    DemoReport(
        id="1013",
        patient_id="513",
        split="test",
        modality="CT",
        anatomy="head",
        findings="""\
A hematoma of 34 x 22 mm is centered in the right putamen. It is surrounded by a rim of edema. There is blood in the \
right lateral ventricle, and the temporal horns are wider than before. The midline is shifted by 4 mm to the left. \
No fracture is seen.""",
        impression="""\
1. Right putaminal hemorrhage with extension into the ventricle.
2. Early hydrocephalus and 4 mm of midline shift.""",
    ),
    DemoReport(
        id="1014",
        patient_id="513",
        split="test",
        modality="CT",
        anatomy="head",
        findings="""\
The hematoma in the right putamen is unchanged in size at 34 x 23 mm. A catheter has been placed from a right \
frontal approach, with its tip near the foramen of Monro. The ventricles are smaller than on the examination of \
[**2153-6-11**]. There are a few bubbles of air in the frontal horns. The midline shift of 4 mm is unchanged.""",
        impression="""\
Unchanged right putaminal hemorrhage. Smaller ventricles after placement of a ventricular catheter.""",
    ),
    DemoReport(
        id="1015",
        patient_id="514",
        split="test",
        modality="CT",
        anatomy="abdomen",
        findings="""\
The pancreas is swollen, and the fat around it is stranded. About a third of its body does not enhance. A collection \
of 6.1 cm in the lesser sac has no wall as yet. The splenic vein is patent. There are stones in the gallbladder, and \
the common duct is not dilated. Both lung bases have small effusions.""",
        impression="""\
1. Necrotizing pancreatitis that involves about a third of the body, with an acute collection of 6.1 cm.
2. Gallstones without dilatation of the common duct.""",
    ),
    DemoReport(
        id="1016",
        patient_id="515",
        split="test",
        modality="CT",
        anatomy="abdomen",
        findings="""\
The infrarenal aorta measures 5.8 cm, before 5.1 cm. There is no fluid around it and no high-density crescent in its \
wall. Both iliac arteries are of normal caliber. The left kidney has a stone of 3 mm without hydronephrosis. \
Diverticula of the sigmoid colon are not inflamed.""",
        impression="""\
Infrarenal aortic aneurysm of 5.8 cm, larger than before, without signs of rupture. Stone in the left kidney without \
obstruction.""",
    ),
    DemoReport(
        id="1017",
        patient_id="516",
        split="test",
        modality="CT",
        anatomy="chest",
        findings="""\
There is no filling defect in the pulmonary arteries down to the segmental branches. The right lower lobe is \
consolidated, with air bronchograms. A loculated effusion at the right base measures 7 cm and its pleura enhances. \
The left lung is clear. Lymph nodes below the carina measure up to 12 mm.""",
        impression="""\
1. No pulmonary embolism.
2. Right lower lobe pneumonia with a loculated effusion, which may be an empyema.""",
    ),
    DemoReport(
        id="1018",
        patient_id="517",
        split="test",
        modality="CT",
        anatomy="chest",
        findings="""\
Reticulation and traction bronchiectasis are seen at the periphery of both lower lobes. There is honeycombing, which \
has progressed since [**2150-1-20**]. No ground-glass opacity is new. The main pulmonary artery is 35 mm wide. The \
esophagus is patulous.""",
        impression="""\
Progressive fibrosis with honeycombing, of the pattern of usual interstitial pneumonia. Wide pulmonary artery, as in \
pulmonary hypertension.""",
    ),
    DemoReport(
        id="1019",
        patient_id="518",
        split="test",
        modality="MR",
        anatomy="head",
        findings="""\
There are multiple ovoid lesions that are bright on FLAIR, perpendicular to the ventricles and in the corpus \
callosum. Two of them, in the left centrum semiovale and the right middle cerebellar peduncle, enhance. No lesion \
restricts diffusion. The optic nerves are normal. There is no mass effect.""",
        impression="""\
Demyelinating lesions of a distribution typical for multiple sclerosis. Two of them enhance, as active ones do.""",
    ),
    DemoReport(
        id="1020",
        patient_id="519",
        split="test",
        modality="CT",
        anatomy="spine",
        findings="""\
The T12 vertebral body has lost about half of its height, and a fragment of 6 mm is pushed back into the canal. Both \
pedicles are intact. There is a fracture of the left transverse process of L1. Alignment is normal. The bones are of \
low density.""",
        impression="""\
1. Burst fracture of T12 with a fragment of 6 mm in the canal.
2. Fracture of the left transverse process of L1.""",
    ),
    DemoReport(
        id="1021",
        patient_id="520",
        split="test",
        modality="MR",
        anatomy="spine",
        findings="""\
The marrow of T6, T8 and T9 is replaced by lesions that are dark on T1 and enhance. At T8 tissue behind the body \
fills the canal and compresses the cord. The signal of the cord is increased at this level. There is no fracture. \
Small effusions are seen on both sides.""",
        impression="""\
Metastases of T6, T8 and T9, with compression of the cord at T8 and edema of the cord.""",
    ),
    DemoReport(
        id="1022",
        patient_id="521",
        split="test",
        modality="CT",
        anatomy="neck",
        findings="""\
A collection of 28 x 15 mm with an enhancing rim lies beside the left tonsil. The airway is narrowed from the left \
and remains open. Lymph nodes on the left at level II measure up to 16 mm. The internal jugular veins are patent. \
The epiglottis is normal.""",
        impression="""\
Left peritonsillar abscess of 28 mm that narrows the airway. Reactive lymph nodes on the left.""",
    ),
    DemoReport(
        id="1023",
        patient_id="522",
        split="test",
        modality="CT",
        anatomy="sinus",
        findings="""\
Both maxillary sinuses are opacified, with a fluid level on the right. The ethmoid air cells are partly opacified. \
The frontal and sphenoid sinuses are clear. The ostiomeatal units are blocked on both sides. The bony walls are \
intact and the orbits are normal.""",
        impression="""\
Sinusitis of the maxillary and ethmoid sinuses with a fluid level on the right. No complication.""",
    ),
    DemoReport(
        id="1024",
        patient_id="523",
        split="test",
        modality="MR",
        anatomy="pelvis",
        findings="""\
The uterus holds several fibroids, the largest of which measures 6.4 cm and lies below the serosa of the fundus. The \
endometrium is 4 mm thick. A cyst of the left ovary measures 3.8 cm, is bright on T1 and shades on T2. The right \
ovary is normal. There is no free fluid.""",
        impression="""\
1. Fibroids of the uterus, the largest of 6.4 cm.
2. Endometrioma of the left ovary, 3.8 cm.""",
    ),
)
