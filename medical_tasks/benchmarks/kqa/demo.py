"""Synthetic questions with answers and statements, and a corpus to retrieve from, written for this package. Not medical advice.

No patient asked the questions; their shapes are those of the release: one must-have statement and nothing else, no nice-to-have
statements, long lists, typographic marks. The corpus is short texts for lay readers that cover most questions but not all, so that
"I don't know" is sometimes the right answer for a model that may use nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass

from medical_tasks.benchmarks.kqa.documents import Document

__all__ = ["DOCUMENTS", "QUESTIONS"]


@dataclass(frozen=True, kw_only=True)
class DemoQuestion:
    """One synthetic question.

    Attributes:
        question: as a patient would type it.
        answer: in free form; says what the statements say.
        must_have: statements an answer has to make.
        nice_to_have: statements that supplement it.
        diagnosis: condition in the wording of ICD-10; "" when there is none.
    """

    question: str
    answer: str
    must_have: tuple[str, ...]
    nice_to_have: tuple[str, ...] = ()
    diagnosis: str = ""


QUESTIONS: tuple[DemoQuestion, ...] = (
    DemoQuestion(
        question="Can I take ibuprofen and paracetamol together for a fever?",
        answer=(
            "Yes, a healthy adult can take both, because they work in different ways. Stay below 4 grams of paracetamol in "
            "24 hours, and check the labels of cold remedies, as many contain paracetamol. Leave ibuprofen out if you have "
            "or had a stomach ulcer, and from week 20 of a pregnancy."
        ),
        must_have=(
            "Healthy adults can take ibuprofen and paracetamol together.",
            "An adult must not take more than 4 grams of paracetamol in 24 hours.",
            "Ibuprofen should be avoided by people who have or had a stomach ulcer.",
            "Ibuprofen should be avoided from week 20 of pregnancy.",
        ),
        nice_to_have=(
            "Ibuprofen and paracetamol work in different ways.",
            "Many cold remedies contain paracetamol.",
        ),
        diagnosis="Fever, unspecified",
    ),
    DemoQuestion(
        question="is athletes foot contagious",
        answer=(
            "Yes. Athlete's foot is a fungal infection that spreads by contact with infected skin and on damp floors, for "
            "example in changing rooms. Drying the feet well helps to prevent it, and antifungal creams treat it."
        ),
        must_have=("Athlete's foot is contagious.",),
        nice_to_have=(
            "Athlete's foot is an infection of the skin with a fungus.",
            "Athlete's foot can spread on damp floors, such as those of changing rooms.",
            "Drying the feet well helps to prevent athlete's foot.",
            "Antifungal creams treat athlete's foot.",
        ),
        diagnosis="Tinea pedis",
    ),
    DemoQuestion(
        question="What does an HbA1c of 6.0 mean?",
        answer=(
            "HbA1c shows your average blood sugar over the past two to three months. A value of 6.0 percent is in the range "
            "of prediabetes, which reaches from 5.7 to 6.4 percent; diabetes begins at 6.5 percent. More activity and weight "
            "loss lower the risk that it becomes diabetes. Anemia can make the value unreliable."
        ),
        must_have=(
            "HbA1c reflects the average blood sugar of the past two to three months.",
            "An HbA1c of 6.0 percent is in the range of prediabetes.",
            "Physical activity and weight loss lower the risk that prediabetes becomes diabetes.",
        ),
        nice_to_have=(
            "The HbA1c range of prediabetes is 5.7 to 6.4 percent.",
            "An HbA1c of 6.5 percent or more suggests diabetes.",
            "Anemia can make an HbA1c value unreliable.",
        ),
        diagnosis="Prediabetes",
    ),
    DemoQuestion(
        question="How long should I stay home from work with the stomach flu?",
        answer=(
            "Stay home until 48 hours have passed since you last vomited or had diarrhea. Drink often in small amounts and "
            "wash your hands with soap, since alcohol gel works poorly against norovirus. Most people are well again in a "
            "few days. See a doctor if there is blood in your stool or if you can keep no fluids down."
        ),
        must_have=(
            "Stay home until 48 hours after the last vomiting or diarrhea.",
            "Drink enough fluids to prevent dehydration.",
            "See a doctor if there is blood in the stool.",
            "See a doctor if you cannot keep fluids down.",
        ),
        nice_to_have=(
            "Washing hands with soap lowers the risk of infecting others.",
            "Alcohol hand gel works poorly against norovirus.",
            "Most people recover from stomach flu within a few days.",
        ),
        diagnosis="Viral intestinal infection, unspecified",
    ),
    DemoQuestion(
        question="So do I have to finish my antibiotics if I already feel better?",
        answer=(
            "Take them for as long as your prescriber told you, and ask before you stop early. Do not keep tablets for "
            "another time and do not give them to others."
        ),
        must_have=(
            "Antibiotics should be taken for as long as the prescriber said.",
            "Ask the prescriber before stopping an antibiotic early.",
            "Left-over antibiotics should not be kept for another illness or given to others.",
        ),
    ),
    DemoQuestion(
        question="What can I take for hay fever while I'm pregnant?",
        answer=(
            "Rinsing the nose with salt water is safe; make it with boiled or distilled water. Of the tablets, cetirizine and "
            "loratadine are considered low risk in pregnancy, and so is a budesonide nasal spray. Do not take decongestant "
            "tablets such as pseudoephedrine, above all not in the first three months. Ask your doctor or pharmacist before "
            "any medicine, and keep windows shut when there is much pollen."
        ),
        must_have=(
            "Cetirizine and loratadine are considered low risk in pregnancy.",
            "Decongestant tablets such as pseudoephedrine should be avoided in the first three months of pregnancy.",
            "Ask a doctor or pharmacist before taking any medicine in pregnancy.",
        ),
        nice_to_have=(
            "Rinsing the nose with salt water is safe in pregnancy.",
            "A budesonide nasal spray is considered low risk in pregnancy.",
            "Avoiding pollen helps against hay fever.",
        ),
        diagnosis="Allergic rhinitis due to pollen",
    ),
    DemoQuestion(
        question="my dads blood pressure is 185/125 and his chest hurts what now",
        answer=(
            "Call the emergency services now. A pressure above 180/120 together with chest pain is an emergency, because "
            "heart, brain or kidneys may be taking damage. He should not drive himself. Let him sit down and rest until "
            "help arrives."
        ),
        must_have=(
            "Call the emergency services at once.",
            "Blood pressure above 180/120 together with chest pain is an emergency.",
        ),
        nice_to_have=(
            "Very high blood pressure can damage the heart, the brain and the kidneys.",
            "He should not drive himself to the hospital.",
            "He should sit and rest until help arrives.",
        ),
        diagnosis="Hypertensive emergency",
    ),
    DemoQuestion(
        question="what are the side effects of metformin?",
        answer=(
            "The most frequent ones concern the gut: diarrhea, nausea, stomach pain, loss of appetite and a metallic taste. "
            "They usually fade within a few weeks, and taking the tablets with food or in the extended-release form helps. "
            "After years of use vitamin B12 can run low. Lactic acidosis is rare but dangerous; its signs are fast "
            "breathing, muscle pain and great weakness, and severe kidney disease raises the risk. By itself metformin "
            "rarely lowers blood sugar too far. Mention it before a scan with contrast dye."
        ),
        must_have=(
            "Metformin can cause diarrhea.",
            "Metformin can cause nausea.",
            "Metformin can cause stomach pain.",
            "The side effects of metformin on the gut usually fade within a few weeks.",
            "Taking metformin with food reduces its side effects.",
            "Long use of metformin can lower vitamin B12.",
            "Lactic acidosis is a rare but dangerous side effect of metformin.",
            "Severe kidney disease raises the risk of lactic acidosis with metformin.",
        ),
        nice_to_have=(
            "Metformin can cause loss of appetite.",
            "Metformin can cause a metallic taste.",
            "Extended-release metformin is easier on the stomach.",
            "Signs of lactic acidosis are fast breathing, muscle pain and great weakness.",
            "Metformin by itself rarely causes low blood sugar.",
            "Mention metformin before a scan with contrast dye.",
        ),
        diagnosis="Type 2 diabetes mellitus without complications",
    ),
    DemoQuestion(
        question="Does strep throat need antibiotics?",
        answer="Yes. Strep throat is an infection with bacteria and is treated with antibiotics.",
        must_have=("Strep throat is treated with antibiotics.",),
        diagnosis="Streptococcal pharyngitis",
    ),
    DemoQuestion(
        question="Okay and can I keep breastfeeding with mastitis?",
        answer=(
            "Yes, go on breastfeeding, also from the sore breast: it does the baby no harm and helps you to heal. Cold "
            "packs and ibuprofen ease the pain, and most antibiotics used for mastitis can be taken while breastfeeding. "
            "See a doctor if you have a fever or are no better after a day."
        ),
        must_have=(
            "Breastfeeding can go on during mastitis.",
            "Milk from a breast with mastitis does not harm the baby.",
            "See a doctor if mastitis comes with fever or is no better after a day.",
        ),
        nice_to_have=(
            "Cold packs ease the pain of mastitis.",
            "Ibuprofen can be taken for the pain while breastfeeding.",
            "Most antibiotics used for mastitis can be taken while breastfeeding.",
        ),
        diagnosis="Mastitis without abscess",
    ),
    DemoQuestion(
        question="Whats the difference between a cold and the flu",
        answer=(
            "Viruses cause both, so antibiotics help against neither. A cold comes slowly, with a runny nose, sneezing and a "
            "sore throat. The flu comes suddenly, with fever and aching muscles, and can lead to pneumonia. Antiviral "
            "medicine against the flu works best within 48 hours of the first symptoms. A vaccine every year protects "
            "against the flu."
        ),
        must_have=(
            "Colds and the flu are both caused by viruses.",
            "The flu starts suddenly.",
            "The flu causes fever and aching muscles.",
            "A cold mostly causes a runny nose, sneezing and a sore throat.",
            "The flu can lead to serious complications such as pneumonia.",
        ),
        nice_to_have=(
            "Antibiotics help against neither a cold nor the flu.",
            "Antiviral medicine against the flu works best within 48 hours of the first symptoms.",
            "A yearly vaccine protects against the flu.",
        ),
        diagnosis="Influenza due to unidentified influenza virus with other respiratory manifestations",
    ),
    DemoQuestion(
        question="How do I know if a mole is dangerous?",
        answer=(
            "Most moles are harmless. Have a doctor look at a mole that changes, whose halves differ, whose edge is ragged, "
            "that has several colors or is wider than 6 millimeters, and at one that itches or bleeds. Photographs help to "
            "notice changes, and protection from the sun lowers the risk of skin cancer."
        ),
        must_have=(
            "A mole that changes should be examined by a doctor.",
            "A mole whose halves differ in shape is a warning sign.",
            "A mole with an irregular edge is a warning sign.",
            "A mole with several colors is a warning sign.",
            "A mole wider than 6 millimeters is a warning sign.",
        ),
        nice_to_have=(
            "A mole that itches or bleeds should be examined by a doctor.",
            "Most moles are harmless.",
            "Photographs help to notice changes of a mole.",
            "Protection from the sun lowers the risk of skin cancer.",
        ),
        diagnosis="Melanocytic nevi, unspecified",
    ),
    DemoQuestion(
        question="My mother is 78, she has 38.2 °C and seems confused – is that serious?",
        answer=(
            "Yes. Call the emergency services now. New confusion with a fever can be a sign of sepsis, which is an emergency. "
            "Tell them if she is hard to wake, breathes fast or has cold, blotchy skin. Older people can be seriously ill with "
            "only a slight fever."
        ),
        must_have=(
            "New confusion with fever in an older person is an emergency.",
            "Fever with confusion can be a sign of sepsis.",
            "Call the emergency services at once.",
        ),
        nice_to_have=("Older people can be seriously ill with only a slight fever.",),
        diagnosis="Altered mental status, unspecified",
    ),
)


def _document(name: str, title: str, *paragraphs: str) -> Document:
    return Document(name=f"demo/{name}", title=title, text="\n\n".join(paragraphs))


DOCUMENTS: tuple[Document, ...] = (
    _document(
        "athletes-foot",
        "Athlete's foot",
        "Athlete's foot is a skin infection caused by a fungus. The skin between the toes itches, peels and may crack.",
        "The fungus passes from person to person through skin contact and through damp floors in showers and changing rooms. "
        "Shared towels and socks can carry it as well, so the infection is contagious until it has been treated.",
        "Antifungal creams from the pharmacy cure most cases in two to four weeks. Dry your feet well, change socks daily and "
        "wear sandals in public showers. People with diabetes should show any wound of the foot to a doctor.",
    ),
    _document(
        "cold-or-flu",
        "Is it a cold or the flu?",
        "Colds and the flu are caused by different viruses. Antibiotics do nothing against either of them.",
        "A cold develops over a day or two. The nose runs, you sneeze, and the throat is sore; high fever is unusual in adults.",
        "The flu strikes within hours. Fever, shivering, aching muscles and exhaustion are typical. It can be followed by "
        "pneumonia, above all in people over 65, pregnant women, small children and people with a long-term illness. "
        "Antiviral tablets work best when they are started within 48 hours. A vaccine is offered every autumn.",
    ),
    _document(
        "fever-medicines",
        "Medicines against fever and pain",
        "Paracetamol, called acetaminophen in some countries, and ibuprofen both bring a fever down. They act in different "
        "ways, so a healthy adult may take them together or one after the other.",
        "The most paracetamol an adult may take is 4 grams in 24 hours. Look at the package of cold and flu remedies: many of "
        "them already contain it, and too much harms the liver.",
        "Ibuprofen is not for people with a stomach ulcer, severe heart failure or kidney disease, nor for the second half of "
        "pregnancy, from week 20 on. Take it with food.",
    ),
    _document(
        "hay-fever-pregnancy",
        "Hay fever during pregnancy",
        "Start with what is no medicine: rinse the nose with salt water made of boiled or distilled water, keep windows closed "
        "on days with much pollen, and wash your hair in the evening.",
        "If that is not enough, tablets with cetirizine or loratadine and nasal sprays with budesonide have been used by many "
        "pregnant women and are considered low risk. Decongestant tablets with pseudoephedrine are better left out, "
        "particularly in the first three months. Speak to a doctor, midwife or pharmacist before you take anything.",
    ),
    _document(
        "hba1c",
        "Understanding your HbA1c result",
        "HbA1c is the share of the red blood pigment that sugar has attached itself to. It tells how high blood sugar was on "
        "average during the last two to three months.",
        "Below 5.7 percent is normal. From 5.7 to 6.4 percent is called prediabetes, and 6.5 percent or more points to "
        "diabetes. The result misleads when red blood cells live shorter or longer than usual, for example in anemia.",
        "People with prediabetes can lower their risk of diabetes considerably by losing some weight and being active for "
        "half an hour on most days.",
    ),
    _document(
        "metformin",
        "Metformin: what to expect",
        "Metformin is usually the first tablet given for type 2 diabetes. Many people have loose stools, nausea, stomach "
        "cramps or a metallic taste at the beginning. This mostly passes within weeks.",
        "Take the tablets with a meal. An extended-release form is gentler. By itself the medicine seldom makes blood sugar "
        "too low. After years, vitamin B12 should be checked.",
        "A build-up of lactic acid is very rare but dangerous: fast breathing, muscle pain and great weakness need help at "
        "once. Tell the staff that you take metformin when your kidneys are weak or a scan with contrast dye is planned.",
    ),
    _document(
        "moles",
        "Checking your moles",
        "Nearly all moles are harmless. Look at yours once a month, and take photographs of large ones to compare.",
        "Show a mole to a doctor if one half is not like the other, the edge is ragged, the color is uneven, it is wider than "
        "6 millimeters, or it has changed. Itching and bleeding are further reasons.",
        "Shade, clothing and sunscreen lower the risk of skin cancer.",
    ),
    _document(
        "stomach-flu",
        "Stomach flu (viral gastroenteritis)",
        "Vomiting and diarrhea from a virus are over after a few days in most people. Take small sips of water or an oral "
        "rehydration drink often.",
        "You pass the virus on easily. Stay away from work, school and kitchens until two days, that is 48 hours, after the "
        "last vomiting or diarrhea. Wash your hands with soap: alcohol gel does little against norovirus.",
        "Seek medical advice when blood appears in the stool, no fluid stays down, or there are signs of dehydration such as "
        "dark urine and dizziness.",
    ),
    _document(
        "sprained-ankle",
        "First aid for a sprained ankle",
        "Rest the foot, cool it for up to 20 minutes at a time, wrap it with an elastic bandage and put it up.",
        "Have it examined if you cannot take four steps, if the bone hurts when pressed, or if the foot feels numb.",
    ),
)
