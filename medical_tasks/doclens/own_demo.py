"""The `demo` configuration of one's own texts: synthetic sources with references, written for this package; nobody said them.

They are of different shapes: a numbered call, a numbered report, a letter without numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["DemoText", "demo_texts"]


@dataclass(frozen=True, kw_only=True)
class DemoText:
    """One synthetic text.

    Attributes:
        id: of it.
        source: what an output is made from.
        reference: what it should say.
    """

    id: str
    source: str
    reference: str


_TEXTS = (
    DemoText(
        id="call-1",
        source=(
            "[0][nurse] heart failure clinic, good morning.\n"
            "[1][patient] morning, this is mister olbrich. my weight has gone up three kilos since sunday.\n"
            "[2][nurse] three kilos in four days. any swelling?\n"
            "[3][patient] both ankles. and i need two pillows at night now instead of one.\n"
            "[4][nurse] are you taking the torasemide?\n"
            "[5][patient] ten milligrams in the morning, yes. i never miss it.\n"
            "[6][nurse] no chest pain?\n"
            "[7][patient] no, nothing like that.\n"
            "[8][nurse] all right. take twenty milligrams until friday, weigh yourself every morning, and come in on friday "
            "for a blood test. if you get short of breath at rest, call an ambulance."
        ),
        reference=(
            "The patient with heart failure has gained 3 kg in four days. He has swelling of both ankles and needs two pillows "
            "at night. He has no chest pain. He takes torasemide 10 mg in the morning.\n"
            "Torasemide is raised to 20 mg until Friday. He is to weigh himself every morning and has a blood test on Friday. "
            "He is to call an ambulance if he gets short of breath at rest."
        ),
    ),
    DemoText(
        id="call-2",
        source=(
            "[0][nurse] pediatric advice line.\n"
            "[1][parent] my daughter is two and has had diarrhea since yesterday, five times today.\n"
            "[2][nurse] is there blood in it?\n"
            "[3][parent] no.\n"
            "[4][nurse] fever?\n"
            "[5][parent] thirty eight point two this morning.\n"
            "[6][nurse] does she drink, and does she pass urine?\n"
            "[7][parent] she drinks tea in small sips. her last wet diaper was an hour ago.\n"
            "[8][nurse] give her rehydration solution after each stool. come in if there is no wet diaper for eight hours or if "
            "you see blood."
        ),
        reference=(
            "The two-year-old girl has had diarrhea since yesterday, five stools today, without blood. Her temperature was 38.2 "
            "this morning. She drinks and passes urine.\n"
            "Rehydration solution is given after each stool. She is seen if there is no wet diaper for eight hours or if there is "
            "blood in the stool."
        ),
    ),
    DemoText(
        id="report-1",
        source=(
            "[0] Radiograph of the left wrist in two planes after a fall. "
            "[1] Fracture of the distal radius with dorsal angulation of 15 degrees. "
            "[2] The joint surface is not involved. "
            "[3] The tip of the ulnar styloid is broken off. "
            "[4] The carpal bones are in line."
        ),
        reference=(
            "Fracture of the left distal radius outside the joint with dorsal angulation. Fracture of the ulnar styloid."
        ),
    ),
    DemoText(
        id="letter-1",
        source=(
            "Mrs. Aydin was with us for two days because of renal colic on the right. CT showed a stone of 4 mm at the ureteral "
            "orifice. She passed it on the second day. Creatinine was 0.9 mg/dl. The stone is being analyzed. We advise 2.5 "
            "liters of fluid a day, and metamizole 500 mg if the pain comes back."
        ),
        reference=(
            "A ureteral stone of 4 mm on the right caused colic and has passed. Kidney function is normal. The patient should "
            "drink 2.5 liters a day. The result of the stone analysis is pending."
        ),
    ),
)


def demo_texts() -> tuple[DemoText, ...]:
    """Returns the texts, in order."""
    return _TEXTS
