"""Synthetic cases that run every task without a download, written for this package; they describe nobody. Not medical advice.

They have the release's shapes: relatives who write, forum spelling, headings that are sentences of their own, marks of
de-identification, labels of all three kinds, and answers with sentences that rest on nothing.
"""

from __future__ import annotations

from medical_tasks.benchmarks.archehr_qa.demo_case import DemoCase

__all__ = ["DEMO_CASES"]


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


TEST_CASES = (
    DemoCase(
        id="21",
        source="mimic-iii",
        document_id="900021_1",
        narrative="My husband has COPD and could not breathe last Monday. First they had a mask strapped on his face, next day "
        "he was on a breathing machine with a tube. He hated that mask. Why did they have to put the tube in? He is 68 and was "
        "never that bad before.",
        phrases=("Why did they have to put the tube in?",),
        question="Why was he intubated after noninvasive ventilation?",
        note=(
            """\
N Brief Hospital Course:""",
            """\
S 68-year-old man with severe COPD, admitted with an exacerbation due to influenza A.
E On arrival blood gas showed pH 7.21 and pCO2 88, and BiPAP was started.
E After six hours on BiPAP pH was 7.16 and pCO2 was 97.
E He had become drowsy, pulled at the mask and could no longer clear his secretions.
E He was intubated for hypercapnic respiratory failure in which noninvasive ventilation had failed.
S He was treated with methylprednisolone, bronchodilators and oseltamivir.
N A feeding tube was placed.
S He was extubated on day 5 to nocturnal BiPAP.
N Echocardiogram showed normal left ventricular function.""",
            """\
N Medications on Discharge:
N Prednisone 40 mg daily for two more days.
S Tiotropium 18 mcg inhaled daily.""",
        ),
        answer=(
            (
                "The mask was tried first, because on arrival carbon dioxide had built up in his blood and made it acid.",
                "3",
            ),
            (
                "Six hours later both were worse, he was drowsy, pulled at the mask and could not bring up his secretions.",
                "4,5",
            ),
            (
                "The mask had failed, so a tube was needed for a machine to take over his breathing while the flu and the "
                "COPD attack were treated.",
                "6,7",
            ),
            ("It came out on day 5.", "9"),
        ),
    ),
    DemoCase(
        id="22",
        source="mimic-iii",
        document_id="900022_1",
        narrative="my sister (49) had a brain aneurysm burst. it was coiled the same night and the doctor said it went well. but "
        "then 12 more days in icu!! and a pill every four hours even at night that made her pressure drop. what was that pill "
        "for? why so long in icu when the aneurysm was fixed",
        phrases=("what was that pill for? why so long in icu when the aneurysm was fixed",),
        question="Why were nimodipine and prolonged ICU monitoring needed after the aneurysm was coiled?",
        note=(
            """\
N Brief Hospital Course:""",
            """\
S 49-year-old woman with a sudden severe headache, Hunt and Hess grade 2.
S CT showed diffuse subarachnoid hemorrhage, Fisher grade 3.
E An aneurysm of the anterior communicating artery was coiled completely on the day of admission.
E Nimodipine 60 mg every four hours was given for 21 days to lower the risk of delayed ischemia from vasospasm.
S The dose was changed to 30 mg every two hours because of low blood pressure.
E She stayed in the ICU for neurological checks every hour and daily transcranial Doppler during the period of vasospasm.
E On day 7 flow velocities rose and she had mild weakness of the left leg, which resolved when blood pressure was raised.
N Levetiracetam was given for seven days.
S The external ventricular drain was removed on day 10.
N She walked with physical therapy before discharge.""",
            """\
N Discharge Instructions:
N Do not drive until you have been seen by neurosurgery.""",
        ),
        answer=(
            (
                "Coiling closed the aneurysm, but the blood left around the brain can make its arteries narrow in the "
                "following two to three weeks and cause a stroke.",
                "4",
            ),
            ("Nimodipine was given every four hours for 21 days to lower that risk.", "5"),
            ("In the ICU she was examined every hour, and blood flow was measured daily.", "7"),
            (
                "On day 7 her left leg became weak, and raising her blood pressure reversed this.",
                "8",
            ),
        ),
    ),
    DemoCase(
        id="23",
        source="mimic-iii",
        document_id="900023_1",
        narrative="Our son is 19 and has just been found to have type 1 diabetes. In the ICU they ran insulin into his vein for a "
        "day and a half. I saw on the screen that his sugar was 180 and they still kept the insulin going, with sugar water next "
        "to it! Why give insulin and sugar at once?",
        phrases=("Why give insulin and sugar at once?",),
        question="Why was the insulin infusion continued together with dextrose after his glucose had come down?",
        note=(
            """\
N Hospital Course by Problem:""",
            """\
N # Diabetic ketoacidosis:
S 19-year-old man with two weeks of thirst and weight loss, found to have new type 1 diabetes.
E Glucose was 612, pH 7.08, bicarbonate 6 and anion gap 28 on arrival.
S He was given 4 liters of saline, and an insulin infusion was begun at 0.1 units/kg/h.
E After eight hours glucose was 180, but the anion gap was still 19 and ketones were positive.
E Dextrose was added to the fluids so that insulin could be continued until the ketoacidosis had cleared.
S Potassium was replaced, with a lowest value of 3.1.
E The anion gap closed at 30 hours.
E He was changed to insulin glargine and lispro, with two hours of overlap before the infusion was stopped.
N Hemoglobin A1c was 12.4 percent.""",
            """\
N # Leukocytosis:
N White count of 18 came down without antibiotics.""",
        ),
        answer=(
            (
                "His main danger was not the sugar alone but acid from ketones, which only insulin can stop.",
                "4",
            ),
            (
                "When his glucose had come down to 180, tests still showed ketones and too much acid.",
                "6",
            ),
            (
                "Sugar was added to the fluids to keep glucose from falling too low while insulin went on clearing them.",
                "7",
            ),
            (
                "The acid was gone at 30 hours, and he was then changed to injections before the infusion ended.",
                "9,10",
            ),
        ),
    ),
    DemoCase(
        id="24",
        source="mimic-iv",
        document_id="91000024",
        narrative="Worst pain of my life, left side, throwing up. ER did a CT: kidney stone, 4 mm. They gave me pain meds, a "
        "prostate pill (I'm a 36 year old woman??) and sent me home with the stone still in there. Shouldn't they have taken "
        "it out? And why that pill?",
        phrases=("Shouldn't they have taken it out? And why that pill?",),
        question="Why was her ureteral stone managed without a procedure, and why was tamsulosin prescribed?",
        note=(
            """\
N ED Course:""",
            """\
S 36-year-old woman with sudden left flank pain and vomiting.
E CT without contrast showed a 4 mm stone in the distal left ureter with mild hydronephrosis.
E Urinalysis showed blood and no nitrites or leukocytes, and she had no fever.
E Creatinine was 0.8.
S Pregnancy test was negative.
E Pain was controlled with ketorolac, and she kept fluids down after ondansetron.
N She was seen by ___ from urology by telephone.""",
            """\
N Assessment and Plan:
E Stones of this size pass without a procedure in most patients, usually within four weeks.
E Tamsulosin 0.4 mg daily was prescribed to relax the ureter and help the stone pass.
S Strain urine and bring the stone for analysis.
S Return for fever, pain that is not controlled or vomiting.
N Urology clinic in three weeks.""",
        ),
        answer=(
            (
                "A stone of 4 mm low in the ureter passes by itself in most people, usually within four weeks, so removing it "
                "was not needed.",
                "3,10",
            ),
            (
                "It was safe to go home because there was no fever or infection, the kidney worked normally, and pain and "
                "vomiting were under control.",
                "4,5,7",
            ),
            ("Tamsulosin is known for the prostate.", ""),
            ("It also relaxes the ureter, which helps the stone pass.", "11"),
        ),
    ),
    DemoCase(
        id="25",
        source="mimic-iii",
        document_id="900025_1",
        narrative="Dad collapsed at the gym, someone did CPR and shocked him. At the hospital they opened an artery in his heart "
        "but then they kept him asleep and COLD for a day, he felt like ice when I held his hand. He woke up fine thank God. What "
        "was the cooling for? Was it not dangerous for his heart?",
        phrases=("What was the cooling for? Was it not dangerous for his heart?",),
        question="Why was targeted temperature management used after his cardiac arrest, and was it tolerated?",
        note=(
            """\
N Brief Hospital Course:""",
            """\
E 58-year-old man with a witnessed ventricular fibrillation arrest, shocked twice, with return of circulation after 14 minutes.
S ECG showed anterior ST elevation, and a stent was placed in the left anterior descending artery.
E He did not follow commands after return of circulation.
E He was cooled to 33 degrees for 24 hours to protect the brain and was then warmed slowly.
S He was sedated and paralyzed to prevent shivering.
E Heart rate was 45 to 50 during cooling without arrhythmia or need for pressors.
S Potassium was kept above 4.
E He followed commands on day 3 and was extubated, with normal memory before discharge.
N He developed a mild rash from tape.""",
            """\
N Discharge Diagnosis:
N ST elevation myocardial infarction.
S Ejection fraction of 45 percent.""",
        ),
        answer=(
            (
                "His brain had gone without normal blood flow for 14 minutes, and he did not respond when his heart beat again.",
                "2,4",
            ),
            ("Cooling to 33 degrees for 24 hours was meant to protect the brain from further damage.", "5"),
            (
                "It slowed his heart to 45 to 50 beats, which was watched closely, and there was no abnormal rhythm or need "
                "for pressors.",
                "7",
            ),
            ("On day 3 he followed commands, and his memory was normal before discharge.", "9"),
        ),
    ),
    DemoCase(
        id="26",
        source="mimic-iv",
        document_id="91000026",
        narrative="My brother is 27, he had a seizure at a party, first ever. ER kept him six hours and let him go with NO seizure "
        "medicine, only a paper that says no driving. He had not slept for two nights because of exams. Why no medication? Could "
        "it happen again?",
        phrases=("Why no medication? Could it happen again?",),
        question="Why was no antiseizure medication started after his first seizure, and what is planned?",
        note=(
            """\
N History of Present Illness:
S 27-year-old man with a witnessed generalized convulsion of two minutes, followed by 20 minutes of confusion.
E He had slept four hours in the past two days and had six drinks that evening.""",
            """\
N ED Course:
E Neurological examination, glucose, sodium and head CT were normal.
N Tongue laceration did not need sutures.
S Toxicology screen was negative.
E Neurology judged this to be a first provoked seizure, for which antiseizure medication is not recommended.
E Outpatient EEG and MRI were ordered, and treatment will be reconsidered if they are abnormal or a seizure recurs.
N He was observed for six hours and walked without help.""",
            """\
N Discharge Instructions:
E Sleep regularly and avoid alcohol, since lack of sleep and alcohol can bring on another seizure.
S Do not drive until cleared by neurology.""",
        ),
        answer=(
            (
                "Neurology thought that the seizure was provoked by two nights with little sleep and by alcohol, and "
                "medication is not recommended after a first one of this kind.",
                "3,8",
            ),
            ("His examination, blood tests and CT of the head were normal.", "5"),
            ("It can happen again, above all if he lacks sleep or drinks.", "12"),
            (
                "An EEG and an MRI are ordered, and medication will be reconsidered if they are abnormal or he has another "
                "seizure.",
                "9",
            ),
        ),
    ),
)

TEST_2026_CASES = (
    DemoCase(
        id="27",
        source="mimic-iii",
        document_id="900027_1",
        narrative="My mother (72) went in with a broken hip and after surgery she saw spiders on the wall and pulled out her IV. "
        "Before that her mind was sharp, she does the crossword every day!! They stopped two of her pills and moved her to a bed "
        "by the window. Is this dementia? What made her so confused? She is better now but I am scared.",
        phrases=("Is this dementia? What made her so confused?",),
        question="Was her confusion after hip surgery due to dementia, and what caused it?",
        note=(
            """\
N Brief Hospital Course:""",
            """\
S 72-year-old woman with a left femoral neck fracture, treated with hemiarthroplasty on day 1.
E On day 2 she became agitated at night, saw spiders and pulled out her IV, and was lucid in between.
E Geriatrics diagnosed delirium, with no history of memory loss before admission.
S Head CT showed no hemorrhage or stroke.
E Oxybutynin and diphenhydramine, which can cause confusion, were stopped.
E Bladder scan showed 900 mL of retained urine, and a catheter was placed.
E Urine culture grew E. coli, and ceftriaxone was given for three days.
S Pain was treated with scheduled acetaminophen and a nerve block to spare opioids.
N Hemoglobin was 9.1 and did not require transfusion.
E By day 6 she was oriented and slept through the night.""",
            """\
N Discharge Instructions:
S Memory testing is planned in three months, since delirium can uncover an earlier problem.
N Weight bearing as tolerated on the left leg.""",
        ),
        answer=(
            (
                "The doctors found delirium, a sudden confusion that comes and goes, and not dementia: her memory was good "
                "before admission.",
                "3,4",
            ),
            (
                "After surgery, several things could have caused it: two medicines, oxybutynin and diphenhydramine, a bladder "
                "that did not empty, and a urinary infection.",
                "6,7,8",
            ),
            ("Each was treated, and by day 6 her thinking was clear.", "11"),
            ("Her memory will be tested in three months to be sure.", "13"),
        ),
    ),
    DemoCase(
        id="28",
        source="mimic-iv",
        document_id="91000028",
        narrative="I went to the ER with chest pain, I am 44 and my dad had a heart attack at 50. Two blood tests and two EKGs, "
        "then a doctor pushed on my ribs and said go home, take ibuprofen. How can they know it is not my heart from just that? "
        "Should they not have kept me overnight? Still sore when I twist.",
        phrases=("How can they know it is not my heart from just that? Should they not have kept me overnight?",),
        question="How was a cardiac cause of chest pain excluded, and why was he not admitted?",
        note=(
            """\
N History of Present Illness:
S 44-year-old man with two days of sharp left chest pain that began after he moved furniture.
N He takes no medications and does not smoke.
S His father had a myocardial infarction at age 50.""",
            """\
N ED Course:
E Two ECGs three hours apart were normal.
E High-sensitivity troponin was below the limit of detection on arrival and at three hours.
E Pain was reproduced by pressing on the left third and fourth costal cartilages.
S Chest X-ray showed no pneumothorax or fracture.
E HEART score was 1, which is low risk for a cardiac event in the next six weeks, so observation was not indicated.
N He ate a meal while waiting.""",
            """\
N Discharge Instructions:
E Take ibuprofen 400 mg three times a day with food for costochondritis.
S See your primary care doctor within a week about your family history.""",
        ),
        answer=(
            (
                "Two ECGs and two blood tests for heart damage, taken three hours apart, were normal, which makes a heart "
                "attack very unlikely.",
                "6,7",
            ),
            (
                "Pressing on the cartilage of your ribs brought on the same pain, which fits inflammation there and is treated "
                "with ibuprofen.",
                "8,13",
            ),
            (
                "Your risk in the coming weeks was scored as low, so an overnight stay was not needed.",
                "10",
            ),
            ("Please discuss your father's history with your own doctor within a week.", "14"),
        ),
    ),
)


DEMO_CASES: dict[str, tuple[DemoCase, ...]] = {
    "dev": DEV_CASES,
    "test": TEST_CASES,
    "test_2026": TEST_2026_CASES,
}
"""Split to its cases, in order."""
