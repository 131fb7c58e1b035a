"""The note of a chart: what counts among what nobody asks for.

A long note (level 2) also has old values, copied ones and those of other people.

What could be taken for an input of the calculator and is not stands in a sentence with
a date, a relative or another of `MARKERS`; the sentence that counts has none. Tests
prove it on the text (`measurements/fresh.py`).

| what is varied | |
|---|---|
| kind of note | narrative, referral letter, SOAP, telegraphic, discharge summary |
| patient | sex, age (also children, infants, pregnancy), scene |
| values | clinical ranges; about a third at a threshold of the rule or one printed step from it |
| units | SI or conventional; one value in eight from the other system; at level 2 earlier values in either |
| findings | present and denied, in several wordings, with near misses (an operation five months ago for "in the last four weeks") |
| missing items | optional items are left out of note and entities |
| what nobody asks for | diseases with drugs, operations, complaints, signs, studies, laboratory values, home, work, nursing, plans |
| question | two wordings per calculator, which name the variant of the rule; at level 2 it asks for the present state |
"""  # noqa: E501

from __future__ import annotations

import datetime
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final

from medical_tasks.construct.fresh.cases_measures import MONTHS, written_date
from medical_tasks.construct.fresh.chart import Chart, Fact, Setting
from medical_tasks.construct.fresh.findings import PLACES, Kind, list_sentence
from medical_tasks.construct.fresh.material import (
    CLAUSES,
    DISEASES,
    Clause,
    Disease,
    Phrasing,
    topics_of,
)
from medical_tasks.construct.fresh.quantities import (
    AMOUNTS,
    Amount,
    Draw,
    Form,
    Place,
    Reading,
    background,
    read_json,
)

__all__ = ["ASKED", "MARKERS", "UNDATED_MARKERS", "Background", "note_of", "note_with"]

_DATA: Final = read_json("notes.json")
_STORIES: Final = read_json("stories.json")
ASKED: Final[Sequence[str]] = _DATA["asked"]
"""What a question adds, so that it is about the present."""

_SHORT_MONTHS: Final = "|".join(month[:3] for month in MONTHS)
_KIN: Final = (
    "mother|father|brother|sister|wife|husband|partner|son|daughter|uncle|aunt|cousin"
    "|grandmother|grandfather|neighbour|roommate"
)
MARKERS: Final = re.compile(
    rf"\b\d{{1,2}} (?:{_SHORT_MONTHS})"
    rf"|\b(?:{'|'.join(MONTHS)}) \d{{1,4}}\b"
    r"|\b\d{4}-\d\d-\d\d\b"
    rf"|\b(?:{_KIN})\b"
    r"|[Aa]mbulance crew|\b[Cc]opied forward\b|\bruled out\b|\bstruck out\b|\bteens\b"
)
UNDATED_MARKERS: Final = re.compile("sister|cousin|struck out|teens")
"""Those of notes whose question is about dates."""
_LABELS: Final = re.compile(r"^(?:PMH|Hx|Meds|Rx|SH|Tests|Imp): ")  # headings say it
_ABBREVIATIONS: Final = re.compile(
    "|".join(rf"\b{re.escape(word)}(?!\w)" for word in _DATA["abbreviations"])
)
_OWN_SLOT: Final = re.compile(rf"<({'|'.join(['day', 'old', *_DATA['rules']])})>")
_OLD, _YOUNG = 55, 40  # years beyond which, and up to which, other relatives are named
_YEAR: Final = 250  # days after which a date names its year
_WEEKDAYS: Final = (
    "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday",
)  # fmt: skip
# when every drug and vaccine of the lists was in use
_FIRST_DAY: Final = datetime.date(2022, 1, 3)
_SPAN_DAYS: Final = 1400
_MOST_VALUES: Final = {False: 2, True: 9}  # of the laboratory, in short and long notes
_LISTED: Final = (4, 8)  # values in one list of a long note


def _panel(entry: tuple[str, str, float, float, int, str]) -> Amount:
    name, short, low, high, digits, unit = entry
    form = Form(unit=unit.strip(), texts=(unit,), digits=digits)
    return Amount(
        names=(name,),
        short=(short,),
        forms=(form,),
        place="labs",
        usual=(low, high),
        concepts=topics_of(name),
    )


_PANEL: Final = (*background("labs"), *map(_panel, _DATA["panel"]))


# What nobody asks for.


@lru_cache(maxsize=64)
def _said_in(setting: Setting) -> tuple[Clause, ...]:
    return tuple(clause for clause in CLAUSES if setting in clause.settings)


class Background:
    """Clauses about a patient that touch nothing the calculator asks for.

    It is drawn once for all members of a family of twins.
    """

    def __init__(
        self, chart: Chart, draw: Draw, *, long: bool, blocked: Iterable[str] = ()
    ) -> None:
        """`blocked`: topics of which nothing is said, beside those of the calculator."""
        self.draw, self.person, self.setting = draw, chart.person, chart.setting
        self.brief, self.long = chart.brief, long
        self.today = _today(chart, draw)
        self.phrasing = Phrasing(draw, chart.person, self.today)
        self._words = chart.words
        self._told: set[str] = set()  # topics a note speaks of once
        self._talks = chart.voice != "none"
        self._blocked = frozenset(
            chart.concepts | set(blocked) | (set() if self._talks else {"talk"})
        )
        self.lists = {key: self._listed(key) for key in _DATA["beside"]}
        self.values = list(self._values(chart))
        # places and sentences, those that are written
        self.clauses: list[tuple[str, str]] = []
        self._left = self._drawn()

    def take(self, words: int) -> list[tuple[str, str]]:
        """The next clauses, of `words` words or a few more."""
        taken = []
        while words > 0 and (clause := next(self._left, None)):
            taken.append(clause)
            words -= len(clause[1].split())
        return taken

    def _listed(self, key: str) -> list[str]:
        """What may stand in a list beside what counts, such as a symptom among symptoms."""
        group = "child" if self.person.child else self.setting
        lists = _DATA["beside"][key]
        names = lists.get(group, lists["adult"]).split("|")
        if key.startswith("symptom") and not self._talks:
            return []

        words = [
            self.phrasing.word(self.draw.pick(names))
            for _ in range(self.draw.whole(0, 2))
        ]
        return [word for word in words if not topics_of(word) & self._blocked]

    def _values(self, chart: Chart) -> Iterator[tuple[Place, Reading]]:
        """Usual values of adults: what is usual in a child or in pregnancy depends on too much."""
        vitals, labs = background("vitals"), [*_PANEL]
        if self.person.child or self.setting == "obstetric":
            vitals = (
                [AMOUNTS["temperature"], AMOUNTS["spo2"]]
                if self.person.child
                else vitals[:4]
            )
            labs = []

        taken = set(chart.concepts)
        for pool, most in ((vitals, 4), (labs, _MOST_VALUES[self.long])):
            for amount in self.draw.some(pool, self.draw.whole(1, most)):
                if not amount.concepts & taken:
                    # Hemoglobin and hematocrit drawn apart might not fit each other.
                    taken |= amount.concepts & {"red"}
                    reading = amount.read(self.draw, chart.system, *amount.usual)
                    yield amount.place, reading

    def _drawn(self) -> Iterator[tuple[str, str]]:
        """What else the note says: diseases of the age, clauses of the setting.

        No part of the note gets more than `most` says. A sentence that clashes with a
        concept of the question yields nothing and costs nothing.
        """
        adult = self.setting not in ("child", "obstetric")
        fitting = [each for each in DISEASES if each.fits(self.person)] if adult else []
        count = self.draw.whole(1, _most_diseases(self.person.years))
        diseases: list[Clause | Disease] = list(self.draw.some(fitting, count))
        left = Counter(_DATA["most"]["adult" if adult else "other"])
        clauses = self.draw.shuffled(_said_in(self.setting))
        entries = [*diseases, *clauses]
        for entry in entries if self.long else self.draw.shuffled(entries):
            found = (
                self._disease(entry)
                if isinstance(entry, Disease)
                else self._clause(entry)
            )
            for place, text in found:
                left[place] -= 1
                if left[place] >= 0:
                    yield place, _clipped(text) if self.brief else text

    def _clause(self, clause: Clause) -> list[tuple[str, str]]:
        low, high = clause.ages
        if not low <= self.person.years <= high or clause.topics & (
            self._told | self._blocked
        ):
            return []
        text = self.phrasing.fill(clause.text, self._words)
        if topics_of(text) & self._blocked:
            return []
        self._told |= clause.topics - {"talk"}
        return [(clause.place, text)]

    def _disease(self, disease: Disease) -> list[tuple[str, str]]:
        """A disease in the history, its drug in the medication; nothing on a clash."""
        pick = self.draw.pick
        name, detail, drug = (
            pick(disease.names),
            pick(disease.details),
            pick(disease.drugs),
        )
        taken = drug != "none"
        frames = _DATA["diseases"]["treated" if taken else "untreated"]
        words = {**self._words, "name": name, "detail": detail, "drug": drug}
        self.phrasing.youngest = disease.ages[0]
        texts = [self.phrasing.fill(text, words) for text in pick(frames).split("//")]
        if topics_of(" ".join(texts)) & self._blocked:
            return []

        return list(zip(("history", "medication"), texts, strict=False))


def _most_diseases(age: int) -> int:
    """Two in the young, six in the old."""
    return max(2, min(6, age // 13))


def _today(chart: Chart, draw: Draw) -> datetime.date:
    """The day of the note: a pregnancy's visit or ten weeks into it, else any day."""
    for parameter, after in (("current_date", 0), ("last_menstrual_date", 70)):
        for fact in chart.facts:
            if fact.parameter == parameter:
                day = datetime.datetime.strptime(str(fact.value), "%m/%d/%Y").date()
                return day + datetime.timedelta(days=after)
    return _FIRST_DAY + datetime.timedelta(days=draw.whole(0, _SPAN_DAYS))


_CLIPPED: Final = re.compile(
    r"^(?:He|She|\{He\}) (?:is |has |was )?|\b(?:the|an?) (?=\w)"
)


def _clipped(text: str) -> str:
    """A clause in the telegraphic style: `She lives in a bungalow` becomes `Lives in bungalow`."""
    text = _ABBREVIATIONS.sub(lambda found: str(_DATA["abbreviations"][found[0]]), text)
    text = _CLIPPED.sub("", text)
    return text[:1].upper() + text[1:]


class _Writer:
    """Writes the note of a chart.

    The patient's statements are written first (`present`), then what does not count
    (`competitors`): old values, a relative's, findings ruled out. Of a stream of draws
    the order of calls decides the text.
    """

    def __init__(
        self, chart: Chart, background: Background, draw: Draw, *, long: bool
    ) -> None:
        self.chart, self.person, self.long = chart, chart.person, long
        self.draw, self.background, self.today = draw, background, background.today
        self.phrasing = Phrasing(draw, chart.person, self.today)
        self.parts: dict[str, list[str]] = defaultdict(list)
        self.facts: list[Fact] = []  # those that do not count
        self.told: set[str] = set()
        # where the question is about dates, no others are written
        self.dated = chart.setting != "obstetric"
        self.style = draw.pick(
            ("{d} {month}", "{d} {month}", "{d} {mon}", "{month} {d}")
        )
        self.days: list[int] = []
        # earlier values by amount and day
        self.seen: dict[tuple[str, int], Reading | None] = {}
        self.kin = not chart.concepts & {"kin"}

    def day(self, lag: int) -> str:
        day = self.today - datetime.timedelta(days=lag)
        month = MONTHS[day.month - 1]
        text = self.style.format(d=day.day, month=month, mon=month[:3])
        if lag <= _YEAR and day.year == self.today.year:
            return text
        return f"{text}{',' if text.endswith(str(day.day)) else ''} {day.year}"

    def fill(self, text: str, /, **given: str) -> str:
        """A template with slots, dates, relatives and pronouns filled; of `given`, too."""
        person = self.person
        words = {
            "described": person.described,
            "A": person.article,
            "a": person.article.lower(),
            **self.chart.words,
            **given,
        }
        return self.phrasing.fill(_OWN_SLOT.sub(self._slot, text), words)

    def _slot(self, found: re.Match[str]) -> str:
        """Fills one slot of a template: a day, an old date, or a relative.

        A relative fits the patient's age, and is another one than those in the note:
        one who has died must not visit later.
        """
        inner = found[1]
        if inner == "day":
            return self.day(self.draw.pick(self.days))

        if inner == "old":
            day = self.today - datetime.timedelta(days=self.draw.whole(400, 1400))
            return f"{MONTHS[day.month - 1]} {day.year}"

        age = self.person.years
        # Nobody of eighty has a father who comes along.
        own = f"{inner}_{'old' if age > _OLD else 'young'}"
        choices = _DATA["rules"][
            own if own in _DATA["rules"] and (age > _OLD or age < _YOUNG) else inner
        ]
        chosen: str = self.draw.pick(
            [each for each in choices if each not in self.told] or choices
        )
        if inner in ("kin", "elder"):
            # one who has died in a sentence is not alive in the next
            self.told.add(chosen)

        return chosen

    def marked(self, place: str, frame: str, fact: Fact, /, **given: str) -> None:
        """Writes what does not count, unless its sentence lacks a marker."""
        text = self.fill(frame, **given)
        if (MARKERS if self.dated else UNDATED_MARKERS).search(text):
            self.parts[place].append(text)
            self.facts.append(replace(fact, text=text))

    # What counts.

    def present(self) -> None:
        """Writes what counts: sentences, lists of findings, story, opening, values."""
        chart, draw, parts = self.chart, self.draw, self.parts
        for place, texts in chart.sentences.items():
            parts[place] += [self.fill(text) for text in texts]

        for (kind, there), phrases in chart.phrases.items():
            parts[PLACES[kind]].append(self._list(kind, phrases, there=there))

        story = [*map(self.fill, chart.story), *parts.pop("story", [])]
        told = _STORIES.get(chart.topic, []) if self.long else []
        parts["story"] = story + [
            self.fill(text) for text in draw.some(told, draw.whole(1, 2))
        ]
        opening = draw.pick(_DATA["openings"][chart.setting])
        opening = f"{self.person.brief} {{reason}}." if chart.brief else opening
        parts["opening"] = [self.fill(opening.replace("{reason}", chart.reason))]
        self._values()

    def _list(self, kind: Kind, phrases: Sequence[str], *, there: bool) -> str:
        beside = self.background.lists.get(
            f"{kind} {'present' if there else 'absent'}", []
        )
        shown = self.draw.shuffled([*phrases, *beside])
        sentence = list_sentence(
            self.draw,
            kind,
            shown,
            present=there,
            brief=self.chart.brief,
            voice=self.chart.voice,
        )

        return self.fill(_LABELS.sub("", sentence))

    def _values(self) -> None:
        """Writes values as lists, those that count among those of the background."""
        chart, draw = self.chart, self.draw
        lists = {place: list(readings) for place, readings in chart.values.items()}
        for place, reading in self.background.values:
            lists.setdefault(place, []).append(reading)

        for place, readings in lists.items():
            left = draw.shuffled(readings)
            while left:
                size = draw.whole(*_LISTED) if self.long else len(left)
                chunk, left = left[:size], left[size:]
                text = self.fill(
                    draw.pick(_DATA["values"][place]), list=self._listed(chunk)
                )
                self.parts["exam" if place == "vitals" else "tests"].append(text)

    def _listed(self, readings: Sequence[Reading]) -> str:
        link = self.draw.pick(_DATA["links"])
        brief = self.chart.brief
        return ", ".join(
            f"{reading.short if brief else reading.name}{link} {reading.text}"
            for reading in readings
        )

    # What does not count.

    def competitors(self) -> None:
        """Adds values and findings that are the patient's no longer, or never were."""
        self.days = self._earlier_days()
        measured = [fact for fact in self.chart.facts if fact.reading is not None]
        if self.dated and measured:
            self._earlier_values(measured)

        for fact in measured if self.kin else ():
            self._relatives_value(fact)

        for fact in self.draw.shuffled(
            [fact for fact in self.chart.facts if fact.reading is None]
        ):
            self._finding(fact)
            self._told(fact)

    def _earlier_values(self, measured: Sequence[Fact]) -> None:
        """Adds what was measured before.

        A trend, a table, text copied from another note, the ambulance's sheet.
        """
        draw, frames, setting = self.draw, _DATA["superseded"], self.chart.setting
        changing = [fact for fact in measured if fact.what != "height"]
        for fact in draw.some(changing, draw.pick((0, 1, 1))):
            self._trend(fact)

        vitals = [fact for fact in measured if self._place(fact) == "vitals"]
        table = draw.pick(frames["sheet" if vitals else "panel"])
        self._sheet("earlier", table, measured, "superseded")

        if setting in ("ward", "icu", "clinic") and draw.chance(0.7):
            place = "story" if draw.chance(0.3) else "earlier"
            self._sheet(place, draw.pick(frames["copied"]), measured, "copied")

        if setting in ("emergency", "resus") and vitals:
            self._sheet("story", draw.pick(frames["ambulance"]), vitals, "superseded")

    def _relatives_value(self, fact: Fact) -> None:
        """Adds a relative's value of the same quantity, of those that relatives are asked about."""
        frames = _DATA["relatives"]
        if fact.what not in frames or not self.draw.chance(0.4):
            return

        other = self._other(fact)
        if other is None:
            return

        low, high = _DATA["told"].get(fact.what, (0, other.base))
        if not low <= other.base <= high:
            return

        entry = replace(fact, value=other.entity, reading=other, who="relative")
        of_child = f"{fact.what}_child"
        frame = frames[
            of_child if self.person.child and of_child in frames else fact.what
        ]
        self.marked("family", frame, entry, text=other.text)

    def _earlier_days(self) -> list[int]:
        """How many days ago the note's earlier values were taken, the oldest first."""
        lags = _DATA["lags"][self.chart.setting]
        return sorted({self.draw.whole(*lags) for _ in range(3)}, reverse=True)

    def _place(self, fact: Fact) -> str:
        return "vitals" if fact.what == "pressure" else AMOUNTS[fact.what].place

    def _other(self, fact: Fact, unit: object = None) -> Reading | None:
        """Another value of a measured quantity, in either laboratory's units.

        It differs by more than 2 %, and reads otherwise: that it is not the value of
        the question has to be told from the words around it.
        """
        draw, known = self.draw, fact.reading
        if known is None:
            return None

        for _ in range(6):
            up = (
                -1
                if self.person.child and fact.what == "weight"
                else draw.pick((-1, 1))
            )
            if fact.what == "pressure":
                high = max(74, min(210, int(known.base) + up * draw.whole(9, 28)))
                low_pressure = round(high * draw.between(0.52, 0.66))
                text = f"{high}/{low_pressure} {draw.pick(('mm Hg', 'mmHg'))}"
                other = Reading([high, "mm Hg"], text, "blood pressure", "BP", high)
            else:
                kind, least, most, low, high = _DATA["drift"].get(
                    fact.what, ["*", 0.15, 0.45, 0, 10**6]
                )
                shift = up * draw.between(least, most)
                base = min(
                    max(
                        known.base + shift if kind == "+" else known.base * (1 + shift),
                        low,
                    ),
                    high,
                )
                if self.person.child and fact.what == "height":
                    return None

                other = AMOUNTS[fact.what].read(
                    draw, draw.pick(("us", "si")), base, base
                )

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
        """Adds two or three earlier values of an amount, in one unit, with their days.

        Nothing where two of them would read alike, or no other value is possible.
        """
        values: list[Reading] = []
        days = self.days[-self.draw.pick((2, 2, 3)) :]
        for lag in days:
            unit = (
                values[0].entity[1:]
                if values and isinstance(values[0].entity, list)
                else None
            )
            if (other := self._other(fact, unit)) and other.text not in {
                value.text for value in values
            }:
                values.append(other)
                self.seen[fact.what, lag] = other
            else:
                return

        if len(values) > 1:
            shown = [
                f"{value.text} on {self.day(lag)}"
                for value, lag in zip(values, days, strict=True)
            ]
            name = fact.reading.name if fact.reading else ""
            entry = replace(
                fact,
                value=values[0].entity,
                reading=values[0],
                when="past",
                status="superseded",
            )
            text = f"{', '.join(shown[:-1])} and {shown[-1]}"
            self.marked(
                "earlier",
                self.draw.pick(_DATA["superseded"]["trend"]),
                entry,
                name=name,
                list=text,
            )

    def _sheet(
        self, place: str, frame: str, facts: Sequence[Fact], status: Any
    ) -> None:
        """One sentence with earlier values of several quantities."""
        lag = self.draw.pick(self.days) if "{day}" in frame else 0
        found = []
        for fact in self.draw.some(facts, self.draw.whole(1, 5)):
            other = self.seen.setdefault((fact.what, lag), self._other(fact))
            found += [(fact, other)] if other else []

        if found:
            old_values = [other for _, other in found] + self._old_panel(facts)
            shown = self._listed(self.draw.shuffled(old_values))
            text = self.fill(frame, list=shown, day=self.day(lag))
            self.parts[place].append(text)
            self.facts += [
                replace(
                    fact,
                    value=other.entity,
                    reading=other,
                    when="past",
                    status=status,
                    text=text,
                )
                for fact, other in found
            ]

    def _old_panel(self, facts: Sequence[Fact]) -> list[Reading]:
        """Earlier values of what nobody asks for, beside those of laboratory values."""
        if self.person.child or not any(self._place(fact) == "labs" for fact in facts):
            return []
        draw, taken = self.draw, self.chart.concepts
        amounts = [each for each in draw.some(_PANEL, 3) if not each.concepts & taken]
        return [each.read(draw, self.chart.system, *each.usual) for each in amounts]

    def _finding(self, fact: Fact) -> None:
        """Adds a finding that was ruled out, was there once, or is a relative's.

        A finding that the patient has is never said to be ruled out: the note would
        contradict itself.
        """
        unfit = ["relative:"] * (not self.kin) + ["ruled out:"] * (fact.value is True)
        lines = [
            line
            for line in _DATA["findings"].get(fact.what, ())
            if not line.startswith(tuple(unfit))
        ]
        if lines and self.draw.chance(0.75):
            status, _, text = self.draw.pick(lines).partition(": ")
            entry = replace(
                fact,
                value=None,
                status="ruled out" if status == "ruled out" else "superseded",
            )
            if status == "relative":
                self.marked("family", text, replace(entry, who="relative"))
            else:
                self.marked("earlier", text, replace(entry, when="past"))

    def _told(self, fact: Fact) -> None:
        """Tells doses, drinks, cycles and first days of a period otherwise than they are.

        The sentences are of another time or of somebody else, so that the answer stays.
        """
        frames = _DATA["superseded"].get(fact.what)
        if not frames or not self.draw.chance(0.8):
            return

        entry, draw = (
            replace(fact, value=None, when="past", status="superseded"),
            self.draw,
        )
        if fact.what == "dose":
            factor = draw.pick((0.5, 2, 3))
            text = re.sub(
                r"\d+(?:\.\d+)?",
                lambda dose: f"{float(dose[0]) * factor:g}",
                fact.text,
                count=1,
            )
            self.marked("medication", draw.pick(frames), entry, text=text)
        elif fact.what == "lmp":
            day = datetime.datetime.strptime(str(fact.value), "%m/%d/%Y").date()
            day += datetime.timedelta(days=draw.pick((-26, -19, -12, 9, 16, 23)))
            date = written_date(draw, day)
            self.marked("story", draw.pick(frames), entry, date=date)
        else:
            shift = (
                draw.pick((-5, -4, 4, 5)) if fact.what == "cycle" else draw.whole(6, 14)
            )
            self.marked(
                "family",
                draw.pick(frames),
                entry,
                n=str(max(1, int(fact.text) + shift)),
            )

    # The text.

    def words(self) -> int:
        """How many words are written so far."""
        return sum(len(text.split()) for texts in self.parts.values() for text in texts)

    def text(self) -> str:
        """The note: header, parts by the layout of its style, closing."""
        draw, chart = self.draw, self.chart
        for place, text in self.background.clauses:
            self.parts[place].append(text)

        blocks = []
        if self.dated and self.long and draw.chance(0.7):
            blocks.append(self._header())

        if chart.style == "referral":
            blocks += [
                f"Re: {self.person.title}",
                self.fill(draw.pick(_DATA["salutations"])),
            ]

        for heading, places, mode in draw.pick(_DATA["layouts"][chart.style]):
            texts = [text for place in places.split() for text in self._ordered(place)]
            if texts:
                head, body = self.fill(heading), self._body(texts, mode)
                gap = "\n" if "\n" in body else " "
                blocks.append(f"{head}{gap}{body}" if head else body)

        if chart.style == "referral":
            blocks.append(draw.pick(_DATA["closings"]))

        return ("\n" if chart.style in ("soap", "telegraphic") else "\n\n").join(blocks)

    def _header(self) -> str:
        heads = [
            *_DATA["headers"]["all"],
            *_DATA["headers"].get(self.chart.setting, ()),
        ]
        today = written_date(self.draw, self.today)
        weekday = _WEEKDAYS[self.today.weekday()]
        return self.fill(self.draw.pick(heads), today=today, weekday=weekday)

    def _ordered(self, place: str) -> list[str]:
        """The sentences of a part; those of a long note in any order, but for story and course."""
        texts = self.parts.get(place, [])
        told = place in ("opening", "story", "course")
        return self.draw.shuffled(texts) if self.long and not told else texts

    def _body(self, texts: Sequence[str], mode: str) -> str:
        if (
            mode == "list" and len(texts) > 1 and self.long
        ):  # a twin's list might begin with its second item
            return "\n".join(f"- {text}" for text in texts)
        if mode == "days" and len(texts) > 1 and self.chart.setting in ("ward", "icu"):
            return "\n".join(
                f"Day {number}: {text}" for number, text in enumerate(texts, 1)
            )
        return " ".join(texts)


def note_of(chart: Chart, *, long: bool) -> tuple[str, list[Fact]]:
    """The note of a complete chart, and the facts in it that do not count, if it is long."""
    background = Background(chart, chart.draw, long=long)
    writer = _Writer(chart, background, chart.draw, long=long)
    writer.present()
    if long:
        writer.competitors()
    aim = chart.draw.whole(*_DATA["aims"]["long" if long else "short"])
    background.clauses = background.take(aim - writer.words())
    return writer.text(), writer.facts


def note_with(chart: Chart, background: Background, draw: Draw) -> str:
    """The short note of a complete chart with a background that was drawn before."""
    writer = _Writer(chart, background, draw, long=False)
    writer.present()
    return writer.text()
