"""Synthetic visits to be evaluated on, written for this package; they describe nobody. Not medical advice."""

from __future__ import annotations

from medical_tasks.benchmarks.doclens.demo_visits import DemoVisit

__all__ = ["TEST_VISITS"]

TEST_VISITS = (
    DemoVisit(
        id="DEMO004",
        split="test1",
        dialogue="""\
[doctor] hello , samir . it says here you have a cough .
[patient] yes , for about three weeks . it's dry , and worse at night .
[doctor] do you smoke ?
[patient] half a pack a day since i was twenty .
[doctor] any fever or weight loss ?
[patient] no , none of that . a little heartburn after meals .
[doctor] and you take lisinopril for your blood pressure , right ?
[patient] yes , ten milligrams , since last month .
[doctor] your lungs are clear , no wheezing . heart is regular . blood pressure is one twenty-eight over eighty .
[patient] and the x-ray ?
[doctor] the chest x-ray is normal .
[patient] so what is it ?
[doctor] i believe it's the lisinopril . we'll stop it , and you take losartan , fifty milligrams a day , instead . \
the cough should be gone in four weeks .
[patient] great .
[doctor] and let's talk about quitting smoking next time .""",
        note="""\
CHIEF COMPLAINT

Cough.

HISTORY OF PRESENT ILLNESS

Samir has had a dry cough for 3 weeks, worse at night. He has no fever and no weight loss. He has some heartburn \
after meals. He began lisinopril last month.

SOCIAL HISTORY

Smokes half a pack a day since the age of 20.

CURRENT MEDICATIONS

Lisinopril 10 mg daily.

VITALS

Blood pressure 128/80.

PHYSICAL EXAM

Lungs: Clear, no wheezing.
Heart: Regular.

RESULTS

Chest X-ray: Normal.

ASSESSMENT AND PLAN

Cough, most likely caused by lisinopril. Stop lisinopril and start losartan 50 mg daily. The cough should be gone in \
4 weeks. Smoking cessation will be discussed at the next visit.""",
    ),
    DemoVisit(
        id="DEMO005",
        split="test1",
        dialogue="""\
[doctor] hi there , who do we have today ?
[patient_guest] this is ella , she's six , i'm her father . she has had an earache since yesterday .
[doctor] hi , ella . which ear is it ?
[patient] this one .
[doctor] the left one . did she have a cold before ?
[patient_guest] yes , all last week , with a stuffy nose .
[doctor] is she allergic to any medicine ?
[patient_guest] she got hives from amoxicillin when she was two .
[doctor] okay . the left eardrum is red and bulging . the right one looks normal . temperature is thirty-eight one .
[patient_guest] does she need an antibiotic ?
[doctor] the tympanogram is flat on the left , so there is fluid behind it . i'll give her cefdinir for ten days , \
because of the hives .
[patient_guest] and for the pain ?
[doctor] ibuprofen by weight , every eight hours . come back if she isn't better in three days .""",
        note="""\
CHIEF COMPLAINT

Left ear pain.

HISTORY OF PRESENT ILLNESS

Ella is a 6-year-old girl who is here with her father. She has had left ear pain since yesterday, after a week of \
cold symptoms with nasal congestion.

ALLERGIES

Amoxicillin: Hives at the age of 2.

EXAM

Temperature 38.1 degrees. Left tympanic membrane red and bulging, right one normal.

RESULTS

Tympanogram: Flat on the left.

ASSESSMENT

Acute otitis media of the left ear.

PLAN

Cefdinir for 10 days because of the allergy to amoxicillin. Ibuprofen by weight every 8 hours for pain. Return if she \
is not better in 3 days.""",
    ),
    DemoVisit(
        id="DEMO006",
        split="test1",
        dataset="virtassist",
        dialogue="""\
[doctor] missus alvarez , how is the breathing ?
[patient] worse on the stairs . i have to stop after one floor now .
[doctor] since when ?
[patient] about two weeks . and my shoes are tight in the evening .
[doctor] are you sleeping flat ?
[patient] no , with three pillows .
[doctor] have you been careful with salt ?
[patient] well , there was my birthday , and we had a lot of ham .
[doctor] i hear crackles at both bases . there is two plus edema up to the shins . your weight is up four kilograms .
[patient] oh dear .
[doctor] hey , dragon , show me the b n p . it is nine hundred . the echo from last year had an ejection fraction of \
thirty-five percent .
[patient] what do we do ?
[doctor] we double the furosemide to eighty milligrams a day for one week , you weigh yourself every morning , and we \
check the kidneys and potassium on friday .
[patient] all right .
[doctor] hey , dragon , order a basic metabolic panel .""",
        note="""\
CHIEF COMPLAINT

Shortness of breath.

HISTORY OF PRESENT ILLNESS

Mrs. Alvarez has had increasing exertional dyspnea for 2 weeks and has to stop after one flight of stairs. She sleeps \
on 3 pillows and has swelling of the feet in the evening. She ate salty food on her birthday.

REVIEW OF SYSTEMS

Positive for orthopnea and edema.

PHYSICAL EXAM

Weight up by 4 kg. Crackles at both lung bases. Edema 2+ up to the shins.

RESULTS

BNP: 900.
Echocardiogram of last year: Ejection fraction 35 percent.

ASSESSMENT AND PLAN

Acute on chronic heart failure with reduced ejection fraction.
- Medical Treatment: Furosemide 80 mg daily for 1 week, double the dose before.
- Patient Education: Weigh every morning, restrict salt.
- Additional Testing: Basic metabolic panel on Friday.""",
    ),
    DemoVisit(
        id="DEMO007",
        split="test1",
        dialogue="""\
[doctor] hey , tom . back pain again ?
[patient] yeah , i lifted a washing machine on monday and it shot into my leg .
[doctor] which leg ?
[patient] the right one , down to the outside of the foot .
[doctor] any trouble with the bladder or numbness between the legs ?
[patient] no , thank god .
[doctor] what have you tried ?
[patient] naproxen , it takes the edge off .
[doctor] straight leg raise is positive on the right at forty degrees . strength is full . the ankle reflex on the \
right is weaker .
[patient] do i need a scan ?
[doctor] not now . the x-ray you had in the emergency room was fine . your mother had a disc operation , didn't she ?
[patient] yes , ten years ago .
[doctor] most of these settle by themselves . keep moving , naproxen five hundred twice a day with food , and \
physical therapy . if it isn't better in six weeks , we do an m r i .
[patient] okay .""",
        note="""\
CHIEF COMPLAINT

Low back pain.

HISTORY OF PRESENT ILLNESS

Tom lifted a washing machine on Monday and has had low back pain since, with radiation to the outside of the right \
foot. He has no bladder problems and no saddle numbness. Naproxen helps a little.

FAMILY HISTORY

Mother had disc surgery 10 years ago.

PHYSICAL EXAM

Straight leg raise positive on the right at 40 degrees. Strength 5/5. Right ankle reflex diminished.

RESULTS

X-ray of the lumbar spine in the emergency room: Normal.

IMPRESSION

Right S1 radiculopathy.

PLAN

Stay active. Naproxen 500 mg twice a day with food. Physical therapy. MRI if there is no improvement in 6 weeks.""",
    ),
    DemoVisit(
        id="DEMO008",
        split="test1",
        dataset="virtscribe",
        dialogue="""\
[doctor] good afternoon , june . you wanted to talk about being tired ?
[patient] i'm exhausted all the time , doctor . for three months or so .
[doctor] how is your sleep ?
[patient] eight hours , no problem . but my periods have become very heavy .
[doctor] do you eat meat ?
[patient] i've been a vegetarian for five years .
[doctor] any chest pain or fainting ?
[patient] no .
[doctor] you look a bit pale . heart rate is ninety-six . there is a soft systolic murmur . the thyroid feels normal .
[patient] what does the blood say ?
[doctor] hemoglobin is nine point two and ferritin is five . the t s h is normal .
[patient] so it's iron ?
[doctor] yes , you have iron deficiency anemia from the bleeding . take iron every other day , i'll have a \
gynecologist see you , and we repeat the count in four weeks .
[patient] thank you .""",
        note="""\
CHIEF COMPLAINT

Fatigue.

HISTORY OF PRESENT ILLNESS

June has been exhausted for about 3 months in spite of 8 hours of sleep. Her periods have become very heavy. She \
denies chest pain and fainting.

SOCIAL HISTORY

Vegetarian for 5 years.

PHYSICAL EXAM

Heart rate 96. Pallor. Soft systolic murmur. Thyroid normal to palpation.

RESULTS

Hemoglobin 9.2. Ferritin 5. TSH normal.

ASSESSMENT AND PLAN

Iron deficiency anemia due to menorrhagia. Oral iron every other day. Referral to gynecology. Repeat blood count in 4 \
weeks.""",
    ),
    DemoVisit(
        id="DEMO009",
        split="test1",
        dialogue="""\
[doctor] hi , mister berg . how are things after the hip operation ?
[patient] much better . six weeks now , and i walk without the cane at home .
[doctor] any pain ?
[patient] one or two out of ten , after physical therapy .
[doctor] any fever , any discharge from the wound ?
[patient] no . it closed up nicely .
[doctor] still taking the blood thinner ?
[patient] i stopped it last week as they told me .
[doctor] the incision is well healed , no redness . the left hip bends to one hundred degrees . both legs are the \
same length .
[patient] can i drive ?
[doctor] the x-ray shows the implant in good position , no loosening . so yes , you may drive short distances .
[patient] and golf ?
[doctor] wait until three months . go on with physical therapy twice a week . see you in six weeks .""",
        note="""\
CHIEF COMPLAINT

Follow-up after left total hip replacement.

HISTORY OF PRESENT ILLNESS

Mr. Berg is 6 weeks out from a left total hip replacement. He walks without a cane at home. Pain is 1 to 2 out of 10 \
after physical therapy. He has had no fever and no wound discharge. He stopped the anticoagulant last week as planned.

PHYSICAL EXAM

Incision well healed, without redness. Left hip flexion to 100 degrees. Equal leg lengths.

RESULTS

X-ray of the left hip: Implant in good position, no loosening.

ASSESSMENT AND PLAN

Good recovery after left total hip replacement.
- Short drives are allowed, no golf until 3 months.
- Physical therapy twice a week.
- Return in 6 weeks.""",
    ),
)
