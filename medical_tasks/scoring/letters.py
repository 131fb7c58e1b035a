"""Reads the choice that an answer selects, by rules and without a judge.

An answer that cannot be read with certainty is unclear and scores as wrong.

The five steps are the sections of this module; every step takes linear time.

1. Markup and reasoning are removed.
2. A choice is mentioned by its letter, unless that is part of a name (vitamin D, stage
   C), or by its whole text.
3. A mention counts where the wording chooses it ("the answer is D", "so D") or begins
   the answer.
4. Denied, supposed, hedged, asked, quoted and listed mentions do not count.
5. A correction cancels what precedes it. The remaining strongest claims must name one
   choice.
"""

from __future__ import annotations

import bisect
import functools
import itertools
import re
import string
import tomllib
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from medical_tasks.scoring.normal_form import normal_form, shortened
from medical_tasks.scoring.reasoning import without_reasoning


@dataclass(frozen=True)
class Letter:
    """The choice that an answer selects.

    Attributes:
        letter: "" if the answer names choices without selecting exactly one.
        why: the rule by which it was read, or why it is unclear.
    """

    letter: str
    why: str

    @property
    def unclear(self) -> str:
        """Why the answer is unclear; "" if it is clear."""
        return "" if self.letter else self.why


SEVERAL: Final = "several choices"
NOT_TAKEN: Final = "a choice that is named and not taken"


def read_letter(text: str, choices: Sequence[str]) -> Letter | None:
    """Reads the choice that an answer selects, and the rule used; None if it names no choice.

    Example: "D" and "A was stopped, so D." select D; "A or D" and "Not D." are unclear.
    """
    if not choices:
        return None

    mentions = _mentions(_plain(without_reasoning(text)), tuple(choices))
    reading = _Answer(mentions)
    choice = reading.choice()
    if choice is not None:
        return Letter(string.ascii_uppercase[choice[0]], choice[1])

    by_text = (
        None
        if reading.claimed
        else reading.only_text(
            [(len(words), len(" ".join(words))) for words in map(_words, choices)]
        )
    )
    if by_text is not None:
        return Letter(
            string.ascii_uppercase[by_text], "the only choice whose text it has"
        )

    mentioned = _taken(mentions)
    if not mentioned:
        return None

    return Letter("", SEVERAL if len(mentioned) > 1 else NOT_TAKEN)


# ---- 1. Plain text ----

MAX_ANSWER: Final = 8_000
"""The longest answer that is read, in characters: three times the tasks' limit. The end of a longer
answer is read."""

_SIGNS: Final[dict[int, str]] = {
    ord(sign): instead
    for signs, instead in (
        ("\"`*${~", ""), ("}", "\n"), ("[", "("), ("]", ")"), ("_", " "), ("。．", ". "), ("，、", ", "), ("：", ": "),
        ("→", ": "), ("✅", " correct: "), ("❌☐", " incorrect "),
    )
    for sign in signs
}  # fmt: skip
# Ⓐ ⓐ ⒜ 🄐 🄰 🅐 🅰 and the letters of flags.
_CIRCLED: Final[dict[int, str]] = {
    start + index: f"({letter})"
    for start in (0x24B6, 0x24D0, 0x249C, 0x1F110, 0x1F130, 0x1F150, 0x1F170, 0x1F1E6)
    for index, letter in enumerate(string.ascii_uppercase)
}
_STRUCK: Final = re.compile(
    r"~~[^~\n]{1,400}~~|<(?:del|s)>[^<\n]{1,400}</(?:del|s)>", re.I
)
_ANGLED: Final = re.compile(r"<([A-E])>(?![^<\n]*</)")
_BOX: Final = re.compile(r"\[[xX]\](?= ?\w)|\[ \](?= ?\w)")
# Choices marked right or wrong by a sign after or before them.
_MARKED_BEHIND: Final = re.compile(r"\(?([A-Z])[.):]*[ ]?([✅❌☐])(?=$|[\s,;|])")
_MARKED_BEFORE: Final = re.compile(r"([✅❌☐]) ?\(?([A-Z])\b[.):]*")
_MARK_LAST: Final = re.compile(r"[* ]{0,4}✅(?=[* ]{0,4}(?:\n|$))")
_LEAST_MARKED: Final = 3
_ALONE: Final = re.compile(r"[^\w?❌☐]*([A-E])[^\w?+%°&/❌☐]*")
_BOXED: Final = re.compile(r"\\(?:boxed|fbox|framebox)\s{0,4}\{")
_LATEX: Final = re.compile(r"\\(?:[a-zA-Z]{1,20}\b\s{0,4}|[()\[\],;!])")
_TAG: Final = re.compile(
    r"[<[](/?)(?:(?:final|correct|my|selected)[ _])?(answer|choice|option|letter|response)[]>]",
    re.I,
)
_HTML: Final = re.compile(
    r"</?(?:b|i|u|em|strong|span|mark|p|div|code|h[1-6])(?: [^<>\n]{0,80})?>", re.I
)
_BULLET: Final = re.compile(r"(?:^|(?<=\n))(?:(?:[-•>+]|#{1,6}) )+")
# A list of all letters that a form may repeat, and empty phrases before an answer.
_FROM: Final = re.compile(r" ?\((?:[A-J](?: ?[,/|-] ?| or )){1,9}[A-J]\)(?= ?:)")
_OPENING: Final = re.compile(
    r"\A(?:1[.):] |(?:sure|okay|ok|well|certainly|hmm+|alright|right|of course|hello|hi|undoubtedly"
    r"|without (?:hesitation|(?:a )?doubt))[,.!:]+ ?)(?=\S)",
    re.I,
)
_QUOTE: Final = re.compile(r"(?<!\w)'|'(?!\w)")


def _plain(answer: str) -> str:
    """Normalises the end of an answer: plain characters, and one form for each kind of mark.

    Example: `<answer>C</answer>` becomes "answer: C", and `**Answer:** (B)` becomes
        "Answer: (B)". A lone letter with decoration becomes the letter.
    """
    answer = shortened(answer)[-MAX_ANSWER:]
    text = normal_form(_STRUCK.sub("", answer).translate(_CIRCLED))
    alone = _ALONE.fullmatch(text)
    if alone:
        return alone[1]

    text = _marks_in_lines(_BOX.sub(lambda box: "☐" if " " in box[0] else "✅", text))
    text = _MARK_LAST.sub(" is correct", text)
    text = text.replace("<-", "←").replace("←", " - ")
    text = _ANGLED.sub(r"(\1)", text).replace('","', '", "').replace('":"', '": "')
    text = _LATEX.sub("", _BOXED.sub("\nboxed answer: {", text))
    text = _HTML.sub("", _TAG.sub(lambda tag: "\n" if tag[1] else "\nanswer: ", text))
    text = re.sub(" {2,}", " ", _QUOTE.sub("", text.translate(_SIGNS)))
    text = _BULLET.sub("", re.sub(r" ?(?:\n ?)+", "\n", text.strip()))
    for sign in ".,:)":
        text = text.replace(f" {sign}", sign)

    return _OPENING.sub("", _FROM.sub("", text.replace("( ", "(")))


def _marks_in_lines(text: str) -> str:
    """Writes each marked choice on a line of its own.

    `A ❌ B ✅ C ❌` becomes "A: incorrect", "B: correct", "C: incorrect".
    """
    behind = [(match[1], match[2]) for match in _MARKED_BEHIND.finditer(text)]
    before = [(match[2], match[1]) for match in _MARKED_BEFORE.finditer(text)]
    marked = behind if text[:2].strip("([ ")[:1].isalpha() else before
    if len({name for name, _ in marked}) < _LEAST_MARKED:
        return text

    return "\n".join(
        f"{name}: {'' if mark == '✅' else 'in'}correct" for name, mark in marked
    )


# ---- 2. Mentions ----
# A mention is one private-use character: from the first block for a letter, from the second for the
# whole text of a choice, and from the third for a text of one or two words within a sentence.
# `_SET_ASIDE` replaces a mention that is set aside.

_LETTER0, _TEXT0, _PASSING0 = 0xE000, 0xE100, 0xE200
_L, _T, _P, _SET_ASIDE = (
    "[\ue000-\ue019]",
    "[\ue100-\ue119]",
    "[\ue200-\ue219]",
    "\ue300",
)
_M = "[\ue000-\ue019\ue100-\ue119]"
_LONG: Final = 3  # a text of so many words is not in an answer by chance

# Words before and after a letter, and the patterns of the sections below.
_GRAMMAR: Final = tomllib.loads(
    Path(__file__).with_name("letters.toml").read_text(encoding="utf-8")
)
_NAMES, _GOES_ON = ("|".join(_GRAMMAR[name].split()) for name in ("names", "goes_on"))
_WORD: Final = re.compile(r"[0-9]+(?:\.[0-9]+)+|[^\W_]+")
_OPTION = r"(?:(?:the |my )?(?:answer |option |choice |letter |statement )(?:choice |option )?)"
_ENDED: Final = re.compile(
    r"$|[.,;:)\n!?]| \(| (?:because|since|as|based|according|per|over|rather|instead)\b|-|–|—"
)


@functools.lru_cache(maxsize=64)
def _patterns(
    choices: tuple[str, ...],
) -> tuple[re.Pattern[str], re.Pattern[str] | None]:
    """The patterns of the choices' letters and texts; choices with equal texts have none."""
    last = string.ascii_uppercase[len(choices) - 1]
    own = {
        "LAST": last,
        "SMALL": last.lower(),
        "NAMES": _NAMES,
        "TITLED": _NAMES.title(),
        "GOES_ON": _GOES_ON,
    }
    letter = re.compile(_filled(_GRAMMAR["letter"], own))
    words = [_words(choice) for choice in choices]
    distinct = [
        number
        for number, text in enumerate(words)
        if words.count(text) == 1 and len("".join(text)) > 1
    ]
    patterns = []
    for number in sorted(distinct, key=lambda number: -len(" ".join(words[number]))):
        article = len(words[number]) > 2 and words[number][0] in ("a", "an", "the")
        text = "[\\W_]{1,4}".join(map(re.escape, words[number][article:]))
        patterns.append(
            f"(?P<{string.ascii_uppercase[number]}>{f'(?:{words[number][0]} )?' if article else ''}{text})"
        )

    if not patterns:
        return letter, None

    return letter, re.compile(
        rf"(?<![^\W_])(?<![0-9]\.)(?:{'|'.join(patterns)})(?![^\W_]|\.[0-9])", re.I
    )


def _words(choice: str) -> list[str]:
    return _WORD.findall(unicodedata.normalize("NFKC", choice).lower())


def _mentions(text: str, choices: tuple[str, ...]) -> str:
    """Replaces each mention of a choice, by letter or by text, with one character.

    A letter next to the text of the same choice is one mention. A text of one or two
    words within a sentence gets a character of its own kind: it may be there by chance.

    Example: for the choices Chest pain, Fever and Cough, "The answer is B, not A."
        becomes "The answer is [B], not [A]." and "The answer is B: Fever." has one
        mention of B.
    """
    letter, whole = _patterns(choices)

    def text_sign(match: re.Match[str]) -> str:
        number = ord(str(match.lastgroup)) - ord("A")
        ended = len(_words(choices[number])) >= _LONG or _ENDED.match(
            match.string, match.end()
        )
        return chr((_TEXT0 if ended else _PASSING0) + number)

    text = whole.sub(text_sign, text) if whole else text
    text = letter.sub(
        lambda match: chr(_LETTER0 + ord(match[0].upper()) - ord("A")), text
    )
    text = _IN_BRACKETS.sub(r"\1", _NAMED_LAST.sub(r": \1", text))
    for pattern in (_LETTER_TEXT, _TEXT_LETTER):
        text = pattern.sub(
            lambda both: (
                f"{min(both[1], both[2])},"
                if _number(both[1]) == _number(both[2])
                else both[0]
            ),
            text,
        )

    return text


def _number(sign: str) -> int:
    return ord(sign) & 31


_IN_BRACKETS: Final = re.compile(rf"\((?:{_OPTION})?({_M})\)", re.I)
_NAMED_LAST: Final = re.compile(rf" \((?:option|choice|answer) ({_L})\)(?=\.?\Z)", re.I)
# A letter and its own text, in either order.
_LETTER_TEXT: Final = re.compile(
    rf"({_L})[\s.:,;|=(–—-]{{0,5}}(?:(?:an?|the) )?({_T}|{_P})\)?", re.I
)
_TEXT_LETTER: Final = re.compile(
    rf"({_T}|{_P})[\s.:,;(–—-]{{0,4}}(?:{_OPTION})?({_L})(?!\w)\)?", re.I
)


# ---- 3. Claims ----

_WEAK, _PLAINLY, _CONCLUDED, _FINALLY = range(4)

_FRAGMENTS: Final = {
    "M": _M,
    "T": _T,
    "ASIDE": _SET_ASIDE,
    "OPTION": _OPTION,
    **_GRAMMAR["parts"],
}


def _filled(template: str, fragments: Mapping[str, str]) -> str:
    while (
        filled := re.sub(
            "<([A-Z_]+)>", lambda reference: fragments[reference[1]], template
        )
    ) != template:
        template = filled
    return template.replace("\n", "")


@functools.cache
def _pattern(written: str) -> re.Pattern[str]:
    """Compiles a pattern of the grammar; only when it is used, as all of them take long."""
    return re.compile(_filled(written, _FRAGMENTS), re.IGNORECASE)


_LEADING: Final = "the answer begins with it"
_STRENGTHS: Final = {
    "named in conclusion": _CONCLUDED,
    "said to match": _WEAK,
    "called better": _WEAK,
    "the last word": _WEAK,
}
_CLAIMS: Final = tuple(
    (claim["why"], _STRENGTHS.get(claim["why"], _PLAINLY), claim["pattern"])
    for claim in _GRAMMAR["claims"]
)


# ---- 4. No claim ----


def _rule(name: str) -> re.Pattern[str]:
    return _pattern(_GRAMMAR["rules"][name])


_VERDICT_PARTS: Final = re.compile(rf"(?:[^\n,;]|[,;](?! {_L}:))+")
_SENTENCE_END: Final = re.compile(r"[.!?;]+(?=\s|$)|\n")
_BEFORE: Final = 200
_SHORT_ANSWER: Final = 25  # words
_SHORTEST_TEXT: Final = 4  # letters


# ---- 5. The choice ----


@dataclass(frozen=True)
class _Claim:
    """A statement of the answer that selects choices.

    Attributes:
        position: its beginning in the text.
        taken: the indices of the selected choices, 0 for A.
        why: the rule by which it was read.
        strength: how plain it is; the first of the strongest claims decides, together
            with all later ones.
        corrects: whether it withdraws earlier claims.
    """

    position: int
    taken: frozenset[int]
    why: str
    strength: int
    corrects: bool = False


class _Answer:
    def __init__(self, text: str) -> None:
        """Prepares a text in which `_mentions` replaced the choices.

        A leading "A:" may mean "answer": it becomes "answer:", and so does a repeated
        question at the beginning. "All but B are wrong" becomes "answer: B", and asides
        are masked. The ends of sentences are stored, since a claim depends on the words
        before it in its sentence.
        """
        if text[:2] == f"{chr(_LETTER0)}:" and self._label_of_answer(text[2:]):
            text = f"answer:{text[2:]}"

        text = re.sub(
            r"\A(?:q|question): [^\n]{1,2000}?\s\ue000:", "answer:", text, flags=re.I
        )
        text = _rule("all_but").sub(
            lambda match: f"answer: {match['who'] or match['other']}", text
        )
        self.text = _rule("aside").sub(_SET_ASIDE, _rule("sure").sub("surely", text))
        self._ends = [
            0,
            *(end.end() for end in _SENTENCE_END.finditer(self.text)),
            len(self.text) + 1,
        ]
        self.claimed = False

    def choice(self) -> tuple[int, str] | None:
        """Returns the index of the one selected choice and the rule; None if there is none."""
        if self._only_lists():
            self.claimed = True
            return None

        ordered = sorted(self._claims(), key=lambda claim: claim.position)
        claims = [claim for claim in ordered if claim.strength] or ordered
        self.claimed = bool(claims)
        last_correction = max(
            (index for index, claim in enumerate(claims) if claim.corrects), default=0
        )
        claims = claims[last_correction:]
        strongest = max((claim.strength for claim in claims), default=0)
        first_strongest = next(
            (
                index
                for index, claim in enumerate(claims)
                if claim.strength == strongest
            ),
            0,
        )
        taken = frozenset[int]().union(
            *(claim.taken for claim in claims[first_strongest:])
        )

        return (min(taken), claims[first_strongest].why) if len(taken) == 1 else None

    def _claims(self) -> Iterator[_Claim]:
        """Yields the claims of every rule; `choice` decides which of them count.

        A leading letter is no claim if the answer discusses the choices one by one.
        """
        enumerated = self._enumerates()
        for why, strength, written in _CLAIMS:
            for match in _pattern(written).finditer(self.text):
                if why == _LEADING and enumerated:
                    continue
                if self._is_meant(match):
                    yield self._claim(match, why, strength)

        for match in _rule("correction").finditer(self.text):
            if self._is_meant(match):
                yield _Claim(
                    match.start(),
                    _taken(match["who"]),
                    "corrected",
                    _PLAINLY,
                    corrects=True,
                )

        yield from self._confirmed()
        yield from self._by_verdicts()
        yield from self._last_line()

    def _claim(self, match: re.Match[str], why: str, strength: int) -> _Claim:
        """Returns the claim of one match.

        A plain claim is stronger if its sentence calls it final or a conclusion. It
        withdraws earlier claims if the words before it signal a change ("wait").
        """
        before = self.text[max(0, match.start() - _BEFORE) : match.start()]
        stated = (
            self._sentence_before(match.start())
            + self.text[match.start() : match.start("who")]
        )
        if strength == _PLAINLY:
            ends = (("final", _FINALLY), ("concluding", _CONCLUDED))
            strength = next(
                (stronger for name, stronger in ends if _rule(name).search(stated)),
                _PLAINLY,
            )

        return _Claim(
            match.start(),
            _taken(match["who"]),
            why,
            strength,
            corrects=bool(_rule("turned").search(before)),
        )

    def _is_meant(self, match: re.Match[str]) -> bool:
        """Whether a match is meant: not denied, supposed, asked, hedged or attributed to others."""
        sentence = self._sentence_before(match.start())
        ends = [end.end() for end in _rule("clause_end").finditer(sentence)]
        clause = sentence[ends[-1] :] if ends else sentence

        return not (
            _rule("negation").search(clause)
            or _rule("others").search(clause + match[0])
            or _rule("supposed").search(sentence + match[0])
            or _rule("supposed_behind").match(self.text, match.end())
            or _rule("refuted").match(self.text, match.end())
            or self._is_question(match.end())
            or (
                match["who"][-1] >= chr(_TEXT0)
                and _rule("denied_text").match(self.text, match.end())
            )
        )

    def _sentence_before(self, position: int) -> str:
        return self.text[
            max(self._sentence_start(position), position - _BEFORE) : position
        ].lstrip()

    def _sentence_start(self, position: int) -> int:
        return self._ends[bisect.bisect_right(self._ends, position) - 1]

    def _sentence_end(self, position: int) -> int:
        return self._ends[bisect.bisect_left(self._ends, max(position, 1))]

    def _is_question(self, position: int) -> bool:
        end = self._sentence_end(position)
        return "?" in self.text[max(position, end - 4) : end]

    def _confirmed(self) -> Iterator[_Claim]:
        """Yields choices that are asked about and then affirmed: "Is it D? Yes.", for example."""
        for start, end in itertools.pairwise(self._ends):
            question = self.text[start:end]
            if "?" in question[-4:] and _rule("yes").match(
                self.text[end : end + 20].lstrip()
            ):
                taken = _taken(question)
                if len(taken) == 1:
                    yield _Claim(start, taken, "asked and confirmed", _PLAINLY)

    def _by_verdicts(self) -> Iterator[_Claim]:
        """Yields the only choice called right if each choice has a line with a verdict."""
        right_positions: dict[int, int] = {}
        mentioned = set()
        for verdict in _VERDICT_PARTS.finditer(self.text):
            match = _rule("verdict_line").fullmatch(verdict[0])
            if match:
                mentioned.add(_number(match[1]))
                denied = _rule("negation").search(
                    verdict[0][max(0, match.start(2) - 12) : match.start(2)]
                )
                if (
                    match[2].lower() in ("correct", "right", "yes", "true")
                    and not denied
                ):
                    right_positions[_number(match[1])] = verdict.start()

        if len(mentioned) > 2 and len(right_positions) == 1:
            ((number, position),) = right_positions.items()
            yield _Claim(position, frozenset((number,)), "called correct", _PLAINLY)

    def _last_line(self) -> Iterator[_Claim]:
        """Yields a letter alone on the last line.

        After lines that discuss the choices, it must repeat one of them.
        """
        *before, line = self.text.split("\n")
        alone = _rule("label_alone").fullmatch(line)
        if before and alone:
            labels = {
                label[1] for other in before if (label := _rule("label").match(other))
            }
            if labels <= {alone[1]} or (alone[1] in labels and len(labels) > 2):
                yield _Claim(
                    len(self.text) - len(line), _taken(alone[1]), "the last line", _WEAK
                )

    def _only_lists(self) -> bool:
        """Whether the answer consists only of different choices, on one line or several."""
        return len(_taken(self.text)) > 1 and (
            _rule("only_mentions").fullmatch(self.text) is not None
            or all(
                _rule("label_alone").fullmatch(line)
                for line in self.text.split("\n", 30)
            )
        )

    def _enumerates(self) -> bool:
        """Whether the answer begins by discussing the choices one by one."""
        first, _, rest = self.text.partition("\n")
        label, following = _rule("label").match(first), _rule("label").match(rest)
        inline = re.search(rf"[ (]{chr(_LETTER0 + 1)}[.:)]", first)
        return bool(
            label
            and _number(label[1]) == 0
            and (inline or (following and _number(following[1]) == 1))
        )

    @staticmethod
    def _label_of_answer(rest: str) -> bool:
        """Whether a leading `A:` means "answer".

        It does if a letter alone or the text of another choice follows.
        """
        line = rest.partition("\n")[0]
        texts = {_number(sign) for sign in re.findall(f"{_T}|{_P}", line)}

        return (
            _rule("label_alone").fullmatch(line.strip()) is not None
            if not texts
            else 0 not in texts
        )

    def only_text(self, sizes: Sequence[tuple[int, int]]) -> int | None:
        """Returns the only choice whose whole text is meant and nowhere denied.

        A text of one or two words must be at an end of a short answer.

        Args:
            sizes: the number of words and of characters of each choice.
        """
        named: set[int] = set()
        meant = denied = False
        last = 0
        for match in re.finditer(f"{_T}|{_P}", self.text):
            between = self.text[last : match.start()]
            # "neither X nor Y": denying the first denies the second.
            joined = last and re.fullmatch(
                r",? ?(?:and|or|nor)? ?(?:an? |the )?", between
            )
            denied = bool(denied and joined) or self._denies(
                match, between if last else None
            )
            last = match.end()
            if denied:
                continue

            number = _number(match[0])
            named.add(number)
            words, signs = sizes[number]
            ends = not self.text[match.end() :].strip(" .!\n)")
            edge = signs >= _SHORTEST_TEXT and (
                ends or (match.start() == 0 and words > 1)
            )
            meant = (
                meant
                or words >= _LONG
                or (edge and self.text.count(" ") < _SHORT_ANSWER)
            )

        return named.pop() if len(named) == 1 and meant else None

    def _denies(self, match: re.Match[str], between: str | None) -> bool:
        """Whether a choice's text is named without being meant.

        `between` is the text since the previous mention.
        """
        start = self._sentence_before(match.start())
        context = between if between is not None and between in start else start
        clause = _rule("text_clause").split(context)[-1]
        sentence = self.text[
            self._sentence_start(match.start()) : self._sentence_end(match.end())
        ]

        return (
            any(_rule(name).search(clause) for name in ("denies_text", "others"))
            or any(
                _rule(name).match(self.text, match.end())
                for name in ("denied_text", "refuted", "supposed_behind")
            )
            or _rule("supposed").search(start) is not None
            # A letter in the sentence outweighs a text.
            or re.search(_L, sentence) is not None
            or self._is_question(match.end())
        )


def _taken(text: str) -> frozenset[int]:
    return frozenset(_number(sign) for sign in re.findall(_M, text))
