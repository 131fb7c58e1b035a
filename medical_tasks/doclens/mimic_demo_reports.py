"""Synthetic radiology reports for worked examples, two of each kind, written for this package; they describe nobody."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["EXAMPLE_REPORTS", "DemoReport"]


@dataclass(frozen=True, kw_only=True)
class DemoReport:
    """One synthetic report.

    Attributes:
        id: of the report.
        patient_id: whose it is.
        split: `train` or `test`.
        modality: `CT` or `MR`.
        anatomy: what was examined.
        findings: what was seen.
        impression: what it means.
    """

    id: str
    patient_id: str
    split: str
    modality: str
    anatomy: str
    findings: str
    impression: str


EXAMPLE_REPORTS = (
    DemoReport(
        id="1001",
        patient_id="501",
        split="train",
        modality="CT",
        anatomy="head",
        findings="""\
There is a crescent of high density along the left convexity that measures up to 9 mm in thickness. The left lateral \
ventricle is narrowed and the septum pellucidum is shifted by 5 mm to the right. The basal cisterns are open. No \
fracture is seen. There is mild mucosal thickening of the left maxillary sinus.""",
        impression="""\
1. Acute left subdural hematoma, 9 mm thick, with 5 mm of midline shift.
2. No fracture.""",
    ),
    DemoReport(
        id="1002",
        patient_id="502",
        split="train",
        modality="CT",
        anatomy="head",
        findings="""\
There is no hemorrhage, mass effect or shift of midline structures. Ventricles and sulci are prominent, as is usual \
at this age. Areas of low density around the ventricles are unchanged since the examination of [**2151-3-2**]. A \
small hypodensity in the right thalamus is well defined and also unchanged. The mastoid air cells are clear.""",
        impression="""\
No acute intracranial process. Unchanged chronic small vessel disease and old right thalamic lacune.""",
    ),
    DemoReport(
        id="1003",
        patient_id="503",
        split="train",
        modality="CT",
        anatomy="abdomen",
        findings="""\
The appendix is dilated to 13 mm, its wall enhances, and the fat around it is stranded. A stone of 4 mm lies at its \
base. There is no fluid collection and no free air. Liver, spleen, pancreas and both kidneys are normal. The \
gallbladder holds no stones.

The bladder is unremarkable. There is a small amount of free fluid in the pelvis.""",
        impression="""\
Acute appendicitis with an appendicolith. No abscess and no sign of perforation.""",
    ),
    DemoReport(
        id="1004",
        patient_id="504",
        split="train",
        modality="CT",
        anatomy="abdomen",
        findings="""\
Loops of small bowel are dilated up to 4.2 cm, with a transition point in the right lower abdomen. The bowel behind \
it and the colon are collapsed. There is no pneumatosis and no portal venous gas. A hypodense lesion of 8 mm in \
segment VI of the liver is too small to characterize. The aorta is of normal caliber.""",
        impression="""\
1. Small bowel obstruction with a transition point in the right lower abdomen, without signs of ischemia.
2. Liver lesion of 8 mm, too small to characterize.""",
    ),
    DemoReport(
        id="1005",
        patient_id="505",
        split="train",
        modality="CT",
        anatomy="chest",
        findings="""\
Filling defects are present in the right main pulmonary artery and in the segmental arteries of the right lower \
lobe. The right ventricle is larger than the left, and the septum is straightened. A wedge-shaped opacity lies at \
the pleura of the right lower lobe. There is a small right pleural effusion. No lymph nodes are enlarged.""",
        impression="""\
1. Right-sided pulmonary embolism with signs of right heart strain.
2. Probable infarct in the right lower lobe, with a small effusion.""",
    ),
    DemoReport(
        id="1006",
        patient_id="506",
        split="train",
        modality="CT",
        anatomy="chest",
        findings="""\
A spiculated nodule in the left upper lobe measures 17 x 14 mm, before 11 x 9 mm. Lymph nodes of the left hilum \
measure up to 15 mm in short axis. There is severe centrilobular emphysema. The heart is not enlarged, and coronary \
calcifications are moderate. The adrenal glands are normal.""",
        impression="""\
Growing spiculated nodule of the left upper lobe with enlarged left hilar nodes, suspicious for lung cancer. Tissue \
sampling is recommended.""",
    ),
    DemoReport(
        id="1007",
        patient_id="507",
        split="train",
        modality="CT",
        anatomy="spine",
        findings="""\
There is a fracture through the base of the dens with 3 mm of posterior displacement. Soft tissue before the upper \
vertebrae is swollen. The other vertebrae are of normal height and alignment. Degenerative changes are most severe \
at C5-C6, with moderate narrowing of both foramina. The lung apices are clear.""",
        impression="""\
1. Type II fracture of the dens, displaced by 3 mm.
2. Degenerative changes, worst at C5-C6.""",
    ),
    DemoReport(
        id="1008",
        patient_id="508",
        split="train",
        modality="CT",
        anatomy="spine",
        findings="""\
There is no fracture and no malalignment. Vertebral heights are preserved. A disc bulge at L4-L5 narrows the canal \
mildly. The sacroiliac joints are intact. Both kidneys hold simple cysts.""",
        impression="""\
No fracture of the lumbar spine.""",
    ),
    DemoReport(
        id="1009",
        patient_id="509",
        split="train",
        modality="MR",
        anatomy="head",
        findings="""\
Diffusion is slow in the left insula and the left frontal operculum, with low values on the ADC map. There is no \
susceptibility that would suggest hemorrhage. The left middle cerebral artery shows no flow beyond its first \
segment. Scattered white matter lesions are compatible with small vessel disease. The orbits are normal.""",
        impression="""\
1. Acute infarct in the territory of the left middle cerebral artery, without hemorrhage.
2. Occlusion of the left middle cerebral artery beyond its first segment.""",
    ),
    DemoReport(
        id="1010",
        patient_id="510",
        split="train",
        modality="MR",
        anatomy="head",
        findings="""\
An extra-axial mass along the right sphenoid wing measures 31 x 24 mm and enhances homogeneously, with a dural tail. \
The adjacent temporal lobe has no edema. It has not grown since the examination of [**2148-9-14**]. There is no \
other enhancement. The ventricles are of normal size.""",
        impression="""\
Unchanged meningioma of the right sphenoid wing, without edema of the brain.""",
    ),
    DemoReport(
        id="1011",
        patient_id="511",
        split="train",
        modality="MR",
        anatomy="spine",
        findings="""\
The L2-L3 disc is bright on T2 and both endplates are eroded and enhance. A collection before the dura at this level \
measures 5 mm in depth and compresses the thecal sac. There is an abscess of 2 cm in the left psoas muscle. The \
conus ends at L1 and has normal signal. The other discs are unremarkable.""",
        impression="""\
1. Discitis and osteomyelitis at L2-L3.
2. Epidural abscess at this level with compression of the thecal sac.
3. Left psoas abscess.""",
    ),
    DemoReport(
        id="1012",
        patient_id="512",
        split="train",
        modality="MR",
        anatomy="spine",
        findings="""\
A disc protrusion at C6-C7 touches the cord on the left and narrows the left foramen severely. The signal of the \
cord is normal. Mild bulges at C4-C5 and C5-C6 do not narrow the canal. Vertebral marrow signal is normal. No \
enhancement is seen.""",
        impression="""\
Left-sided disc protrusion at C6-C7 with severe narrowing of the left foramen. No abnormal signal of the cord.""",
    ),
)
