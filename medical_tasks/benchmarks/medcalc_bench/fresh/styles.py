"""Five kinds of note: narrative, referral letter, SOAP, telegraphic triage and discharge summary."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from medical_tasks.benchmarks.medcalc_bench.fresh.chart import Chart, Setting, Style
from medical_tasks.benchmarks.medcalc_bench.fresh.wording import Place, list_sentence, place_of, values_sentence

__all__ = ["note_text"]

_OPENINGS: Final[Mapping[Setting, tuple[str, ...]]] = {
    "clinic": ("is seen in clinic", "attends the outpatient clinic", "comes to the practice"),
    "emergency": ("presents to the emergency department", "comes to the emergency department", "is seen in the ED"),
    "resus": ("is brought in by ambulance", "is taken to the resuscitation room", "is admitted through the ED"),
    "ward": ("has been admitted to the ward", "is in hospital", "is seen on the morning round"),
    "icu": ("is treated in the intensive care unit", "was taken to intensive care", "is in the ICU"),
    "obstetric": ("attends the antenatal clinic", "comes to the midwife", "is seen in the antenatal clinic"),
    "child": ("is brought to the paediatric clinic", "is brought to the practice by {his} parents", "is seen"),
}
_Texts = Mapping[Place, str]


def note_text(chart: Chart) -> str:
    """Writes the note of a chart.

    Args:
        chart: the patient, complete.

    Returns:
        The text, paragraphs between line breaks.
    """
    texts: dict[Place, list[str]] = {place: list(sentences) for place, sentences in chart.sentences.items()}
    for (kind, present), phrases in chart.phrases.items():
        sentence = list_sentence(
            chart.draw, kind, chart.draw.shuffled(phrases), present=present, brief=chart.brief, voice=chart.voice
        )
        texts.setdefault(place_of(kind), []).append(sentence)
    values = {
        place: values_sentence(chart.draw, place, chart.draw.shuffled(readings), brief=chart.brief)
        for place, readings in chart.values.items()
    }
    joined: dict[Place, str] = {place: " ".join(chart.draw.shuffled(parts)) for place, parts in texts.items()}
    joined["story"] = _both(*chart.story, joined.get("story"))
    joined["exam"] = _both(values.get("vitals"), joined.get("exam"))
    joined["tests"] = _both(values.get("labs"), values.get("gas"), joined.get("tests"))
    text = _STYLES[chart.style](chart, joined)
    words = {**chart.person.words, "side": chart.side, "other": chart.other}
    for name, word in words.items():
        text = text.replace(f"{{{name}}}", word)
    return text


def _both(*parts: str | None) -> str:
    return " ".join(part for part in parts if part)


def _some(texts: _Texts, *places: Place) -> str:
    return _both(*(texts.get(place) for place in places))


def _lines(*parts: str) -> str:
    return "\n\n".join(part for part in parts if part)


def _headed(*parts: tuple[str, str], end: str = "\n") -> str:
    return end.join(f"{head} {text}" for head, text in parts if text)


def _narrative(chart: Chart, texts: _Texts) -> str:
    person = chart.person
    opening = f"{person.article} {person.described} {chart.draw.pick(_OPENINGS[chart.setting])} {chart.reason}."
    past: tuple[Place, ...] = ("history", "medication", "social")
    first = _both(opening, _some(texts, "story", *past))
    rest = _lines(_some(texts, "exam", "care"), _some(texts, "tests", "impression", "plan"))
    if chart.draw.chance(0.4):
        first = _lines(_both(opening, _some(texts, "story")), _some(texts, *past))
    return _lines(first, rest)


def _referral(chart: Chart, texts: _Texts) -> str:
    person = chart.person
    thanks = chart.draw.pick(
        ("Thank you for seeing this {described} {reason}.", "Please could you see this {described} {reason}.")
    )
    opening = thanks.replace("{described}", person.described).replace("{reason}", chart.reason)
    return _lines(
        f"Re: {person.title}",
        "Dear colleague,",
        _both(opening, _some(texts, "story")),
        _some(texts, "history", "medication", "social"),
        _some(texts, "exam", "care", "tests"),
        _some(texts, "impression", "plan"),
        chart.draw.pick(("With kind regards", "Yours sincerely", "Many thanks")),
    )


def _soap(chart: Chart, texts: _Texts) -> str:
    person = chart.person
    return _headed(
        ("S:", _both(f"{person.article} {person.described} {chart.reason}.", _some(texts, "story", "history"))),
        ("Medication and social history:", _some(texts, "medication", "social")),
        ("O:", _some(texts, "exam", "care", "tests")),
        ("A:", texts.get("impression", "")),
        ("P:", texts.get("plan", "")),
    )


def _telegraphic(chart: Chart, texts: _Texts) -> str:
    opening = f"{chart.person.brief} {chart.reason}."
    return _both(
        opening,
        _some(texts, "story", "history", "medication", "social", "exam", "care", "tests", "impression", "plan"),
    )


def _discharge(chart: Chart, texts: _Texts) -> str:
    person = chart.person
    return _headed(
        ("Reason for admission:", f"{person.article} {person.described} was admitted {chart.reason}."),
        ("On admission:", _some(texts, "story", "exam", "care")),
        ("Past history and medication:", _some(texts, "history", "medication", "social")),
        ("Investigations:", texts.get("tests", "")),
        ("Assessment and plan:", _some(texts, "impression", "plan")),
        end="\n\n",
    )


_STYLES: Final[Mapping[Style, Callable[[Chart, _Texts], str]]] = {
    "narrative": _narrative,
    "referral": _referral,
    "soap": _soap,
    "telegraphic": _telegraphic,
    "discharge": _discharge,
}
