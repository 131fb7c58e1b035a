"""Long notes (level 2): the facts of a chart among old, copied and other people's ones, which each carry a marker.

What could be taken for an input of the calculator and is not stands in a sentence with a date, a relative or another of
`MARKERS`; the sentence that counts has none. Tests prove it on the text (`benchmarks/fresh.py`).
"""

from __future__ import annotations

import datetime
import itertools
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final

from medical_tasks.benchmarks.medcalc_bench.fresh.cases_measures import MONTHS, written_date
from medical_tasks.benchmarks.medcalc_bench.fresh.chart import (
    Chart,
    Fact,
    Remark,
    Setting,
    remark,
    settings_of,
)
from medical_tasks.benchmarks.medcalc_bench.fresh.findings import PLACES, list_sentence
from medical_tasks.benchmarks.medcalc_bench.fresh.quantities import (
    AMOUNTS,
    Amount,
    Form,
    Reading,
    background,
    read_json,
)

__all__ = ["ASKED", "CLAUSES", "MARKERS", "UNDATED_MARKERS", "long_note"]

_DATA: Final = read_json("long_notes.json")
_STORIES: Final = read_json("long_stories.json")
_CLAUSES: Final = read_json("long_clauses.json")
ASKED: Final[Sequence[str]] = _DATA["asked"]
"""What a question adds, so that it is about the present."""

MARKERS: Final = re.compile("|".join(_DATA["markers"]))
UNDATED_MARKERS: Final = re.compile("|".join(_DATA["undated_markers"]))
"""Those of notes whose question is about dates."""
_NAMES: Final = re.compile(r"(?:Hashimoto|Ménière|Dr\b|Romberg|Ward|Braden|FAST|COVID)")
_LABELS: Final = re.compile(r"^(?:PMH|Hx|Meds|Rx|SH|Tests|Imp): ")  # headings say it
_JOINED: Final = (2, 4)  # clauses of a sentence
_SLOT: Final = re.compile(r"<([^<>]*)>")
_RANGE: Final = re.compile(r"(\d+)-(\d+)")
_ABBREVIATIONS: Final = re.compile(
    "|".join(rf"\b{re.escape(word)}(?!\w)" for word in _DATA["abbreviations"])
)
_FAMILY: Final = frozenset(
    {"coronary", "brain", "arteries", "clots"}
)  # what a family history item asks for
_OLD, _YOUNG = 55, 40  # years beyond which, and up to which, other relatives are named
_YEAR: Final = 250  # days after which a date names its year


def _diseases() -> Iterator[Remark]:
    """Each wording of a disease with what is taken for it."""
    for entry in _CLAUSES["bundles"]:
        low, high = entry["ages"]
        concepts = frozenset(entry["concepts"].split())
        for history, drug in itertools.product(entry["history"], entry["drug"]):
            about = {"ages": (low, high), "sex": entry.get("sex", ""), "drug": f"{drug}."}
            yield Remark("history", frozenset(), concepts, f"{history}.", **about)


def _panel(entry: Sequence[Any]) -> Amount:
    name, short, low, high, digits, unit, concepts = entry
    form = Form(unit=unit.strip(), texts=(unit,), digits=digits)
    return Amount(
        names=(name,),
        short=(short,),
        forms=(form,),
        place="labs",
        usual=(low, high),
        concepts=frozenset(concepts.split()),
    )


CLAUSES: Final = tuple(
    remark(place, line) for place, lines in _CLAUSES["clauses"].items() for line in lines
)
_DISEASES: Final = tuple(_diseases())
_PANEL: Final = (*background("labs"), *map(_panel, _DATA["panel"]))


@lru_cache(maxsize=2048)
def _fitting(setting: Setting, taken: frozenset[str]) -> tuple[Remark, ...]:
    return tuple(each for each in CLAUSES if setting in each.settings and not each.concepts & taken)


@lru_cache(maxsize=4096)
def _options(inner: str) -> Sequence[str]:
    return _DATA["rules"].get(inner) or inner.split("|")


def _lower(text: str) -> str:
    """A clause after a semicolon; names and abbreviations keep their capital."""
    kept = not text.startswith("A ") and (not text[1:2].islower() or _NAMES.match(text))
    return text if kept else text[0].lower() + text[1:]


class _Writer:
    def __init__(self, chart: Chart) -> None:
        self.chart, self.draw, self.person = chart, chart.draw, chart.person
        self.parts: dict[str, list[str]] = defaultdict(list)
        self.loose: dict[str, list[str]] = defaultdict(
            list
        )  # what nobody asks for, yet to be joined
        self.facts: list[Fact] = []  # those that do not count
        self.told: set[str] = set()
        self.dated = (
            chart.setting != "obstetric"
        )  # where the question is about dates, no others are written
        self.today = datetime.date(2021, 1, 5) + datetime.timedelta(days=self.draw.whole(0, 1700))
        self.style = self.draw.pick(("{d} {month}", "{d} {month}", "{d} {mon}", "{month} {d}"))
        self.days = sorted(
            {self.draw.whole(*_DATA["lags"][chart.setting]) for _ in range(3)}, reverse=True
        )
        self.seen: dict[tuple[str, int], Reading | None] = {}  # earlier values by amount and day
        self.kin = not chart.concepts & {"kin"}

    def day(self, lag: int) -> str:
        day = self.today - datetime.timedelta(days=lag)
        month = MONTHS[day.month - 1]
        text = self.style.format(d=day.day, month=month, mon=month[:3])
        if lag <= _YEAR and day.year == self.today.year:
            return text
        return f"{text}{',' if text.endswith(str(day.day)) else ''} {day.year}"

    def fill(self, text: str, /, **given: str) -> str:
        """A template with slots and pronouns filled; of `given`, too."""
        while (new := _SLOT.sub(self._slot, text)) != text:
            text = new
        person = self.person
        words = {
            "described": person.described,
            "A": person.article,
            "a": person.article.lower(),
            **given,
        }
        for name, word in {**self.chart.words, **words}.items():
            text = text.replace(f"{{{name}}}", word)
        return text[:1].upper() + text[1:]

    def _slot(self, found: re.Match[str]) -> str:
        inner = found[1]
        if inner == "day":
            return self.day(self.draw.pick(self.days))
        if inner == "old":
            day = self.today - datetime.timedelta(days=self.draw.whole(400, 1400))
            return f"{MONTHS[day.month - 1]} {day.year}"
        if limits := _RANGE.fullmatch(inner):
            return str(self.draw.whole(int(limits[1]), int(limits[2])))
        age = self.person.years
        own = f"{inner}_{'old' if age > _OLD else 'young'}"  # nobody of eighty has a father who comes along
        choices = _options(own if own in _DATA["rules"] and (age > _OLD or age < _YOUNG) else inner)
        if inner not in ("kin", "elder"):
            return self.draw.pick(choices)
        chosen = self.draw.pick([each for each in choices if each not in self.told] or choices)
        self.told.add(chosen)  # one who has died in a sentence is not alive in the next
        return chosen

    def marked(self, place: str, frame: str, fact: Fact, /, **given: str) -> None:
        """Writes what does not count, unless its sentence lacks a marker."""
        text = self.fill(frame, **given)
        if (MARKERS if self.dated else UNDATED_MARKERS).search(text):
            self.parts[place].append(text)
            self.facts.append(replace(fact, text=text))

    # What counts.

    def present(self) -> None:
        chart, draw, parts = self.chart, self.draw, self.parts
        for place, texts in chart.sentences.items():
            parts[place] += [self.fill(text) for text in texts]
        for (kind, there), phrases in chart.phrases.items():
            form = {"present": there, "brief": chart.brief}
            text = list_sentence(draw, kind, draw.shuffled(phrases), voice=chart.voice, **form)
            parts[PLACES[kind]].append(self.fill(_LABELS.sub("", text)))
        story = [*map(self.fill, chart.story), *parts.pop("story", [])]
        told = _STORIES.get(chart.topic, [])
        parts["story"] = story + [self.fill(text) for text in draw.some(told, draw.whole(4, 5))]
        opening = draw.pick(_DATA["openings"][chart.setting])
        opening = f"{self.person.brief} {{reason}}." if chart.brief else opening
        parts["opening"] = [self.fill(opening.replace("{reason}", chart.reason))]
        self._values()

    def _values(self) -> None:
        chart, draw = self.chart, self.draw
        child, vitals, labs = chart.person.child, background("vitals"), list(_PANEL)
        if child or chart.setting == "obstetric":  # what is usual there depends on too much
            vitals, labs = [AMOUNTS["temperature"], AMOUNTS["spo2"]] if child else vitals[:4], []
        taken, lists = (
            set(chart.concepts),
            {place: list(readings) for place, readings in chart.values.items()},
        )
        for pool in (vitals, labs):
            for amount in draw.some(pool, draw.whole(1, 4)):
                if amount.concepts & taken:
                    continue
                taken |= amount.concepts & {
                    "red"
                }  # hemoglobin and hematocrit drawn apart might not fit each other
                lists.setdefault(amount.place, []).append(
                    amount.read(draw, chart.system, *amount.usual)
                )
        for place, readings in lists.items():
            left = draw.shuffled(readings)
            while left:
                size = draw.whole(4, 8)
                chunk, left = left[:size], left[size:]
                text = self.fill(draw.pick(_DATA["values"][place]), list=self._listed(chunk))
                self.parts["exam" if place == "vitals" else "tests"].append(text)

    def _listed(self, readings: Sequence[Reading]) -> str:
        return ", ".join(reading.written(brief=self.chart.brief) for reading in readings)

    # What does not count.

    def competitors(self) -> None:
        draw, frames = self.draw, _DATA["superseded"]
        measured = [fact for fact in self.chart.facts if fact.reading is not None]
        if self.dated and measured:
            for fact in draw.some(
                [fact for fact in measured if fact.what != "height"], draw.pick((0, 1, 1))
            ):
                self._trend(fact)
            vital = any(self._place(fact) == "vitals" for fact in measured)
            self._sheet(
                "earlier", draw.pick(frames["sheet" if vital else "panel"]), measured, "superseded"
            )
            if self.chart.setting in ("ward", "icu", "clinic") and draw.chance(0.7):
                self._sheet(
                    "story" if draw.chance(0.3) else "earlier",
                    draw.pick(frames["copied"]),
                    measured,
                    "copied",
                )
            crew = [fact for fact in measured if fact.reading and self._place(fact) == "vitals"]
            if self.chart.setting in ("emergency", "resus") and crew:
                self._sheet("story", draw.pick(frames["ambulance"]), crew, "superseded")
        for fact in measured if self.kin else ():
            if (
                fact.what in _DATA["relatives"]
                and draw.chance(0.4)
                and (other := self._other(fact))
            ):
                low, high = _DATA["told"].get(fact.what, (0, other.base))
                if not low <= other.base <= high:
                    continue
                entry = replace(fact, value=other.entity, reading=other, who="relative")
                frames_of, child = _DATA["relatives"], f"{fact.what}_child"
                frame = frames_of[child if self.person.child and child in frames_of else fact.what]
                self.marked("family", frame, entry, text=other.text)
        for fact in draw.shuffled([fact for fact in self.chart.facts if fact.reading is None]):
            self._finding(fact)
            self._told(fact)

    def _place(self, fact: Fact) -> str:
        return "vitals" if fact.what == "pressure" else AMOUNTS[fact.what].place

    def _other(self, fact: Fact, unit: object = None) -> Reading | None:
        """Another value of a measured quantity, in either laboratory's units."""
        draw, known = self.draw, fact.reading
        if known is None:
            return None
        for _ in range(6):
            up = -1 if self.person.child and fact.what == "weight" else draw.pick((-1, 1))
            if fact.what == "pressure":
                high = max(74, min(210, int(known.base) + up * draw.whole(9, 28)))
                text = f"{high}/{round(high * draw.between(0.52, 0.66))} {draw.pick(('mm Hg', 'mmHg'))}"
                other = Reading([high, "mm Hg"], text, "blood pressure", "BP", high)
            else:
                kind, least, most, low, high = _DATA["drift"].get(
                    fact.what, ["*", 0.15, 0.45, 0, 10**6]
                )
                shift = up * draw.between(least, most)
                base = min(
                    max(known.base + shift if kind == "+" else known.base * (1 + shift), low), high
                )
                if self.person.child and fact.what == "height":
                    return None
                other = AMOUNTS[fact.what].read(draw, draw.pick(("us", "si")), base, base)
            same = (
                unit is None
                or (isinstance(other.entity, list) and other.entity[1:] == unit)
                or other.entity == unit
            )
            if (
                same
                and abs(other.base - known.base) > 0.02 * abs(known.base)
                and other.text != known.text
            ):
                return other
        return None

    def _trend(self, fact: Fact) -> None:
        values: list[Reading] = []
        days = self.days[-self.draw.pick((2, 2, 3)) :]
        for lag in days:
            unit = values[0].entity[1:] if values and isinstance(values[0].entity, list) else None
            if (other := self._other(fact, unit)) and other.text not in {
                value.text for value in values
            }:
                values.append(other)
                self.seen[fact.what, lag] = other
            else:
                return
        if len(values) > 1:
            shown = [
                f"{value.text} on {self.day(lag)}" for value, lag in zip(values, days, strict=True)
            ]
            name = fact.reading.name if fact.reading else ""
            entry = replace(
                fact, value=values[0].entity, reading=values[0], when="past", status="superseded"
            )
            text = f"{', '.join(shown[:-1])} and {shown[-1]}"
            self.marked(
                "earlier", self.draw.pick(_DATA["superseded"]["trend"]), entry, name=name, list=text
            )

    def _sheet(self, place: str, frame: str, facts: Sequence[Fact], status: Any) -> None:
        """One sentence with earlier values of several quantities."""
        lag = self.draw.pick(self.days) if "{day}" in frame else 0
        found = []
        for fact in self.draw.some(facts, self.draw.whole(1, 5)):
            other = self.seen.setdefault((fact.what, lag), self._other(fact))
            found += [(fact, other)] if other else []
        if found:
            text = self.fill(
                frame, list=self._listed([other for _, other in found]), day=self.day(lag)
            )
            self.parts[place].append(text)
            old: Any = {"when": "past", "status": status, "text": text}
            self.facts += [
                replace(fact, value=other.entity, reading=other, **old) for fact, other in found
            ]

    def _finding(self, fact: Fact) -> None:
        unfit = ["relative:"] * (not self.kin) + ["ruled out:"] * (fact.value is True)
        lines = [
            line
            for line in _DATA["findings"].get(fact.what, ())
            if not line.startswith(tuple(unfit))
        ]
        if lines and self.draw.chance(0.75):
            status, _, text = self.draw.pick(lines).partition(": ")
            entry = replace(
                fact, value=None, status="ruled out" if status == "ruled out" else "superseded"
            )
            if status == "relative":
                self.marked("family", text, replace(entry, who="relative"))
            else:
                self.marked("earlier", text, replace(entry, when="past"))

    def _told(self, fact: Fact) -> None:
        """Doses, drinks, cycles and first days of a period, which other sentences give otherwise."""
        frames = _DATA["superseded"].get(fact.what)
        if not frames or not self.draw.chance(0.8):
            return
        entry, draw = replace(fact, value=None, when="past", status="superseded"), self.draw
        if fact.what == "dose":
            factor = draw.pick((0.5, 2, 3))
            text = re.sub(
                r"\d+(?:\.\d+)?", lambda dose: f"{float(dose[0]) * factor:g}", fact.text, count=1
            )
            self.marked("medication", draw.pick(frames), entry, text=text)
        elif fact.what == "lmp":
            day = datetime.datetime.strptime(str(fact.value), "%m/%d/%Y").date()
            day += datetime.timedelta(days=draw.pick((-26, -19, -12, 9, 16, 23)))
            date = written_date(draw, day)
            self.marked("story", draw.pick(frames), entry, date=date)
        else:
            shift = draw.pick((-5, -4, 4, 5)) if fact.what == "cycle" else draw.whole(6, 14)
            self.marked("family", draw.pick(frames), entry, n=str(max(1, int(fact.text) + shift)))

    # What nobody asks for.

    def background(self) -> None:
        chart, draw = self.chart, self.draw
        silent = {"talk"} if chart.voice == "none" else set()
        taken = frozenset(chart.concepts | silent | (set() if self.kin else _FAMILY))
        aim = draw.whole(*_DATA["aims"])
        words = sum(len(text.split()) for texts in self.parts.values() for text in texts)
        adult = chart.setting in settings_of("adult") and not chart.person.child
        diseases = draw.shuffled(_DISEASES)[: 14 if adult else 0]
        drugs = 0
        for clause in (*diseases, *draw.shuffled(_fitting(chart.setting, taken))):
            if (
                not clause.fits(chart.person)
                or clause.concepts & (self.told | taken)
                or (clause.drug and drugs == 4)
            ):
                continue
            if words > aim:
                break
            self.told |= clause.concepts
            for place, template in ((clause.place, clause.text), ("medication", clause.drug)):
                if not template:
                    continue
                text = self.fill(template)
                if chart.brief:
                    text = _ABBREVIATIONS.sub(
                        lambda found: str(_DATA["abbreviations"][found[0]]), text
                    )
                first = "c1" in clause.concepts  # arrivals
                self.loose[place].insert(0 if first else len(self.loose[place]), text)
                words += len(text.split())
            drugs += bool(clause.drug)
        for place, texts in self.loose.items():
            while texts:
                size = 1 if place == "course" else draw.whole(*_JOINED)
                chunk, texts = texts[:size], texts[size:]
                chunk = [text.rstrip(".") for text in chunk]
                self.parts[place].append(
                    "; ".join([chunk[0], *(_lower(text) for text in chunk[1:])]) + "."
                )

    def text(self) -> str:
        draw, chart = self.draw, self.chart
        blocks = []
        today = written_date(draw, self.today)
        if self.dated and draw.chance(0.7):
            heads = [*_DATA["headers"]["all"], *_DATA["headers"].get(chart.setting, ())]
            blocks.append(self.fill(draw.pick(heads), today=today))
        if chart.style == "referral":
            blocks += [f"Re: {self.person.title}", draw.pick(_DATA["salutations"])]
            blocks[-1] = self.fill(blocks[-1])
        for heading, places, mode in draw.pick(_DATA["layouts"][chart.style]):
            texts = []
            for place in places.split():
                fixed = place in ("opening", "story", "course")
                texts += (
                    self.parts.get(place, []) if fixed else draw.shuffled(self.parts.get(place, []))
                )
            if not texts:
                continue
            head = self.fill(heading)
            if mode == "list" and len(texts) > 1:
                body = "\n".join(f"- {text}" for text in texts)
            elif mode == "days" and len(texts) > 1 and chart.setting in ("ward", "icu"):
                body = "\n".join(f"Day {number}: {text}" for number, text in enumerate(texts, 1))
            else:
                body = " ".join(texts)
            gap = "\n" if "\n" in body else " "
            blocks.append(f"{head}{gap}{body}" if head else body)
        if chart.style == "referral":
            blocks.append(draw.pick(_DATA["closings"]))
        return ("\n" if chart.style in ("soap", "telegraphic") else "\n\n").join(blocks)


def long_note(chart: Chart) -> tuple[str, list[Fact]]:
    """The long note of a complete chart, and the facts in it that do not count."""
    writer = _Writer(chart)
    writer.present()
    writer.competitors()
    writer.background()
    return writer.text(), writer.facts
