"""Four synthetic cases for the split `dev`, written for this package; they describe nobody. Not medical advice."""

from __future__ import annotations

from medical_tasks.benchmarks.archehr_qa.demo_case import DemoCase

__all__ = ["DEV_CASES"]

DEV_CASES = (
    DemoCase(
        id="1",
        source="mimic-iii",
        document_id="900001_1",
        narrative="My dad is 71 and takes a blood thinner for his heart rhythm. Two weeks ago he passed black stool and they "
        "kept him in the ICU for four days, put a camera down and gave him blood. Now the discharge paper says no warfarin. "
        "Why did they stop the blood thinner? I am scared that he gets a stroke.",
        phrases=("Why did they stop the blood thinner? I am scared that he gets a stroke.",),
        question="Why was warfarin stopped, and how will his stroke risk be handled?",
        note=(
            """\
N Brief Hospital Course:""",
            """\
S 71-year-old man with atrial fibrillation on warfarin, admitted with two days of melena and lightheadedness.
E Hemoglobin on arrival was 6.8 g/dL and INR was 4.1.
S He received vitamin K, prothrombin complex and three units of packed red cells.
E Endoscopy showed a 1.5 cm duodenal ulcer with a visible vessel, which was injected and clipped.
S Biopsies were positive for Helicobacter pylori, and treatment was begun.
N He was transferred to the floor on [**2161-3-4**].""",
            """\
N # Atrial fibrillation:
E Warfarin was held because of the recent bleed and the high risk of rebleeding.
E CHA2DS2-VASc score is 4, so anticoagulation is to be resumed once the ulcer has had time to heal.
E Cardiology and gastroenterology agreed to start apixaban 14 days after endoscopy if hemoglobin is stable.
N Rate was controlled with metoprolol.""",
            """\
N Discharge Instructions:
S Do not take ibuprofen, naproxen or aspirin.""",
        ),
        answer=(
            (
                "Warfarin was stopped because his blood was too thin, with an INR of 4.1, and an ulcer of the duodenum was "
                "bleeding.",
                "3,5",
            ),
            ("The ulcer was clipped, but going on at once would have made another bleed likely.", "5,9"),
            ("The pause is meant to be short.", ""),
            (
                "Because of his stroke risk, cardiology and gastroenterology plan to begin apixaban 14 days after the "
                "endoscopy, once the ulcer has healed and his hemoglobin is stable.",
                "10,11",
            ),
        ),
    ),
    DemoCase(
        id="2",
        source="mimic-iv",
        document_id="91000002",
        narrative="Took my wife (44) to the ER with chest pain that went into her arm. Hours of waiting, two blood draws, then "
        "they say her heart is fine and send us home. She still has the pain when she reaches for things. How can they be so "
        "sure it is not her heart?",
        phrases=("How can they be so sure it is not her heart?",),
        question="What findings made a cardiac cause of her chest pain unlikely?",
        note=(
            """\
N ED Course:""",
            """\
S 44-year-old woman with six hours of left-sided chest pain that spreads to the left arm.
E The pain is sharp, worse with movement of the arm, and reproduced by pressure on the third rib.
N She is a teacher and does not smoke.
E ECG showed sinus rhythm without ST changes and was unchanged after three hours.
E Two troponin measurements three hours apart were below the limit of detection.
S D-dimer was negative and chest X-ray was clear.
E HEART score was 1, which is a low risk of a cardiac event in the next six weeks.
N She was given ibuprofen 600 mg with good effect.""",
            """\
N Assessment and Plan:
E Musculoskeletal chest wall pain.
S Return for pain with exertion, shortness of breath or fainting.
N Follow up with ___ in one week.""",
        ),
        answer=(
            (
                "Her heart tracing was normal and did not change over three hours, and two troponin tests showed no damage.",
                "5,6",
            ),
            ("With a HEART score of 1, her risk of a cardiac event in the coming weeks was judged to be low.", "8"),
            (
                "The pain could be brought on by pressing on a rib and got worse when she moved her arm, which pointed to the "
                "muscles and bones of the chest wall.",
                "3,11",
            ),
        ),
    ),
    DemoCase(
        id="3",
        source="mimic-iii",
        document_id="900003_1",
        narrative="mom 66 diabetic was in icu with blood infection from her kidney, kidneys shut down and she had dialysis "
        "through neck. she is home now no more dialysis but very weak. will she need dialysis for life? nobody told us anything",
        phrases=("will she need dialysis for life?",),
        question="Is her kidney function expected to recover, or will she need long-term dialysis?",
        note=(
            """\
N Brief Hospital Course:""",
            """\
S The patient is a 66-year-old woman with diabetes who presented with septic shock due to pyelonephritis.
N Blood cultures grew Escherichia coli, and she completed 14 days of ceftriaxone.
S She required norepinephrine for three days.""",
            """\
N # Acute kidney injury:
E Creatinine rose from a baseline of 1.0 to 6.2, with muddy brown casts, consistent with acute tubular necrosis from shock.
E Continuous dialysis was begun on day 2 through a right internal jugular catheter because of anuria and acidosis.
E Urine output returned on day 9, and the last dialysis was on day 12.
S Renal ultrasound showed kidneys of normal size without obstruction.
E Creatinine was 1.9 and falling at discharge without dialysis, and the catheter was removed.
E Nephrology expects further recovery over weeks to months and sees no need for long-term dialysis at present.
S Metformin and lisinopril are held until follow-up.""",
            """\
N # Deconditioning:
N Physical therapy recommends rehabilitation at home.""",
        ),
        answer=(
            (
                "Her kidneys failed because the shock from the infection damaged their tubules, and dialysis took over their "
                "work while she made no urine.",
                "6,7",
            ),
            ("That was temporary.", ""),
            (
                "Urine came back on day 9, dialysis ended on day 12, and at discharge her creatinine of 1.9 was falling "
                "without it.",
                "8,10",
            ),
            (
                "The kidney specialists expect further recovery over weeks to months and see no need for long-term dialysis at "
                "present.",
                "11",
            ),
        ),
    ),
    DemoCase(
        id="4",
        source="mimic-iii",
        document_id="900004_1",
        narrative="I was in the hospital 11 days with pancreatitis from gallstones, 5 of them in intensive care. They cleaned "
        "the duct with a scope. My neighbor had the same thing and they took her gallbladder out right away. Mine is still in. "
        "Why was the surgery put off? What if it happens again?",
        phrases=("Why was the surgery put off?", "What if it happens again?"),
        question="Why was cholecystectomy delayed after gallstone pancreatitis, and what lowers the risk meanwhile?",
        note=(
            """\
N History of Present Illness:
S 52-year-old woman with sudden epigastric pain and vomiting, lipase of 4,210 and bilirubin of 4.8.""",
            """\
N Brief Hospital Course:
E CT on day 4 showed necrosis of about a third of the pancreas with acute collections around it.
S She was treated with fluids, oxygen and feeding through a nasojejunal tube.
E ERCP on day 2 removed two stones from the common bile duct, and a sphincterotomy was done.
N She was never intubated.
E Surgery recommended cholecystectomy in six to eight weeks, once the collections have resolved, because an earlier \
operation carries a higher risk of infection.
E The sphincterotomy lowers the risk of another attack until then.
S No antibiotics were given, since there was no sign of infected necrosis.""",
            """\
N Discharge Instructions:
S Eat small meals low in fat.
E Return at once for fever, yellow skin or new pain in the upper abdomen.
N Appointment with Dr. [**Last Name**] in two weeks.""",
        ),
        answer=(
            (
                "Part of your pancreas had died and there was fluid around it, so surgeons advised to wait six to eight weeks; "
                "an earlier operation carries a higher risk of infection.",
                "4,8",
            ),
            (
                "Meanwhile the stones in the bile duct were removed and its opening was cut, which makes another attack less "
                "likely.",
                "6,9",
            ),
            ("It remains possible.", ""),
            ("Come back at once if you have fever, yellow skin or new pain in the upper abdomen.", "13"),
        ),
    ),
)
