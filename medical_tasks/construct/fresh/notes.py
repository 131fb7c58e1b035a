"""Writes the note of a chart: relevant statements among irrelevant ones.

A long note (level 2) also has old values, copied values and values of other people.

A statement that could be mistaken for an input of the calculator is in a sentence with a
date, a relative or another of `MARKERS`; relevant sentences have no marker. Tests check
this on the text (`measurements/fresh.py`).

What is varied:

- kind of note: narrative, referral letter, SOAP, telegraphic, discharge summary
- patient: sex, age (also children, infants, pregnancy), scene
- values: clinical ranges; about a third at a threshold of the rule or one printed step
  from it
- units: SI or conventional; one value in eight from the other system; at level 2
  earlier values in either
- findings: present and denied, in several wordings, with near misses (an operation five
  months ago for "in the last four weeks")
- missing items: optional items are left out of note and entities
- what nobody asks for: diseases with drugs, operations, complaints, signs, studies,
  laboratory values, home, work, nursing, plans
- question: two wordings per calculator, which name the variant of the rule; at level 2
  it asks for the present state
"""

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
from medical_tasks.construct.fresh.findings import SECTION_OF_KIND, Kind, list_sentence
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
    Reading,
    ValueGroup,
    background,
    read_json,
)

__all__ = ["ASKED", "MARKERS", "UNDATED_MARKERS", "Background", "note_of", "note_with"]

_DATA: Final = read_json("notes.json")
_STORIES: Final = read_json("stories.json")
ASKED: Final[Sequence[str]] = _DATA["asked"]
"""Additions to a question that make it about the present."""

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
"""The markers in notes whose question is about dates."""
# Labels that repeat a heading.
_LABELS: Final = re.compile(r"^(?:PMH|Hx|Meds|Rx|SH|Tests|Imp): ")
_ABBREVIATIONS: Final = re.compile(
    "|".join(rf"\b{re.escape(word)}(?!\w)" for word in _DATA["abbreviations"])
)
_OWN_SLOT: Final = re.compile(rf"<({'|'.join(['day', 'old', *_DATA['rules']])})>")
_OLD, _YOUNG = 55, 40  # years beyond which, and up to which, other relatives are named
_YEAR: Final = 250  # days after which a date names its year
_WEEKDAYS: Final = (
    "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday",
)  # fmt: skip
# From this day on, every drug and vaccine of the lists was in use.
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
        group="labs",
        usual=(low, high),
        concepts=topics_of(name),
    )


_PANEL: Final = (*background("labs"), *map(_panel, _DATA["panel"]))


# Irrelevant statements.


@lru_cache(maxsize=64)
def _clauses_for(setting: Setting) -> tuple[Clause, ...]:
    return tuple(clause for clause in CLAUSES if setting in clause.settings)


class Background:
    """Clauses about a patient that are unrelated to the calculator's inputs.

    All members of a family of twins share one background.
    """

    def __init__(
        self, chart: Chart, draw: Draw, *, long: bool, blocked: Iterable[str] = ()
    ) -> None:
        """Draws the background; it avoids `blocked` topics and those of the calculator."""
        self.draw, self.person, self.setting = draw, chart.person, chart.setting
        self.brief, self.long = chart.brief, long
        self.today = _today(chart, draw)
        self.phrasing = Phrasing(draw, chart.person, self.today)
        self._words = chart.words
        self._topics_mentioned: set[str] = set()  # a note mentions each topic once
        self._talks = chart.voice != "none"
        self._blocked = frozenset(
            chart.concepts | set(blocked) | (set() if self._talks else {"talk"})
        )
        self.lists = {key: self._listed(key) for key in _DATA["beside"]}
        self.values = list(self._values(chart))
        # section and sentence of each clause that is written
        self.clauses: list[tuple[str, str]] = []
        self._left = self._drawn()

    def take(self, words: int) -> list[tuple[str, str]]:
        """Takes the next clauses, until they have at least `words` words."""
        clauses = []
        while words > 0 and (clause := next(self._left, None)):
            clauses.append(clause)
            words -= len(clause[1].split())
        return clauses

    def _listed(self, key: str) -> list[str]:
        """Draws irrelevant items for a list, such as a symptom among symptoms."""
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

    def _values(self, chart: Chart) -> Iterator[tuple[ValueGroup, Reading]]:
        """Yields normal values; few in children and pregnancy, where norms vary too much."""
        vitals, labs = background("vitals"), [*_PANEL]
        if self.person.child or self.setting == "obstetric":
            vitals = (
                [AMOUNTS["temperature"], AMOUNTS["spo2"]]
                if self.person.child
                else vitals[:4]
            )
            labs = []

        excluded = set(chart.concepts)
        for pool, most in ((vitals, 4), (labs, _MOST_VALUES[self.long])):
            for amount in self.draw.some(pool, self.draw.whole(1, most)):
                if not amount.concepts & excluded:
                    # Hemoglobin and hematocrit drawn apart might not fit each other.
                    excluded |= amount.concepts & {"red"}
                    reading = amount.read(self.draw, chart.system, *amount.usual)
                    yield amount.group, reading

    def _drawn(self) -> Iterator[tuple[str, str]]:
        """Yields diseases of the age and clauses of the setting, up to `most` a section.

        A sentence that clashes with a concept of the question yields nothing and does not
        count.
        """
        adult = self.setting not in ("child", "obstetric")
        fitting = (
            [disease for disease in DISEASES if disease.fits(self.person)]
            if adult
            else []
        )
        count = self.draw.whole(1, _most_diseases(self.person.years))
        diseases: list[Clause | Disease] = list(self.draw.some(fitting, count))
        left = Counter(_DATA["most"]["adult" if adult else "other"])
        clauses = self.draw.shuffled(_clauses_for(self.setting))
        entries = [*diseases, *clauses]
        for entry in entries if self.long else self.draw.shuffled(entries):
            clauses_made = (
                self._disease(entry)
                if isinstance(entry, Disease)
                else self._clause(entry)
            )
            for section, text in clauses_made:
                left[section] -= 1
                if left[section] >= 0:
                    yield section, _clipped(text) if self.brief else text

    def _clause(self, clause: Clause) -> list[tuple[str, str]]:
        low, high = clause.ages
        if not low <= self.person.years <= high or clause.topics & (
            self._topics_mentioned | self._blocked
        ):
            return []
        text = self.phrasing.fill(clause.text, self._words)
        if topics_of(text) & self._blocked:
            return []
        self._topics_mentioned |= clause.topics - {"talk"}
        return [(clause.section, text)]

    def _disease(self, disease: Disease) -> list[tuple[str, str]]:
        """Puts a disease in the history and its drug in the medication; none on a clash."""
        pick = self.draw.pick
        name, detail, drug = (
            pick(disease.names),
            pick(disease.details),
            pick(disease.drugs),
        )
        is_treated = drug != "none"
        frames = _DATA["diseases"]["treated" if is_treated else "untreated"]
        words = {**self._words, "name": name, "detail": detail, "drug": drug}
        self.phrasing.youngest = disease.ages[0]
        texts = [self.phrasing.fill(text, words) for text in pick(frames).split("//")]
        if topics_of(" ".join(texts)) & self._blocked:
            return []

        return list(zip(("history", "medication"), texts, strict=False))


def _most_diseases(age: int) -> int:
    """Returns two for the young and up to six for the old."""
    return max(2, min(6, age // 13))


def _today(chart: Chart, draw: Draw) -> datetime.date:
    """Draws the day of the note; in pregnancy, the visit or ten weeks after the last period."""
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
    """Shortens a clause: `She lives in a bungalow` becomes `Lives in bungalow`."""
    text = _ABBREVIATIONS.sub(lambda match: str(_DATA["abbreviations"][match[0]]), text)
    text = _CLIPPED.sub("", text)
    return text[:1].upper() + text[1:]


class _Writer:
    """Writes the note of a chart.

    The relevant statements are written first (`present`), then the competitors: old
    values, values of relatives, findings ruled out. The order of calls decides the text,
    since all draws are from one stream.
    """

    def __init__(
        self, chart: Chart, background: Background, draw: Draw, *, long: bool
    ) -> None:
        self.chart, self.person, self.long = chart, chart.person, long
        self.draw, self.background, self.today = draw, background, background.today
        self.phrasing = Phrasing(draw, chart.person, self.today)
        self.sections: dict[str, list[str]] = defaultdict(list)
        self.facts: list[Fact] = []  # the facts that are not relevant
        self.relatives_named: set[str] = set()
        # Other dates are not written if the question is about dates.
        self.dated = chart.setting != "obstetric"
        self.style = draw.pick(
            ("{d} {month}", "{d} {month}", "{d} {mon}", "{month} {d}")
        )
        self.days: list[int] = []
        # Earlier values by amount and day.
        self.seen: dict[tuple[str, int], Reading | None] = {}
        self.kin = not chart.concepts & {"kin"}

    def day(self, lag: int) -> str:
        day = self.today - datetime.timedelta(days=lag)
        month = MONTHS[day.month - 1]
        text = self.style.format(d=day.day, month=month, mon=month[:3])
        if lag <= _YEAR and day.year == self.today.year:
            return text
        return f"{text}{',' if text.endswith(str(day.day)) else ''} {day.year}"

    def fill(self, text: str, /, **extra: str) -> str:
        """Fills the slots of a template: dates, relatives, pronouns and `extra`."""
        person = self.person
        words = {
            "described": person.described,
            "A": person.article,
            "a": person.article.lower(),
            **self.chart.words,
            **extra,
        }
        return self.phrasing.fill(_OWN_SLOT.sub(self._slot, text), words)

    def _slot(self, match: re.Match[str]) -> str:
        """Fills one slot of a template: a day, an old date, or a relative.

        A relative fits the patient's age and is not yet in the note: one who has died must
        not visit later.
        """
        inner = match[1]
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
            [choice for choice in choices if choice not in self.relatives_named]
            or choices
        )
        if inner in ("kin", "elder"):
            self.relatives_named.add(chosen)

        return chosen

    def marked(self, section: str, frame: str, fact: Fact, /, **extra: str) -> None:
        """Writes an irrelevant statement, unless its sentence lacks a marker."""
        text = self.fill(frame, **extra)
        if (MARKERS if self.dated else UNDATED_MARKERS).search(text):
            self.sections[section].append(text)
            self.facts.append(replace(fact, text=text))

    # Relevant statements.

    def present(self) -> None:
        """Writes the relevant statements: sentences, findings, story, opening, values."""
        chart, draw, sections = self.chart, self.draw, self.sections
        for section, texts in chart.sentences.items():
            sections[section] += [self.fill(text) for text in texts]

        for (kind, is_there), phrases in chart.phrases.items():
            sections[SECTION_OF_KIND[kind]].append(
                self._list(kind, phrases, is_there=is_there)
            )

        story = [*map(self.fill, chart.story), *sections.pop("story", [])]
        stories = _STORIES.get(chart.topic, []) if self.long else []
        sections["story"] = story + [
            self.fill(text) for text in draw.some(stories, draw.whole(1, 2))
        ]
        opening = draw.pick(_DATA["openings"][chart.setting])
        opening = f"{self.person.brief} {{reason}}." if chart.brief else opening
        sections["opening"] = [self.fill(opening.replace("{reason}", chart.reason))]
        self._values()

    def _list(self, kind: Kind, phrases: Sequence[str], *, is_there: bool) -> str:
        beside = self.background.lists.get(
            f"{kind} {'present' if is_there else 'absent'}", []
        )
        shown = self.draw.shuffled([*phrases, *beside])
        sentence = list_sentence(
            self.draw,
            kind,
            shown,
            present=is_there,
            brief=self.chart.brief,
            voice=self.chart.voice,
        )

        return self.fill(_LABELS.sub("", sentence))

    def _values(self) -> None:
        """Writes lists of values, with relevant ones among those of the background."""
        chart, draw = self.chart, self.draw
        lists = {group: list(readings) for group, readings in chart.values.items()}
        for group, reading in self.background.values:
            lists.setdefault(group, []).append(reading)

        for group, readings in lists.items():
            left = draw.shuffled(readings)
            while left:
                size = draw.whole(*_LISTED) if self.long else len(left)
                chunk, left = left[:size], left[size:]
                text = self.fill(
                    draw.pick(_DATA["values"][group]), list=self._listed(chunk)
                )
                self.sections["exam" if group == "vitals" else "tests"].append(text)

    def _listed(self, readings: Sequence[Reading]) -> str:
        link = self.draw.pick(_DATA["links"])
        brief = self.chart.brief
        return ", ".join(
            f"{reading.short if brief else reading.name}{link} {reading.text}"
            for reading in readings
        )

    # Competitors: statements that could be mistaken for relevant ones.

    def competitors(self) -> None:
        """Adds values and findings that are outdated, or of somebody else."""
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
            self._outdated(fact)

    def _earlier_values(self, measured: Sequence[Fact]) -> None:
        """Adds earlier values: a trend, a table, copied text, the ambulance's sheet.

        Every one of them has a date or another marker, so that the note still has one right
        value of each quantity: the one without.
        """
        draw, frames, setting = self.draw, _DATA["superseded"], self.chart.setting
        changing = [fact for fact in measured if fact.what != "height"]
        for fact in draw.some(changing, draw.pick((0, 1, 1))):
            self._trend(fact)

        vitals = [fact for fact in measured if self._group(fact) == "vitals"]
        table = draw.pick(frames["sheet" if vitals else "panel"])
        self._sheet("earlier", table, measured, "superseded")

        if setting in ("ward", "icu", "clinic") and draw.chance(0.7):
            section = "story" if draw.chance(0.3) else "earlier"
            self._sheet(section, draw.pick(frames["copied"]), measured, "copied")

        if setting in ("emergency", "resus") and vitals:
            self._sheet("story", draw.pick(frames["ambulance"]), vitals, "superseded")

    def _relatives_value(self, fact: Fact) -> None:
        """Adds a relative's value, if relatives are asked about the quantity."""
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
        """Draws how many days ago earlier values were measured, the oldest first."""
        lags = _DATA["lags"][self.chart.setting]
        return sorted({self.draw.whole(*lags) for _ in range(3)}, reverse=True)

    def _group(self, fact: Fact) -> str:
        return "vitals" if fact.what == "pressure" else AMOUNTS[fact.what].group

    def _other(self, fact: Fact, unit: object = None) -> Reading | None:
        """Draws another value of a measured quantity, in either system of units.

        It differs by more than 2 % and in its text, so that only the surrounding words
        show that it is not the value asked for.
        """
        draw, measured = self.draw, fact.reading
        if measured is None:
            return None

        for _ in range(6):
            up = (
                -1
                if self.person.child and fact.what == "weight"
                else draw.pick((-1, 1))
            )
            if fact.what == "pressure":
                high = max(74, min(210, int(measured.base) + up * draw.whole(9, 28)))
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
                        measured.base + shift
                        if kind == "+"
                        else measured.base * (1 + shift),
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
                and abs(other.base - measured.base) > 0.02 * abs(measured.base)
                and other.text != measured.text
            ):
                return other

        return None

    def _trend(self, fact: Fact) -> None:
        """Adds two or three earlier values of an amount, in one unit, with their days.

        Adds nothing if two of them would have the same text, or no other value is
        possible.
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
        self, section: str, frame: str, facts: Sequence[Fact], status: Any
    ) -> None:
        """Adds one sentence with earlier values of several quantities."""
        lag = self.draw.pick(self.days) if "{day}" in frame else 0
        earlier = []
        for fact in self.draw.some(facts, self.draw.whole(1, 5)):
            other = self.seen.setdefault((fact.what, lag), self._other(fact))
            earlier += [(fact, other)] if other else []

        if earlier:
            old_values = [other for _, other in earlier] + self._old_panel(facts)
            shown = self._listed(self.draw.shuffled(old_values))
            text = self.fill(frame, list=shown, day=self.day(lag))
            self.sections[section].append(text)
            self.facts += [
                replace(
                    fact,
                    value=other.entity,
                    reading=other,
                    when="past",
                    status=status,
                    text=text,
                )
                for fact, other in earlier
            ]

    def _old_panel(self, facts: Sequence[Fact]) -> list[Reading]:
        """Draws earlier values of irrelevant quantities, to go with laboratory values."""
        if self.person.child or not any(self._group(fact) == "labs" for fact in facts):
            return []
        draw, excluded = self.draw, self.chart.concepts
        amounts = [
            amount for amount in draw.some(_PANEL, 3) if not amount.concepts & excluded
        ]
        return [
            amount.read(draw, self.chart.system, *amount.usual) for amount in amounts
        ]

    def _finding(self, fact: Fact) -> None:
        """Adds a finding that was ruled out, is past, or is a relative's.

        A finding that the patient has is never ruled out, which would be a contradiction.
        """
        unfit_prefixes = ["relative:"] * (not self.kin) + ["ruled out:"] * (
            fact.value is True
        )
        lines = [
            line
            for line in _DATA["findings"].get(fact.what, ())
            if not line.startswith(tuple(unfit_prefixes))
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

    def _outdated(self, fact: Fact) -> None:
        """Adds other doses, drinks, cycles and first days of a period.

        They are of another time or of somebody else, so that the answer stays the same.
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
        """Counts the words written so far."""
        return sum(
            len(text.split()) for texts in self.sections.values() for text in texts
        )

    def text(self) -> str:
        """Joins header, sections in the layout of the style, and closing."""
        draw, chart = self.draw, self.chart
        for section, text in self.background.clauses:
            self.sections[section].append(text)

        blocks = []
        if self.dated and self.long and draw.chance(0.7):
            blocks.append(self._header())

        if chart.style == "referral":
            blocks += [
                f"Re: {self.person.title}",
                self.fill(draw.pick(_DATA["salutations"])),
            ]

        for heading, section_names, mode in draw.pick(_DATA["layouts"][chart.style]):
            texts = [
                text
                for section in section_names.split()
                for text in self._ordered(section)
            ]
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

    def _ordered(self, section: str) -> list[str]:
        """Orders the sentences of a section; in long notes randomly, except story and course."""
        texts = self.sections.get(section, [])
        keeps_order = section in ("opening", "story", "course")
        return self.draw.shuffled(texts) if self.long and not keeps_order else texts

    def _body(self, texts: Sequence[str], mode: str) -> str:
        # Not in short notes: the list of a twin could begin with its second item.
        if mode == "list" and len(texts) > 1 and self.long:
            return "\n".join(f"- {text}" for text in texts)
        if mode == "days" and len(texts) > 1 and self.chart.setting in ("ward", "icu"):
            return "\n".join(
                f"Day {number}: {text}" for number, text in enumerate(texts, 1)
            )
        return " ".join(texts)


def note_of(chart: Chart, *, long: bool) -> tuple[str, list[Fact]]:
    """Writes the note of a complete chart, and returns its irrelevant facts if it is long."""
    background = Background(chart, chart.draw, long=long)
    writer = _Writer(chart, background, chart.draw, long=long)
    writer.present()
    if long:
        writer.competitors()
    aim = chart.draw.whole(*_DATA["aims"]["long" if long else "short"])
    background.clauses = background.take(aim - writer.words())
    return writer.text(), writer.facts


def note_with(chart: Chart, background: Background, draw: Draw) -> str:
    """Writes the short note of a complete chart with a given background."""
    writer = _Writer(chart, background, draw, long=False)
    writer.present()
    return writer.text()
