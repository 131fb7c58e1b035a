"""The `demo` configuration of `mimic_rrs`: synthetic reports that run every task of radiology without a download.

Two reports of `test` are of one patient. Written for this package; they describe nobody. Not medical advice.
"""

from __future__ import annotations

from dataclasses import dataclass

from medical_tasks.benchmarks.doclens.mimic_report import Kind, Report
from medical_tasks.benchmarks.doclens.mimic_sample import Candidate

__all__ = ["demo_reports"]


@dataclass(frozen=True, kw_only=True)
class _DemoReport:
    """One synthetic report."""

    id: str
    patient_id: str
    split: str
    modality: str
    anatomy: str
    findings: str
    impression: str


def demo_reports(split: str) -> list[Candidate]:
    """Returns the reports of a split, in order."""
    return [
        Candidate(
            id=each.id,
            patient_id=each.patient_id,
            kind=Kind(each.modality, each.anatomy),
            report=Report(findings=each.findings, impression=each.impression),
        )
        for each in (*_EXAMPLE_REPORTS, *_TEST_REPORTS)
        if each.split == split
    ]


_TEST_REPORTS = (
    _DemoReport(
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
    _DemoReport(
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
    _DemoReport(
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
    _DemoReport(
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
    _DemoReport(
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
    _DemoReport(
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
    _DemoReport(
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
    _DemoReport(
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
    _DemoReport(
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
    _DemoReport(
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
    _DemoReport(
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
    _DemoReport(
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

# Two of each kind, for worked examples.
_EXAMPLE_REPORTS = (
    _DemoReport(
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
    _DemoReport(
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
    _DemoReport(
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
    _DemoReport(
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
    _DemoReport(
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
    _DemoReport(
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
    _DemoReport(
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
    _DemoReport(
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
    _DemoReport(
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
    _DemoReport(
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
    _DemoReport(
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
    _DemoReport(
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
