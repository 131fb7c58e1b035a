"""The demo's own corpus for retrieval: short texts for lay readers, written for this package. Not medical advice.

They cover most of the demo's questions but not all, so that "I don't know" is sometimes the right answer for a model that may
use nothing else.
"""

from __future__ import annotations

from medical_tasks.benchmarks.kqa.documents import Document

__all__ = ["DOCUMENTS"]


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
