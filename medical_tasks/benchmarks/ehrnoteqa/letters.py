"""Which choice an answer takes, read by rules and without a judge.

Medicine is full of letters that are no choices (vitamin D, hepatitis B, E. coli, stage C, "A patient"), and answers are full of
choices that they do not take. The five steps of docs/ehrnoteqa.md ("The letter") are the sections of this module. What is not
sure is None, which scores as wrong. The words known are English. Every step takes linear time.
"""

from __future__ import annotations

import bisect
import functools
import itertools
import re
import string
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from medical_tasks.scoring.reasoning import spoken


@dataclass(frozen=True)
class Letter:
    """A choice that an answer takes."""

    letter: str
    why: str


def read_letter(text: str, choices: Sequence[str]) -> Letter | None:
    """Reads the choice that an answer takes.

    Returns the letter and the rule, or None when the answer takes none, or several.
    """
    if not choices:
        return None
    reading = _Answer(_mentions(_plain(spoken(text)), tuple(choices)))
    found = reading.choice()
    if found is not None:
        return Letter(string.ascii_uppercase[found[0]], found[1])
    by_text = (
        None
        if reading.claimed
        else reading.only_text([(len(words), len(" ".join(words))) for words in map(_words, choices)])
    )
    return None if by_text is None else Letter(string.ascii_uppercase[by_text], "the only choice whose text it has")


# ---- 1. Plain text ----

_SIGNS: Final[dict[int, str]] = {
    ord(sign): instead
    for signs, instead in (
        ("’‘", "'"), ("“”\"`*${~", ""), ("\r}", "\n"), ("[（【", "("), ("]）】", ")"), ("_\t\u00a0", " "), ("。．", ". "),
        ("，、", ", "), ("：", ": "), ("→⇒➡", ": "), ("✅✔☑", " correct: "), ("❌✗✘✖", " incorrect "),
    )
    for sign in signs
}  # fmt: skip
# Ⓐ ⓐ ⒜ 🄐 🄰 🅐 🅰 and the letters of flags.
_CIRCLED: Final[dict[int, str]] = {
    start + place: f"({letter})"
    for start in (0x24B6, 0x24D0, 0x249C, 0x1F110, 0x1F130, 0x1F150, 0x1F170, 0x1F1E6)
    for place, letter in enumerate(string.ascii_uppercase)
}
_UNSEEN: Final = re.compile("[\\0\u200b-\u200f\u2060\ufe0e\ufe0f\ufeff\ue000-\uf8ff]")
_STRUCK: Final = re.compile(r"~~[^~\n]{1,400}~~|<(?:del|s)>[^<\n]{1,400}</(?:del|s)>", re.I)
_TURN: Final = re.compile(r"<\|[A-Za-z_]{1,30}\|>|</?s>|<(?:start|end)_of_turn>|<br ?/?>", re.I)
_BOXED: Final = re.compile(r"\\(?:boxed|fbox|framebox)\s{0,4}\{")
_LATEX: Final = re.compile(r"\\(?:[a-zA-Z]{1,20}\b\s{0,4}|[()\[\],;!])")
_TAG: Final = re.compile(r"<(/?)(?:(?:final|correct|my|selected)[ _])?(answer|choice|option|letter|response)>", re.I)
_HTML: Final = re.compile(r"</?(?:b|i|u|em|strong|span|mark|p|div|code|h[1-6])(?: [^<>\n]{0,80})?>", re.I)
_BULLET: Final = re.compile(r"(?:^|(?<=\n))(?:(?:[-•>+]|#{1,6}) )+")
_QUOTE: Final = re.compile(r"(?<!\w)'|'(?!\w)")


def _plain(answer: str) -> str:
    text = _TURN.sub("\n", _STRUCK.sub("", _UNSEEN.sub("", answer))).translate(_CIRCLED)
    text = text.replace('","', '", "').replace('":"', '": "')
    text = _LATEX.sub("", _BOXED.sub("\nboxed answer: {", unicodedata.normalize("NFKC", text)))
    text = _HTML.sub("", _TAG.sub(lambda tag: "\n" if tag[1] else "\nanswer: ", text))
    text = re.sub(" {2,}", " ", _QUOTE.sub("", text.translate(_SIGNS)))
    text = _BULLET.sub("", re.sub(r" ?(?:\n ?)+", "\n", text.strip()))
    for sign in ".,:)":
        text = text.replace(f" {sign}", sign)
    return text.replace("( ", "(")


# ---- 2. Mentions ----
# A mention is one sign: a letter of the first block, the whole text of a choice of the second, or, of the third, one or two words
# that are a choice's text and stand in a sentence that goes on. `_SET_ASIDE` takes the place of what is not taken.

_LETTER0, _TEXT0, _PASSING0 = 0xE000, 0xE100, 0xE200
_L, _T, _P, _SET_ASIDE = "[\ue000-\ue019]", "[\ue100-\ue119]", "[\ue200-\ue219]", "\ue300"
_M = "[\ue000-\ue019\ue100-\ue119]"
_LONG: Final = 3  # words from which a text does not stand in an answer by chance

# What is written with one letter and a point, before a capital as well: genus and species, rhythms of the heart.
_NAMES = (
    "coli diff difficile fib flutter jejuni albicans faecalis faecium cloacae baumannii pertussis cereus fumigatus fragilis "
    "burgdorferi perfringens trachomatis glabrata auris tetani botulinum neoformans histolytica dimer section"
).replace(" ", "|")
# Words that may stand behind a letter; others make it the beginning of a name (`E coli`, `B cell`) or an article.
_GOES_ON = (
    "because since as which that due based with given for and or but so according per in from above here only alone "
    "instead rather this the it is isn't was wasn't are would could should may might can cannot can't does doesn't "
    "has over than to through not if unless then best most better fits fit matches match seems looks appears remains "
    "wins makes gets being correct incorrect wrong too also among versus vs when while leaves beats says states means refers "
    "stands lists mentions claims describes names accurately correctly closely directly clearly out captures answers reflects"
).replace(" ", "|")
_WORD: Final = re.compile(r"[0-9]+(?:\.[0-9]+)+|[^\W_]+")
_OPTION = r"(?:(?:the |my )?(?:answer |option |choice |letter |statement )(?:choice |option )?)"
_ENDED: Final = re.compile(r"$|[.,;:)\n!?]| \(| (?:because|since|as|based|according|per|over|rather|instead)\b|-|–|—")


@functools.lru_cache(maxsize=64)
def _patterns(choices: tuple[str, ...]) -> tuple[re.Pattern[str], re.Pattern[str] | None]:
    """What finds letters and texts; two choices of one text have none."""
    last = string.ascii_uppercase[len(choices) - 1]
    letter = re.compile(
        rf"(?:(?<![\w'.&/+%°-])|(?<=[A-{last}]/))(?:[A-{last}](?=\)|$|[\n|=?]|\.\.|/[A-{last}]\b|:|\.(?:$|[\n()]"
        rf"| ?[\ue100-\ue219]| (?!(?:{_NAMES}|{_NAMES.title()})\b)[^a-z\s]| (?:{_GOES_ON})\b)|[,;!](?:[ \n)]|$)"
        rf"|,? (?:{_GOES_ON})\b| ?[|(=>\ue100-\ue119]| ?[-–—](?!\w))|(?:(?<=\()|(?<![^\n])|(?<=[:=] )|(?<=\bis )|(?<=ption )"
        rf"|(?<=nswer )|(?<=hoice )|(?<=etter )|(?<=hoose ))[a-{last.lower()}](?=\)|[.!;]?(?:$|\n)|[.:]? ?[\ue100-\ue119]"
        rf"|\. [A-Z]|, ))"
    )
    words = [_words(choice) for choice in choices]
    known = [number for number, text in enumerate(words) if words.count(text) == 1 and len("".join(text)) > 1]
    parts = []
    for number in sorted(known, key=lambda number: -len(" ".join(words[number]))):
        article = len(words[number]) > 2 and words[number][0] in ("a", "an", "the")
        text = "[\\W_]{1,4}".join(map(re.escape, words[number][article:]))
        parts.append(f"(?P<{string.ascii_uppercase[number]}>{f'(?:{words[number][0]} )?' if article else ''}{text})")
    if not parts:
        return letter, None
    return letter, re.compile(rf"(?<![^\W_])(?<![0-9]\.)(?:{'|'.join(parts)})(?![^\W_]|\.[0-9])", re.I)


def _words(choice: str) -> list[str]:
    return _WORD.findall(unicodedata.normalize("NFKC", choice).lower())


def _mentions(text: str, choices: tuple[str, ...]) -> str:
    letter, whole = _patterns(choices)

    def text_sign(match: re.Match[str]) -> str:
        number = ord(str(match.lastgroup)) - ord("A")
        ended = len(_words(choices[number])) >= _LONG or _ENDED.match(match.string, match.end())
        return chr((_TEXT0 if ended else _PASSING0) + number)

    text = whole.sub(text_sign, text) if whole else text
    text = letter.sub(lambda match: chr(_LETTER0 + ord(match[0].upper()) - ord("A")), text)
    text = _IN_BRACKETS.sub(r"\1", text)
    for pattern in (_LETTER_TEXT, _TEXT_LETTER):
        text = pattern.sub(
            lambda both: f"{min(both[1], both[2])}," if _number(both[1]) == _number(both[2]) else both[0], text
        )
    return text


def _number(sign: str) -> int:
    return ord(sign) & 31


_IN_BRACKETS: Final = re.compile(rf"\((?:{_OPTION})?({_M})\)", re.I)
# A letter and its own text, in either order.
_LETTER_TEXT: Final = re.compile(rf"({_L})[\s.:,;|=(–—-]{{0,5}}(?:(?:an?|the) )?({_T}|{_P})\)?", re.I)
_TEXT_LETTER: Final = re.compile(rf"({_T}|{_P})[\s.:,;(–—-]{{0,4}}(?:{_OPTION})?({_L})(?!\w)\)?", re.I)


# ---- 3. Claims ----

_WEAK, _PLAINLY, _CONCLUDED, _FINALLY = range(4)

# The parts of the grammar, by the names that patterns have them under.
_PARTS: Final = {
    "M": _M,
    "T": _T,
    "ASIDE": _SET_ASIDE,
    "OPTION": _OPTION,
    "WHO": r"(?P<who><M>(?:<JOIN><M><LIST_END>|,? or (?:maybe |even )?<OPTION>?<M>|[ .:,;(–—-]{0,4}<T>(?=[.)\n]|$)){0,25}+)",
    "JOIN": r"(?:\)?[ \n]?[,;/|&+]? ?(?:\(?(?:and|or|and/or|plus|possibly|maybe|perhaps|also|even|either|both|then"
    r"|too),?\)? ){0,3}\(?<OPTION>?)",
    "LIST_END": r"(?=$|[,;!?)\n/|&+\ue000-\ue119]|\.(?!\w)|,? (?:and|or|are|both|together|because|since|as|depending)\b)",
    "START": r"(?:^|(?<=[\n.,;:!?(–—-])|(?<=[.,;:!?–—-] )|(?<= and )|(?<= but )|(?<= so ))",
    "LED": r"(?:(?<![^\n])|(?<=[.,;:!?(–—-])|(?<=[.,;:!?–—-] )|(?<=both )|(?<=either )|(?<=option )|(?<=choice )|(?<=answer )"
    r"|(?<=letter )|(?<=statement )|(?<=so )|(?<=therefore )|(?<=thus )|(?<=hence )|(?<=that )|(?<=think )|(?<=believe )"
    r"|(?<=conclude )|(?<=and )|(?<=while )|(?<=but )|(?<=only )|(?<=then )|(?<=clearly )|(?<=like )|(?<=leaves )"
    r"|(?<=leaving )|(?<=says ))",
    "QUALITY": "(?:correct|right|best|final|chosen|selected|appropriate|accurate|likely|suitable|only|preferred|my|boxed|better"
    "|ideal)(?: supported| fitting| matching| possible| available)?",
    "NOUN": "(?:option|choice|selection|letter|response|one|answers?|pick|solution|verdict|conclusion|vote|prediction)",
    "SUBJECT": r"\b(?:(?:answers?|ans\.?(?= ?[:=\ue000-\ue119]))(?: choice| option| letter)?|<QUALITY> <NOUN>"
    r"|(?<=\bthe )(?:(?:best|correct|right)(?= is)|(?:option|choice|one|statement)(?= that| which| supported| described))"
    r"|<START>(?:<NOUN>|final|selected|correct|result)(?= ?[:=]))(?!\w)(?: <ASIDE>)?",
    "DENYING": r"(?:\b(?:not|never|least|worst|incorrect|wrong|unlikely)\b|n't\b)",
    "ABOUT": r"(?:,? (?:therefore|thus|then|hence|in this case),?|,? (?:to|for|among|from|of|based|according|in|given|here"
    r"|regarding|about|supported|after|by|on|with)\b[^.:;?!\n\ue000-\ue119]{0,120}?|,? (?:that"
    r"|which)\b(?:(?!<DENYING>)[^.:;?!\n\ue000-\ue119]){0,120}?)",
    "BE": r"(?:(?:, i (?:believe|think|would say),)? (?:is|are|was|would be|would have to be|should be|will be|must be"
    r"|has to be|can only be|appears to be|seems to be|remains|becomes)\b|\.? ?[:=]| [-–—])",
    "FILL": r"(?:[ \n:]{0,2}(?:(?:(?!possibl|partial|unlike)[a-z]{1,20}ly|most likely|indeed|therefore|thus|as follows"
    r"|none other than|best (?:given|represented|described|captured) (?:by|in|as)|either|both|the|that|correct|best|right"
    r"|options?|choices?|letter|answer|number|given by|with|still|now|just"
    r"|<ASIDE>,? but(?: rather)?)\b[:,]?)){0,6}[ \n:(]{0,3}",
    "ADVERBS": r"(?: (?!(?:not|never|hardly|in|no|second|least|wrong|barely|partly|far|almost|nearly|perhaps|maybe|sometimes)\b"
    r"|un|possibl|potential|partial|supposed|alleged)[a-z]+){0,4}?",
    "REST": r"(?=$|[.,;:!)\n(]| (?:answer|choice|option|one|response|because|since|as|based|given|here|and|but|while|over|only"
    r"|if|unless|according|per|from|in|for|when|provided|<ASIDE>)\b)",
    "TAKE": r"(?:take|put me down for|choos(?:e|ing)|select(?:ing)?|pick(?:ing)?|go(?:ing)?(?: with| for)?|opting for|mark)",
    "SURELY": r"(?:definitely|certainly|probably|most likely|surely|clearly|obviously|indeed|actually)",
}


def _pattern(written: str) -> re.Pattern[str]:
    while (filled := re.sub("<([A-Z_]+)>", lambda part: _PARTS[part[1]], written)) != written:
        written = filled
    return re.compile(written, re.IGNORECASE)


_LEADING: Final = "the answer begins with it"
_STRENGTHS: Final = {"named in conclusion": _CONCLUDED, "said to match": _WEAK, "called better": _WEAK}
_CLAIMS: Final = tuple(
    (why, _STRENGTHS.get(why, _PLAINLY), _pattern(written))
    for why, written in (
        ("named as the answer", r"<SUBJECT><ABOUT>?<BE><FILL><WHO>"),
        ("named as the answer", r"<SUBJECT>(?: ?\n|,? )<OPTION>?\(?<WHO>(?=[.;!)]?(?:$|\n)|[.;!] )"),
        (
            "chosen by the model",
            r"(?:\b(?:i(?:'d|'ll|'m)?|we|let's|let me)(?: (?:would|will|should|must|therefore|thus|am|have to|can|do|strongly"
            r"|going to)){0,3} (?:chose|selected|picked|answer|say|conclude|prefer|favou?r|settle on|lean towards?"
            r"|vote(?: for)?|opt for|meant?|<TAKE>)|(?:(?<![^\n])|(?<=[.:;,!] )|(?<=,))<TAKE>)\b<FILL><WHO>(?! (?:is|was|would"
            r"|seems)\b)",
        ),
        (
            "named",
            r"<LED>(?:(?:<SURELY>|yes|no)[,:.]? ?){0,2}(?:(?:it|this|that)(?:'s|'d be| is| must be| should be| has to be"
            r"| can only be| would be)|(?:this |that |which |,)?leav(?:es|ing)(?: us with)?|we are left with"
            r"|(?:must|gotta|got to) be|(?:my )?vote goes to|<ASIDE>,? but|(?:yes|no)[,:]"
            r"|<SURELY>[,:]?)<FILL><WHO>(?! (?:is|was)\b)",
        ),
        (
            "called correct",
            r"<LED>\(?<WHO>\)?(?: alone)?(?:,? \([^()\n]{1,300}\),?|, [^,.;\n\ue000-\ue119]{1,200},)?(?:,? (?:and |are )?(?:is"
            r"|are|would be|must be|has to be|seems|appears|remains|looks|stands out as|being)(?: both)?<ADVERBS> (?:(?:correct"
            r"|right|accurate|true)<REST>|(?:the|my)(?: (?:final|clear|only|correct|right|single))? (?:answer|choice|pick"
            r"|selection|one|winner)\b(?! to low)|(?:best|most [a-z]+|only [a-z]+|accurate|true|preferred|ideal|suitable"
            r"|consistent|correct|right|appropriate|likely)(?: [a-z]+)? (?:answer|choice|option|fit|match|response|one"
            r"|explanation|candidate|statement)\b|best\b(?=$|[.,;!\n)]))| it is\b| (?:wins|makes the most sense|gets my vote"
            r"|for sure|is what (?:the notes?|they) \w+|is what i (?:would |'d )?(?:choose|pick|select|answer)))",
        ),
        (
            "named in conclusion",
            r"<START>(?:therefore|thus|hence|so|in conclusion|to conclude|conclusion|finally|in summary|overall|ergo"
            r"|consequently|ultimately|by elimination|in short|in the end)\b[,:]?(?: (?:it is|it's|this is|that is"
            r"|it must be))? <OPTION>?\(?<WHO>(?=[).;!,\n]|$| (?:because|since|as|over|<ASIDE>))",
        ),
        (
            _LEADING,
            r"\A<OPTION>?\(?<WHO>(?=$|[.;!)\n|]|:(?! ?(?:<M>|true\b))| ?[-–—(]|,(?! which)|,? ?<ASIDE>| (?:because|since|over"
            r"|it is|correct))",
        ),
        (
            "named alone",
            r"(?:(?<=[?.!] )(?:or )?|(?<=[^\ue000-\ue119\n], )|(?<=<ASIDE>: ))<OPTION>?\(?<WHO>\)?[.!]?(?=$|\n)",
        ),
        (
            "called correct",
            r"\bmak(?:es|ing) <OPTION>?<WHO> (?:the )?(?:only |best |most \w+ )?(?:correct|right|best|answer)\b",
        ),
        ("said to be possible too", r"\b(?:could|might|may) (?:also|equally|just as well) be <OPTION>?<WHO>"),
        (
            "said to match",
            r"\b(?:correspond(?:s|ing)?|match(?:es|ing)?|align(?:s|ed|ing)?|consistent|equivalent|identical|fits?|indicates?"
            r"|supports?|points?|(?:this|that|which|it|what [^,.;\n\ue000-\ue119]{1,60}) is|it's|must be|would be)(?: (?:best"
            r"|most|closely|exactly|clearly|to|with|the|in|by)){0,4} (?:option|choice|answer) <WHO>",
        ),
        (
            "said to match",
            r"<LED><WHO> (?:(?:is|does)(?=[.!]?(?:$|\n))|is (?:consistent with|more (?:likely|plausible|probable))\b"
            r"|is (?:the |best |better |directly |clearly |fully |most ){0,3}supported|(?:best|most closely|most accurately"
            r"|accurately|correctly|closely) (?:match|fit|describe|reflect|represent|answer|capture|align|summari[sz]e"
            r"|correspond)\w*|(?:matches|fits|aligns) )",
        ),
        (
            "said to match",
            r"\b(?:supports?|points? to|favou?rs?|indicates?|leaves?|leaving|leads? to"
            r"|confirms?)(?: us with)?(?: only)? <OPTION>?<WHO>(?=$|[.,;!\n]| as\b)",
        ),
        (
            "called better",
            r"<LED><WHO> (?:(?:is|seems|looks|fits|matches)(?: the notes)? (?:better|preferable|superior|stronger|more [a-z]+"
            r"|best)(?: supported)?|beats) (?:(?:than|to) )?<OPTION>?(?:<M>|<ASIDE>)",
        ),
    )
)


# ---- 4. No claim ----

_PARTS["COMMAS"] = r"(?:\)?[,;/|] ?\(?<OPTION>?<M>\)?)"
_PARTS["LISTED"] = r"(?:<COMMAS>{0,25},? (?:and|or|to|through|&|versus|vs\.?) \(?<OPTION>?<M>\)?)"
_ASIDE: Final = _pattern(
    r"(?:\b(?:options|choices|letters|alternatives|candidates|possibilities|of|among|amongst|from|between|at|considering"
    r"|comparing|weighing|eliminat\w+|exclud\w+|rul(?:ed|ing) out|reject\w*|dismiss\w*)[:,]? \(?<OPTION>?<M>\)?(?:<LISTED>"
    r"|<COMMAS>{1,25}+(?=[).;\n]|, [^\ue000-\ue119]))|(?:\b(?:rather than|instead of|not|over|as opposed to|unlike|except"
    r"|(?:everything|anything|all) but|(?<!no )(?<!none )other than|(?<!other )than|compared (?:to|with)|against|neither|nor)"
    r"|n't) \(?<OPTION>?<M>\)?<LISTED>?|(?<=prefer <M> )to <OPTION>?<M>)"
)
_CLAUSE_END: Final = _pattern(r"[.,;:!?\n]|\b(?:so|therefore|thus|hence|because|but|and|consequently)\b")
_SURE: Final = _pattern(r"\b(?:no|without|not) (?:a )?(?:doubt|question)|n't doubt|\bnot only\b")
_NEGATION: Final = _pattern(
    r"\b(?:not|never|nor|neither|cannot|whether|why|wrong(?:ly)?|incorrect(?:ly)?|false|least|worst|unlikely|hardly|previous"
    r"|rejected|mistakenly|tempting|tempted|initially|at first|might|may|could|perhaps|maybe|possibly|almost|doubt|nothing"
    r"|against|no (?:way|chance|evidence|reason|indication|support))\b|n't\b"
)
_OTHERS: Final = _pattern(
    r"\b(?:some|others|one|many|most|people|you|he|she|they|(?:an?|the|another|some|most|many) (?:people|students?|residents?"
    r"|readers?|colleagues?|clinicians?|models?|nurses?|doctors?|physicians?|patients?|team|family)) (?:(?:might|may|could"
    r"|would|also|first|initially) ){0,2}(?:be tempted to )?(?:say|said|says|think|thinks|thought|argue[sd]?|believe[sd]?"
    r"|choose|chose|pick(?:ed)?|answer(?:ed)?|select(?:ed)?|assume[sd]?|claim(?:ed|s)?|suggest(?:ed|s)?)\b|'s (?:previous "
    r"|first )?(?:answer|choice|pick)\b"
)
_SUPPOSED: Final = _pattern(
    r"(?:^|[,;:(] ?|\b(?:but|and|so|then|or|only|that|let's|let us) )(?:if|unless|suppos(?:e|ing)|assum(?:e|ing)|provided"
    r"|imagine|in (?:that )?case|on the assumption|otherwise|in the (?:event|absence|presence))\b(?! (?:i|we)(?: am| are|'m"
    r"| was| were)? (?:not mistaken|right|understand|read|had to|have to|must|forced|were to|need)| (?:forced|pressed|pushed"
    r"|asked))|^(?:had|were|should)\b|^(?:with|for|in)\b.*\bwould\b|^without\b(?! (?:further|hesitation|any|more|much))"
    r"|^when(?:ever)?\b(?! \w+ing| (?:i|we))"
)
_SUPPOSED_BEHIND: Final = _pattern(
    r"\)?[ ,(]{0,2}(?:but |and )?(?:only |even )?(?:possibly|maybe|perhaps|(?:in|for) (?:an?|another|other|some) \w+|if"
    r"|unless|provided|assuming|in case|when|whenever|supposing|(?:had|were) (?:the|it|s?he|they|there))\b"
)
_REFUTED: Final = _pattern(
    r"\)?[\s.,:;!<–—-]{0,5}\(?(?:i take (?:that|it) back|never ?mind|(?:scratch|strike|ignore|forget) (?:that|it)|(?:(?:no"
    r"|wait|actually|hmm+|sorry|hold on|oops)[,.!:]? ){0,3}(?:(?:which|that|this|it|i) ?(?:'s|'m)? ?)?(?:(?:is|was|am"
    r"|would be|has been|can be|seems) )?(?:also |clearly |definitely )?(?:(?:incorrect|wrong|false|mistaken|a mistake"
    r"|an error|ruled out|excluded|eliminated|unlikely|unsupported|refuted|contradicted|rejected|out|not (?:correct|right"
    r"|true|supported|documented|mentioned|listed|possible|it|the (?:correct|right|best)))(?=$|[.,;!)\n]| (?:because|since|as"
    r"|by|here|answer|choice|option)\b)|no(?=$|[.,;!)\n]| wait)|made (?:a mistake|an error)))"
)
_DENIED_TEXT: Final = _pattern(
    r"(?:[:–—-] ?)?[^.;:!?\n,]{0,40}?(?:\b(?:not|never|cannot|would|could|might|may|if|declined|refused|disagree|nowhere"
    r"|incorrect|wrong|false|untrue|unlikely|excluded|ruled out|denied|absent|unsupported|inaccurate|refuted|contradicted"
    r"|rejected|doubtful|unclear|unknown|impossible|missing|no (?:longer|evidence|mention))\b|n't\b)"
)
_DENIES_TEXT: Final = _pattern(
    r"\b(?:not|no|never|nor|neither|cannot|without|den(?:y|ie[sd])|nothing|none|nobody|refute[sd]?|dispute[sd]?|absence|false"
    r"|untrue|nowhere|refus\w+|declin\w+|doubt\w*|unclear|unlikely|lack(?:s|ed|ing)?|ruled out|excluded|wrong|incorrect"
    r"|unlike|than|instead of|if|whether|unless|might|may|could|perhaps|maybe|possibly|why|negative for)\b|n't\b"
)
_TEXT_CLAUSE: Final = _pattern(
    r"[.;:!?\n]|\b(?:but|however|although|though|so|therefore|because|since|instead|which|while)\b"
)
_YES: Final = _pattern(
    r"(?:yes|yeah|yep|correct|right|indeed|exactly|definitely|certainly|absolutely|it is|that is (?:right|correct))\b"
)
_PARTS["TURNING"] = (
    r"(?:no(?=[,.:;!–—-]| wait)|wait|actually|correction|sorry|or rather|rather|i meant?|hold on|hmm+|oops|scratch that"
    r"|make that|strike that|edit|update|on (?:second |further |closer )?(?:thought|reflection|look|reading|inspection)"
    r"|let me (?:correct|revise|reconsider|rephrase)|i (?:was|am) (?:wrong|mistaken)|i made (?:a mistake|an error)|my mistake"
    r"|apologies|i (?:retract|revise|change my)|correct(?:ed|ing)|instead|updated|revised)\b"
)
_TURNED: Final = _pattern(r"<START><TURNING>[^\ue000-\ue119\n]{0,80}\Z")
_CORRECTION: Final = _pattern(
    r"<START>(?:<TURNING>(?: that| myself| my answer| answer)?[,.:;!–— -]{1,4}){1,4}(?:i meant? |make (?:it|that) |(?:it "
    r"|that )?should be |it is |it's |rather |to )?<OPTION>?\(?<WHO>(?=$|[).;:!\n,?]| (?:because|since|as))"
)
_FINAL: Final = _pattern(r"\b(?:final|finally|boxed)\b")
_CONCLUDING: Final = _pattern(
    r"\b(?:therefore|thus|hence|so|in conclusion|to conclude|conclusion|in summary|overall|ultimately|consequently)\b"
)
_VERDICT_LINE: Final = _pattern(
    r"[| ]{0,3}(?:option |choice )?(<M>)(?: ?[:.)|]| [-–—]).{0,400}?(?<![\w'])(not correct|not supported|incorrect|correct"
    r"|wrong|right|yes|no|true|false)[ .!:)|]{0,4}"
)
_VERDICT_PARTS: Final = re.compile(rf"(?:[^\n,;]|[,;](?! {_L}:))+")
_SENTENCE_END: Final = re.compile(r"[.!?;]+(?=\s|$)|\n")
_ONLY_MENTIONS: Final = _pattern(r"(?:<M>|[\s.,;/|+&()?-]|\b(?:and|or|also|possibly|maybe|perhaps|both|then)\b)+")
_LABEL: Final = _pattern(r"<OPTION>?\(?([\ue000-\ue019])(?=$|[).:|]| [-–—|])")
_LABEL_ALONE: Final = _pattern(r"<OPTION>?\(?(<M>)[\s().,:;|–—-]*")
_BEFORE: Final = 200
_SHORT_ANSWER: Final = 25  # words
_SHORTEST_TEXT: Final = 4  # letters


# ---- 5. The choice ----


@dataclass(frozen=True)
class _Claim:
    """What an answer says at one place: the choices it takes, the rule, how strongly, and whether it takes back what was said."""

    place: int
    taken: frozenset[int]
    why: str
    strength: int
    corrects: bool = False


class _Answer:
    def __init__(self, text: str) -> None:
        if text[:2] == f"{chr(_LETTER0)}:" and self._label_of_answer(text[2:]):
            text = f"answer:{text[2:]}"
        text = re.sub(r"\A(?:q|question): [^\n]{1,2000}?\s\ue000:", "answer:", text, flags=re.I)
        self.text = _ASIDE.sub(_SET_ASIDE, _SURE.sub("surely", text))
        self._ends = [0, *(end.end() for end in _SENTENCE_END.finditer(self.text)), len(self.text) + 1]
        self.claimed = False

    def choice(self) -> tuple[int, str] | None:
        """The number of the one choice that is taken, and why."""
        if self._only_lists():
            self.claimed = True
            return None
        found = sorted(self._claims(), key=lambda claim: claim.place)
        claims = [claim for claim in found if claim.strength] or found
        self.claimed = bool(claims)
        last = max((place for place, claim in enumerate(claims) if claim.corrects), default=0)
        claims = claims[last:]
        strongest = max((claim.strength for claim in claims), default=0)
        first = next((place for place, claim in enumerate(claims) if claim.strength == strongest), 0)
        taken = frozenset[int]().union(*(claim.taken for claim in claims[first:]))
        return (min(taken), claims[first].why) if len(taken) == 1 else None

    def _claims(self) -> Iterator[_Claim]:
        enumerated = self._enumerates()
        for why, strength, pattern in _CLAIMS:
            for match in pattern.finditer(self.text):
                if why == _LEADING and enumerated:
                    continue
                if self._stands(match):
                    yield self._claim(match, why, strength)
        for match in _CORRECTION.finditer(self.text):
            if self._stands(match):
                yield _Claim(match.start(), _taken(match["who"]), "corrected", _PLAINLY, corrects=True)
        yield from self._confirmed()
        yield from self._by_verdicts()
        yield from self._last_line()

    def _claim(self, match: re.Match[str], why: str, strength: int) -> _Claim:
        before = self.text[max(0, match.start() - _BEFORE) : match.start()]
        said = self._sentence_before(match.start()) + self.text[match.start() : match.start("who")]
        if strength == _PLAINLY:
            strength = _FINALLY if _FINAL.search(said) else _CONCLUDED if _CONCLUDING.search(said) else _PLAINLY
        return _Claim(match.start(), _taken(match["who"]), why, strength, corrects=bool(_TURNED.search(before)))

    def _stands(self, match: re.Match[str]) -> bool:
        """Whether what a form of words takes is meant: not denied, supposed, asked, hedged or thought by somebody else."""
        sentence = self._sentence_before(match.start())
        ends = [end.end() for end in _CLAUSE_END.finditer(sentence)]
        clause = sentence[ends[-1] :] if ends else sentence
        return not (
            _NEGATION.search(clause)
            or _OTHERS.search(clause + match[0])
            or _SUPPOSED.search(sentence + match[0])
            or _SUPPOSED_BEHIND.match(self.text, match.end())
            or _REFUTED.match(self.text, match.end())
            or self._asked(match.end())
            or (match["who"][-1] >= chr(_TEXT0) and _DENIED_TEXT.match(self.text, match.end()))
        )

    def _sentence_before(self, place: int) -> str:
        return self.text[max(self._sentence_start(place), place - _BEFORE) : place].lstrip()

    def _sentence_start(self, place: int) -> int:
        return self._ends[bisect.bisect_right(self._ends, place) - 1]

    def _sentence_end(self, place: int) -> int:
        return self._ends[bisect.bisect_left(self._ends, max(place, 1))]

    def _asked(self, place: int) -> bool:
        end = self._sentence_end(place)
        return "?" in self.text[max(place, end - 4) : end]

    def _confirmed(self) -> Iterator[_Claim]:
        """A choice that is asked about and then affirmed: `Is it D? Yes.`, or so."""
        for start, end in itertools.pairwise(self._ends):
            asked = self.text[start:end]
            if "?" in asked[-4:] and _YES.match(self.text[end : end + 20].lstrip()):
                taken = _taken(asked)
                if len(taken) == 1:
                    yield _Claim(start, taken, "asked and confirmed", _PLAINLY)

    def _by_verdicts(self) -> Iterator[_Claim]:
        """The one choice that is called right where each has a line that says whether it is."""
        right: dict[int, int] = {}
        told = set()
        for part in _VERDICT_PARTS.finditer(self.text):
            match = _VERDICT_LINE.fullmatch(part[0])
            if match:
                told.add(_number(match[1]))
                denied = _NEGATION.search(part[0][max(0, match.start(2) - 12) : match.start(2)])
                if match[2].lower() in ("correct", "right", "yes", "true") and not denied:
                    right[_number(match[1])] = part.start()
        if len(told) > 2 and len(right) == 1:
            ((number, place),) = right.items()
            yield _Claim(place, frozenset((number,)), "called correct", _PLAINLY)

    def _last_line(self) -> Iterator[_Claim]:
        """A letter alone in the last line; behind lines that go through the choices it repeats one of them."""
        *before, line = self.text.split("\n")
        alone = _LABEL_ALONE.fullmatch(line)
        if before and alone:
            labels = {label[1] for other in before if (label := _LABEL.match(other))}
            if labels <= {alone[1]} or (alone[1] in labels and len(labels) > 2):
                yield _Claim(len(self.text) - len(line), _taken(alone[1]), "the last line", _WEAK)

    def _only_lists(self) -> bool:
        """Whether the answer is nothing but different choices, in a line or in lines."""
        return len(_taken(self.text)) > 1 and (
            _ONLY_MENTIONS.fullmatch(self.text) is not None
            or all(_LABEL_ALONE.fullmatch(line) for line in self.text.split("\n", 30))
        )

    def _enumerates(self) -> bool:
        """Whether the answer begins by going through the choices one by one."""
        first, _, rest = self.text.partition("\n")
        label, following = _LABEL.match(first), _LABEL.match(rest)
        inline = re.search(rf"[ (]{chr(_LETTER0 + 1)}[.:)]", first)
        return bool(label and _number(label[1]) == 0 and (inline or (following and _number(following[1]) == 1)))

    @staticmethod
    def _label_of_answer(rest: str) -> bool:
        """Whether `A:` that begins an answer stands for the word: behind it is a letter alone, or the text of another choice."""
        line = rest.partition("\n")[0]
        texts = {_number(sign) for sign in re.findall(f"{_T}|{_P}", line)}
        return _LABEL_ALONE.fullmatch(line.strip()) is not None if not texts else 0 not in texts

    def only_text(self, sizes: Sequence[tuple[int, int]]) -> int | None:
        """The only choice whose whole text stands in the answer and is not denied, supposed or asked.

        Args:
            sizes: words and signs of each choice. A text of one or two words has to stand at an end of a short answer.
        """
        named: set[int] = set()
        meant = denied = False
        last = 0
        for match in re.finditer(f"{_T}|{_P}", self.text):
            between = self.text[last : match.start()]
            start = self._sentence_before(match.start())
            clause = _TEXT_CLAUSE.split(between if last and between in start else start)[-1]
            joined = last and re.fullmatch(r",? ?(?:and|or|nor)? ?(?:an? |the )?", between)
            denied = (
                bool(denied and joined)
                or bool(_DENIES_TEXT.search(clause) or _OTHERS.search(clause) or _SUPPOSED.search(start))
                or any(rule.match(self.text, match.end()) for rule in (_DENIED_TEXT, _REFUTED, _SUPPOSED_BEHIND))
                or bool(re.search(_L, self.text[self._sentence_start(match.start()) : self._sentence_end(match.end())]))
                or self._asked(match.end())
            )
            last = match.end()
            if not denied:
                number = _number(match[0])
                named.add(number)
                words, signs = sizes[number]
                ends = not self.text[match.end() :].strip(" .!\n)")
                edge = signs >= _SHORTEST_TEXT and (ends or (match.start() == 0 and words > 1))
                meant = meant or words >= _LONG or (edge and self.text.count(" ") < _SHORT_ANSWER)
        return named.pop() if len(named) == 1 and meant else None


def _taken(text: str) -> frozenset[int]:
    return frozenset(_number(sign) for sign in re.findall(_M, text))
