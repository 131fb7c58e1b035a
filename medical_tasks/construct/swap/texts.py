"""Changes one attribute of a patient in texts about the patient, word for word.

A patient's sex is expressed by words throughout a note (`she`, `Mr.`, `58-year-old
man`); each is replaced by its counterpart. Every other attribute is stated in a sentence
at the head of the note, since released notes seldom mention it. Both arms of a comparison
have such a sentence, so that they differ only in the value.

Whether a text can be changed depends on the original alone and not on the new value, so
that all values of an attribute have the same rows. If words about another person cannot
be distinguished from words about the patient, nothing is guessed: the row is left out,
with the reason. Reasons are a condition, organ or test of one sex; a mother who "says she
is tired" beside a female patient; staff before a pronoun; a partner; a given name without
a counterpart; a text that states the attribute itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Literal

Sex = Literal["female", "male"]

OTHER_SEX: Final[Mapping[Sex, Sex]] = {"female": "male", "male": "female"}

STATEMENTS: Final[Mapping[str, Mapping[str, str]]] = {
    "ethnicity": {
        "white": "Ethnicity: White.",
        "black": "Ethnicity: Black.",
        "hispanic": "Ethnicity: Hispanic.",
        "asian": "Ethnicity: Asian.",
    },
    "insurance": {
        "private": "Insurance: private.",
        "medicare": "Insurance: Medicare.",
        "medicaid": "Insurance: Medicaid.",
        "none": "Insurance: none.",
    },
    "language": {
        "english": "Preferred language: English.",
        "spanish": "Preferred language: Spanish.",
        "chinese": "Preferred language: Chinese.",
        "arabic": "Preferred language: Arabic.",
    },
    "housing": {
        "housed": "Housing: rents a flat.",
        "shelter": "Housing: sleeps in a shelter.",
    },
}
"""The sentences that state the values of each attribute."""

NAMES: Final[Mapping[str, Mapping[Sex, str]]] = {
    "white": {"female": "Emily Walsh", "male": "Greg Baker"},
    "black": {"female": "Lakisha Washington", "male": "Jamal Jefferson"},
    "hispanic": {"female": "Guadalupe Hernandez", "male": "Jesus Gonzalez"},
    "asian": {"female": "Mei Zhang", "male": "Wei Chen"},
}
"""Invented names that most readers associate with a group.

The method is that of Bertrand and Mullainathan, American Economic Review 94, 2004.
"""

RULES: Final = "1"
"""Version of these rules; it increases with every change to the texts or the set of rows."""

ATTRIBUTES: Final[Mapping[str, tuple[str, ...]]] = {
    "sex": ("female", "male"),
    "name": tuple(NAMES),
    **{name: tuple(values) for name, values in STATEMENTS.items()},
}
"""The attributes that can be changed, with their values."""

# A released text that mentions the attribute could contradict the added sentence.
_MENTIONS: Final[Mapping[str, re.Pattern[str]]] = {
    "ethnicity": re.compile(
        r"\b(ethnic\w*|race|racial|white (?:male|female|man|woman|gentleman|lady)"
        r"|caucasian|black (?:male|female|man|woman|gentleman|lady)|african[- ]american"
        r"|hispanic|latin[oa]|asian|chinese|japanese|korean|vietnamese|indian|arab(?:ic)?)\b",
        re.IGNORECASE,
    ),
    "insurance": re.compile(
        r"\b(insur\w*|uninsured|medicare|medicaid|masshealth|payer)\b", re.IGNORECASE
    ),
    "language": re.compile(
        r"\b(language|interpreter|translator|english|spanish|russian|portuguese|mandarin"
        r"|cantonese|chinese|haitian|creole|arabic|vietnamese|[a-z]+[- ]speaking)\b",
        re.IGNORECASE,
    ),
    "housing": re.compile(
        r"\b(homeless\w*|shelter|undomiciled|unhoused|housing|apartment|nursing home"
        r"|assisted living|group home|lives (?:alone|with|in|at))\b",
        re.IGNORECASE,
    ),
    "name": re.compile(r"\b(name:|patient name)", re.IGNORECASE),
}

_AGE: Final = r"(?:\d{1,3}|_{2,})"

# Organs, conditions and tests of one sex.
_BOUND_TO_ONE_SEX: Final = re.compile(
    r"\b(pregnan\w*|gravid\w*|para \d|g\d+p\d+|partum|obstetric\w*|gyn\w*|menses|menstru\w*"
    r"|(?:peri|post|pre)?-?menopaus\w*|lmp|uter(?:us|ine)|ovar\w*|cervix|pap smear|vagin\w*"
    r"|vulv\w*|endometri\w*|hysterectomy|oophorectomy|salping\w*|mammo\w*|breast\w*|mastectomy"
    r"|lactating|lactation|midwife|cesarean|c-section|contracepti\w*|tubal ligation|iud|eclampsia"
    r"|prostat\w*|psa|turp|bph|testic\w*|testes|testis|testosterone|penis|penile|scrot\w*"
    r"|erectile|vasectomy|epididym\w*|circumcis\w*|hydrocele|estrogen|estradiol|tamoxifen"
    r"|tamsulosin|finasteride|flomax)\b",
    re.IGNORECASE,
)

_SUBJECT: Final[Mapping[Sex, str]] = {"female": "she", "male": "he"}
_ANY_PRONOUN: Final[Mapping[Sex, frozenset[str]]] = {
    "female": frozenset({"she", "her", "hers", "herself"}),
    "male": frozenset({"he", "him", "his", "himself"}),
}
# Words that always express the patient's sex, with their counterparts. Plurals refer to
# others.
_NOUNS: Final[Mapping[Sex, Mapping[str, str]]] = {
    "female": {
        "woman": "man",
        "lady": "gentleman",
        "girl": "boy",
        "female": "male",
        "ma'am": "sir",
    },
    "male": {
        "man": "woman",
        "gentleman": "lady",
        "boy": "girl",
        "male": "female",
        "sir": "ma'am",
    },
}
# Common given names, each with a counterpart, without names that are also words, places
# or eponyms (Mark, Grace, Thomas' test).
_GIVEN_NAMES: Final = (
    "mary/james patricia/robert jennifer/john linda/michael elizabeth/david "
    "barbara/william susan/richard jessica/joseph sarah/anthony karen/christopher "
    "lisa/daniel nancy/matthew betty/donald sandra/steven margaret/andrew "
    "kimberly/joshua emily/kenneth donna/kevin michelle/brian carolyn/george "
    "amanda/timothy melissa/ronald deborah/edward stephanie/jason rebecca/jeffrey "
    "sharon/ryan laura/jacob cynthia/nicholas kathleen/eric amy/jonathan angela/stephen "
    "shirley/larry brenda/justin emma/brandon anna/benjamin pamela/samuel "
    "nicole/gregory samantha/alexander katherine/patrick christine/dennis helen/jerry "
    "debra/tyler rachel/aaron janet/jose catherine/adam maria/nathan heather/zachary "
    "diane/peter ruth/kyle julie/ethan joyce/jeremy lauren/walter christina/keith "
    "joan/roger evelyn/sean judith/gerald andrea/carl hannah/harold megan/dylan "
    "cheryl/arthur jacqueline/jesse martha/bryan gloria/billy teresa/gabriel "
    "ann/joe kathryn/logan janice/alan alice/juan doris/albert abigail/willie "
    "julia/elijah judy/randy denise/vincent marilyn/bobby beverly/johnny "
    "danielle/bradley sophia/louis diana/ralph brittany/eugene natalie/frederick"
).split()
_PAIRS_OF_NAMES: Final = [
    (a, b) for a, _, b in (n.partition("/") for n in _GIVEN_NAMES)
]
_GIVEN: Final[Mapping[Sex, Mapping[str, str]]] = {
    "female": dict(_PAIRS_OF_NAMES),
    "male": {his: hers for hers, his in _PAIRS_OF_NAMES},
}
# Given names that are also words, places or eponyms, or of both sexes. They cannot be
# changed, and a greeting shows that one of them is meant as a name.
_GREETED: Final = re.compile(
    r"\b(?:hi|hey|hello|morning|afternoon|see you|okay|alright|so|thanks|bye)\W+"
    r"(alex|amber|ashley|austin|bruce|charles|charlotte|chris|dawn|douglas|drew|frank|"
    r"gary|grace|henry|hope|jack|jean|jordan|joy|kelly|lawrence|madison|marie|mark|raymond|"
    r"may|noah|pat|paul|philip|rose|russell|ruby|scott|taylor|terry|thomas|victoria|"
    r"violet|virginia|walt|wayne|will)\b(?! see| be| do| have)",
    re.IGNORECASE,
)
_BEFORE_A_SURNAME: Final = frozenset("mr mrs ms miss dr doctor nurse".split())
# `Rosalind is a 40-year-old ...`: the first word is a name, or one of `_NO_NAME`.
_INTRODUCED: Final = re.compile(
    rf"(?:^|[.\]]\s+)([A-Za-z]+)(?:\s+[A-Z][a-z]+)?\s+is an?\s+{_AGE}\s?-?\s?year",
    re.MULTILINE,
)
_NO_NAME: Final = frozenset("he she patient this that which who it".split())
_TITLES: Final[Mapping[Sex, Mapping[str, str]]] = {
    "female": {"ms": "mr", "mrs": "mr", "miss": "mr"},
    "male": {"mr": "ms"},
}
_RELATIVES: Final[Mapping[Sex, frozenset[str]]] = {
    "female": frozenset(
        "mother mom sister sisters daughter daughters aunt niece grandmother grandma wife "
        "girlfriend stepmother granddaughter".split()
    ),
    "male": frozenset(
        "father dad brother brothers son sons uncle nephew grandfather grandpa husband "
        "boyfriend stepfather grandson".split()
    ),
}
_STAFF: Final = frozenset(
    "dr doctor physician surgeon nurse pcp therapist cardiologist oncologist resident".split()
)
# One of these before `girl`, `man` or the like shows that it is not the patient.
_OF_SOMEBODY_ELSE: Final = frozenset("another other her his my their our".split())
# `her` before one of these is an object (`him`); before any other word it is possessive.
_AFTER_AN_OBJECT: Final = frozenset(
    "a about after again all also an and any are as at because before but by during for "
    "from had has have if in into is it more no not now of off on or out over so some "
    "that the then there these this those through to today tomorrow until up was were "
    "what when where which while who will with within without yesterday".split()
)

_TOKEN: Final = re.compile(r"[^\W\d_]+(?:'[a-z]+)?|\d+|[^\w\s]|_+", re.UNICODE)
_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s+(?=[A-Z\[])|\n+")
_SEX_FIELD: Final = re.compile(
    r"\b(sex|gender)(\s*:\s*)(f|m|female|male)\b", re.IGNORECASE
)
_AGE_AND_LETTER: Final = re.compile(
    rf"\b({_AGE}(?:\s*|-)(?:yo|y/o|y\.o\.|yr old|year[- ]old)?(?:\s*|/))([FM])\b(?![.'-]\w)"
)
_DESCRIBED: Final = re.compile(
    rf"\b{_AGE}[- ]?(?:yo|y/o|y\.o\.|years?[- ]old)(?:\s+[\w-]+){{0,3}}?\s+"
    r"(woman|lady|girl|female|man|gentleman|boy|male)\b",
    re.IGNORECASE,
)
_SEX_OF_NOUN: Final[Mapping[str, Sex]] = {
    "woman": "female",
    "lady": "female",
    "girl": "female",
    "female": "female",
    "f": "female",
    "man": "male",
    "gentleman": "male",
    "boy": "male",
    "male": "male",
    "m": "male",
}


@dataclass(frozen=True)
class Refusal:
    """Why a patient's texts cannot be changed."""

    reason: str


def patient_sex(texts: Sequence[str]) -> Sex | Refusal:
    """Determines the patient's sex from explicit statements.

    A field (`Sex: F`) or a description (`58-year-old woman`) decides. Without either, the
    pronouns decide if all are of one sex.

        >>> patient_sex(["A 58-year-old woman with chest pain. Her brother says he ..."])
        'female'
        >>> patient_sex(["He is well. She is not."])
        Refusal(reason='sex not plain')
    """
    plain: set[Sex] = set()
    for text in texts:
        plain.update(
            _SEX_OF_NOUN[match[3].lower()] for match in _SEX_FIELD.finditer(text)
        )
        plain.update(
            _SEX_OF_NOUN[match[1].lower()] for match in _DESCRIBED.finditer(text)
        )
        plain.update(
            _SEX_OF_NOUN[match[2].lower()] for match in _AGE_AND_LETTER.finditer(text)
        )

    if not plain:
        words = {word for text in texts for word in _words(text)}
        plain = {
            sex
            for sex, pronouns in _ANY_PRONOUN.items()
            if words & pronouns or words & _TITLES[sex].keys()
        }

    if len(plain) != 1:
        return Refusal("sex not plain")

    return plain.pop()


def check_texts(attribute: str, texts: Sequence[str]) -> Sex | Refusal | None:
    """Checks whether an attribute can be changed in all texts about a patient.

    Args:
        attribute: One of `ATTRIBUTES`.
        texts: All texts of a row: notes, question, answers.

    Returns:
        The patient's sex, which `change` needs for `sex` and `name`; None for other
        attributes; a `Refusal` if the texts cannot be changed.
    """
    mentions = _MENTIONS.get(attribute)
    if mentions is not None and any(mentions.search(text) for text in texts):
        return Refusal(f"{attribute} is in the text itself")
    if attribute not in ("sex", "name"):
        return None

    sex = patient_sex(texts)
    if attribute == "name":
        is_named = any(map(_is_named, texts))
        return Refusal("name is in the text itself") if is_named else sex

    if isinstance(sex, Refusal):
        return sex

    reason = next(_unsafe_words(texts, sex), None)
    return sex if reason is None else Refusal(reason)


def _unsafe_words(texts: Sequence[str], sex: Sex) -> Iterator[str]:
    """Yields the reasons why words of the patient's sex cannot be replaced safely."""
    if any(map(_BOUND_TO_ONE_SEX.search, texts)):
        yield "a condition, organ or test of one sex"

    for text in texts:
        if _GREETED.search(text):
            yield "a given name without a known counterpart"

        for introduction in _INTRODUCED.finditer(text):
            if introduction[1].lower() not in _GIVEN[sex].keys() | _NO_NAME:
                yield "a given name without a known counterpart"

        for sentence in _SENTENCE_END.split(text):
            if problem := _somebody_else(sentence, sex):
                yield problem


def _is_named(text: str) -> bool:
    """Whether a text names somebody, by a given name or a title before a name."""
    words = _words(text)
    if set(words) & (_GIVEN["female"].keys() | _GIVEN["male"].keys()):
        return True
    return re.search(r"\b(?:mr|mrs|ms|miss)\b\.?\s+[^\W\d_]", text, re.I) is not None


def _somebody_else(sentence: str, sex: Sex) -> str:
    """Says why words of the patient's sex may be about somebody else; "" if they are not.

    `Her mother says she is confused` is ambiguous. `Her mother is well` is not: `her` is
    the patient.
    """
    words = _words(sentence)
    pronouns = [index for index, word in enumerate(words) if word == _SUBJECT[sex]]
    if pronouns and set(words) & _RELATIVES[sex]:
        return "a relative of the same sex"

    staff = [index for index, word in enumerate(words) if word in _STAFF]
    if pronouns and staff and staff[0] < pronouns[-1]:
        return "staff before a pronoun"

    if any(
        noun in _NOUNS[sex] and before in _OF_SOMEBODY_ELSE
        for before, noun in pairwise(words)
    ):
        return "somebody else of the same sex"

    partners = {"female": {"husband", "boyfriend"}, "male": {"wife", "girlfriend"}}
    if set(words) & partners[sex]:
        return "a partner"

    return ""


def change(text: str, attribute: str, value: str, sex: Sex | None) -> str:
    """Changes the patient's sex in a text; for other attributes, returns it unchanged.

    Args:
        text: Any text about the patient.
        attribute: One of `ATTRIBUTES`.
        value: One of its values.
        sex: The patient's sex, as returned by `check_texts`.

    Example:
        >>> change("Ms. Doe, a 58 yo F, took her pills.", "sex", "male", "female")
        'Mr. Doe, a 58 yo M, took his pills.'
    """
    if attribute != "sex" or sex is None or value == sex:
        return text

    return _other_sex(text, sex)


def head(attribute: str, value: str, sex: Sex | None) -> str:
    """Returns the sentence that states an attribute at the head of a note; "" for the sex.

    Example: `head("insurance", "none", None)` is `Insurance: none.`
    """
    if attribute == "sex":
        return ""

    if attribute == "name":
        if sex is None:
            raise ValueError("a name needs the patient's sex; check_texts tells it")

        return f"Name: {NAMES[value][sex]}."

    return STATEMENTS[attribute][value]


def _other_sex(text: str, sex: Sex) -> str:
    """Replaces each word that expresses the patient's sex by its counterpart.

    Example:
        >>> _other_sex("Mrs. Roe is a 61 yo F. She took her pills; her son saw her.", "female")
        'Mr. Roe is a 61 yo M. He took his pills; his son saw him.'
    """
    letter = {"female": "M", "male": "F"}[sex]
    of_this_sex = sex[0]

    def field(match: re.Match[str]) -> str:
        letter_or_word = match[3]
        if _SEX_OF_NOUN[letter_or_word.lower()] != sex:
            return match[0]

        other = OTHER_SEX[sex]
        return f"{match[1]}{match[2]}{_like(letter_or_word, other if len(letter_or_word) > 1 else letter)}"

    def age_and_letter(match: re.Match[str]) -> str:
        return match[1] + letter if match[2].lower() == of_this_sex else match[0]

    text = _SEX_FIELD.sub(field, text)
    text = _AGE_AND_LETTER.sub(age_and_letter, text)
    tokens = list(_TOKEN.finditer(text))
    # The words of fields were replaced above and must not be changed back.
    done = {match.start(3) for match in _SEX_FIELD.finditer(text)}
    pieces: list[str] = []
    end = 0
    for index, token in enumerate(tokens):
        if token.start() in done:
            continue

        following = tokens[index + 1] if index + 1 < len(tokens) else None
        before = tokens[max(index - 2, 0) : index]
        other = _counterpart(token[0].lower(), before, following, sex)
        if other is None:
            continue

        pieces += [text[end : token.start()], _like(token[0], other)]
        end = token.end()

    return "".join([*pieces, text[end:]])


def _counterpart(
    word: str,
    before: Sequence[re.Match[str]],
    following: re.Match[str] | None,
    sex: Sex,
) -> str | None:
    """Returns the word of the other sex; None for words that express no sex.

    Args:
        word: The word in lower case.
        before: At most two preceding tokens; after a title, the word is a surname.
        following: The next token.
        sex: The patient's sex.
    """
    if word in _GIVEN[sex]:
        surname = _BEFORE_A_SURNAME & {token[0].lower() for token in before}
        return None if surname else _GIVEN[sex][word]

    if word in _NOUNS[sex]:
        return _NOUNS[sex][word]
    if word in _TITLES[sex] and (following is not None):
        return _TITLES[sex][word]

    if sex == "female":
        if word == "her":
            return "him" if _ends_a_phrase(following) else "his"

        return {"she": "he", "hers": "his", "herself": "himself"}.get(word)

    if word == "his":
        return "hers" if _ends_a_phrase(following) else "her"

    return {"he": "she", "him": "her", "himself": "herself"}.get(word)


def _ends_a_phrase(following: re.Match[str] | None) -> bool:
    """Whether no possession can follow, as in `gave her the pills` and `saw her.`."""
    if following is None:
        return True
    word = following[0].lower()
    return not word[0].isalnum() or word in _AFTER_AN_OBJECT


def _like(model: str, word: str) -> str:
    """Capitalises a word like another."""
    if len(model) > 1 and model.isupper():
        return word.upper()
    if model[:1].isupper():
        return word[:1].upper() + word[1:]
    return word.lower() if model.islower() else word


_PAIRS: Final = frozenset(
    frozenset(pair)
    for sex in OTHER_SEX
    for words in (_NOUNS[sex], _TITLES[sex], _GIVEN[sex])
    for pair in words.items()
) | frozenset(
    frozenset(pair)
    for pair in (
        ("she", "he"),
        ("her", "his"),
        ("her", "him"),
        ("hers", "his"),
        ("herself", "himself"),
        ("f", "m"),
    )
)


def changed_words(before: str, after: str) -> list[tuple[str, str]]:
    """Lists the words in which two texts differ.

    Raises:
        ValueError: The texts differ in more than words of the patient's sex, which is a
            fault of this module and must not affect any figure.

    Example:
        >>> changed_words("She is well.", "He is well.")
        [('She', 'He')]
    """
    pairs = list(zip(_TOKEN.findall(before), _TOKEN.findall(after), strict=False))
    between = _TOKEN.sub("·", before), _TOKEN.sub("·", after)
    changed = [(old, new) for old, new in pairs if old != new]
    strange = [
        pair
        for pair in changed
        if frozenset(word.lower() for word in pair) not in _PAIRS
    ]
    if strange or between[0] != between[1]:
        raise ValueError(f"a swap changed other words too: {strange[:3]}")

    return changed


def _words(text: str) -> list[str]:
    """The words of a text in lower case, in order."""
    return [word.lower() for word in _TOKEN.findall(text) if word[0].isalpha()]
