"""The English in which answers say which choice they take; what `letters` looks for."""

from __future__ import annotations

import re
from typing import Final

__all__ = [
    "ANSWER",
    "BOTH_CORRECT",
    "CHOOSE",
    "CONCLUDE",
    "CONCLUDING",
    "CORRECT",
    "FILLER",
    "FINAL",
    "GOES_ON",
    "INSTEAD",
    "INSTEAD_OF",
    "IT_IS",
    "JOINED",
    "JOINED_IN_BRACKETS",
    "LED_BY",
    "MATCHES",
    "NEGATION",
    "NEGATIONS",
    "NO_LETTER_BEFORE",
    "ONLY_LETTERS",
    "OPTION",
    "PART",
    "REFUTED",
    "REFUTED_TEXT",
    "SUPPORTED",
    "VERBS",
    "VERDICT_LINE",
]

_I: Final = re.IGNORECASE

_QUALITY = "correct|right|best|final|chosen|selected|appropriate|accurate|likely|suitable|only|my|boxed"
ANSWER: Final = re.compile(
    r"\b(?:(?:answers?|ans\.?(?= ?[:=A-Z(]))(?: choices?| options?| letters?)?"
    rf"|(?:{_QUALITY}) (?:options?|choices?|selection|letter|response|one)"
    r"|(?:^|(?<=[\n,;])|(?<=[\n,;] ))(?:option|choice|letter|selection)(?= ?:))(?!\w)"
    r"(?:(?:,? (?:therefore|thus|then|hence|in this case),?"
    r"| (?:to|for|among|from|of|based|according|in|given|here|regarding|about|that (?:best|most))\b[^.:;?!\n]{0,120}?)?"
    r"(?P<be> (?:is|are|was|would be|should be|will be|must be|has to be|appears to be|seems to be)\b|\.? ?[:=]| -)"
    r"|(?=[ \n]))",
    _I,
)
"""`The correct answer to the question is`, `Answer:`, `Option:`; what is named stands behind it."""

FILLER: Final = re.compile(
    r"[ \n:]{0,2}(?:(?:most likely|likely|probably|clearly|indeed|definitely|certainly|therefore|thus|actually|simply|as follows"
    r"|best (?:given|represented|described|captured) (?:by|in|as)|either|both|the|that|correct|option|options|choice|choices"
    r"|letter|answer|number|given by|not (?:option )?\(?[A-Z]\)?,? but(?: rather)?)\b[:,]?)",
    _I,
)
"""What may stand between the two."""

_ADVERBS = "clearly|indeed|therefore|thus|also|definitely|probably|the|most|likely|only|single|actually"
_AFTER = r"(?=$|[.,;:!)\n]| (?:answer|choice|option|one|response|because|since|as|based|given|here|and|but|while)\b)"
CORRECT: Final = re.compile(
    rf"(?<![\w'.&/+-])\(?([A-Z])\)? (?:is|would be|must be|seems|appears)(?: (?:{_ADVERBS})){{0,4}} (?:"
    rf"(?:correct|right|accurate|true|answer|choice){_AFTER}"
    r"|(?:best|appropriate|likely|suitable|supported|consistent)(?: supported| suited)?"
    r" (?:answer|choice|option|fit|match|response)\b)"
)
"""`D is the correct answer`; what may stand before it is checked by `LED_BY`."""

LED_BY: Final = re.compile(
    r"(?:^|[\n.,;:!?(] ?|\b(?:option|choice|answer|letter|so|therefore|thus|hence|that|think|believe|conclude|and|while|but) )$",
    _I,
)
"""What may stand before a letter that begins a clause; not `vitamin`, `hepatitis` or `stage`."""

PART: Final = re.compile(
    r"\b(?:option|choice|answer) \(?([A-Z])\)?(?:[,:.]|(?= \()) ([^\n]{1,300}?)[,)]? is (?:clearly |therefore |thus )?(?:the )?"
    r"(?:most )?(?:correct|right|best|appropriate|accurate) (?:answer|choice|option|one|response)?",
    re.IGNORECASE,
)
"""`Option D (its text) is the correct choice`."""

BOTH_CORRECT: Final = re.compile(
    r"(?<![\w'.&/+-])\(?([A-Z])\)?(?:, \(?[A-Z]\)?){0,3},? (?:and|&|or) (?:option |choice )?\(?([A-Z])\)? (?:are|could|may|might)\b"
    r"(?: (?:both|all|each|be|equally|the)){0,3} (?:correct|right|true)\b"
)

CHOOSE: Final = re.compile(
    r"\bi(?:'d|'ll|'m)?(?: (?:would|will|should|must|therefore|thus|am|have to|can|do)){0,3}"
    r" (?:choose|select|pick|chose|selected|picked|answer|say|go with|going with|opt for|conclude)\b",
    _I,
)

MATCHES: Final = re.compile(
    r"\b(?:correspond(?:s|ing)?|match(?:es|ing)?|align(?:s|ed|ing)?|consistent|equivalent|identical|fits?|indicates?|supports?"
    r"|(?:this|that|which|it) is|it's|must be|would be)(?: (?:best|most|closely|exactly|clearly|to|with|the|in|by)){0,4}"
    r"(?= (?:option|choice|answer)\b)",
    _I,
)
"""`This corresponds to`, before `option D`."""

CONCLUDE: Final = re.compile(
    r"(?:^|(?<=\n)|(?<=[.,;:!?] )|(?<= and ))(?:therefore|thus|hence|so|in conclusion|to conclude|conclusion"
    r"|finally|in summary|overall)\b[,:]?(?: (?:it is|it's|this is|that is|it must be))?(?= )",
    _I,
)

_NOT_BUT = r"not (?:option |choice )?\(?[A-Z]\)?,? but(?: rather)?"
IT_IS: Final = re.compile(
    r"\b(?:(?:actually|definitely|certainly|probably|most likely|yes|no|wait)[,:]? ){0,2}"
    r"(?:(?:it|this|that)(?:'s| is| must be| would be)"
    rf"(?: (?:actually|clearly|definitely|probably|most likely|likely|therefore|thus|rather|{_NOT_BUT})){{0,2}}"
    rf"|{_NOT_BUT}|(?:yes|no|correction)[,:]|(?:actually|definitely|certainly|probably|most likely)[,:]?)(?= )",
    _I,
)
"""`It is`, `No,`, `Definitely`, `Not B but`; what may stand before it is checked by `LED_BY`."""

OPTION: Final = re.compile(r"(?:answer (?:choice |option )?|option |choice |letter )", _I)

CONCLUDING: Final = re.compile(
    r"\b(?:therefore|thus|hence|so|in conclusion|to conclude|conclusion|in summary|overall|ultimately|finally|consequently)\b",
    _I,
)
FINAL: Final = re.compile(r"\b(?:final|boxed)\b", _I)

NEGATION: Final = re.compile(
    r"\b(?:not|never|nor|neither|cannot|if|whether|unless|why|suppose|wrong|incorrect|false|least|worst)\b|n't\b"
    r"|(?<!\bno )(?<!\bwithout )\bdoubt"
    r"|\b(?:some|others|one|many|you) (?:(?:might|may|could|would) )?(?:say|think|argue|believe)\b",
    _I,
)
_CLAUSE = r"[.,;:!?\n]|\b(?:so|therefore|thus|hence|because|but|and|consequently)\b"
NO_LETTER_BEFORE: Final = re.compile(_CLAUSE, _I)
"""Ends of clauses: what is denied in one is not denied in the next."""

NEGATIONS: Final = frozenset(
    "not no never nor neither cannot without denies denied wrong incorrect unlike than t".split()
)
INSTEAD: Final = "instead of"
"""Among the words before the text of a choice; `t` is the end of `isn't`, `than` of `rather than`."""

JOINED: Final = re.compile(
    r"\)?(?:,? (?:and|or|&) |/|, )(?:also |possibly )?(?:option |choice )?\(?([A-Z])\)?"
    r"(?=$|[,;!)\n/]|\.(?:$|\n| [^a-z])|,? (?:and|or|are|both|together|because|since|as)\b)"
)
"""Another letter behind the first one."""

JOINED_IN_BRACKETS: Final = re.compile(r"\)? ?\((?:or |and |possibly )?([A-Z])\)")

_BETWEEN = r"(?:[ \n.,;/|+&()-]|and|or|also|possibly|maybe|both|then)+"
ONLY_LETTERS: Final = re.compile(rf"\(?(?:[A-Z]{_BETWEEN})*[A-Z]?")
"""An answer of nothing but letters."""

REFUTED: Final = re.compile(
    r"\)?(?:[.,:;]| [-–—])?(?: ?\()? ?(?:(?:(?:which|that) )?(?:is|was|would be) )?"
    r"(?:(?:incorrect|wrong|false|not (?:correct|right|true|supported|the (?:correct|right|best)))"
    r"(?=$|[.,;!)\n]| (?:because|since|as)\b)"
    r"|no(?=$|[.,;!)\n]))",
    _I,
)
"""Stands behind a letter, or a letter and its text, that is named only to be turned down."""

VERDICT_LINE: Final = re.compile(
    r"[| ]{0,3}(?:(?:option|choice) )?\(?([A-Z])\)?(?: ?[:.)|]| [-–—]).{0,400}?(?<![\w'])"
    r"(not correct|not supported|incorrect|correct|wrong|right|yes|no|true|false)[ .!)|]{0,4}",
    re.IGNORECASE,
)
"""`D. Its text - correct`: one of several lines that say of each choice whether it is right."""

REFUTED_TEXT: Final = re.compile(r" (?:is |was )?(?:not (?:correct|right|true|supported)|incorrect|wrong|false)\b")
"""Stands behind a choice's text, in plain words."""

SUPPORTED: Final = re.compile(
    r"\b(?i:option|choice|answer) \(?([A-Z])\)? (?:is (?:(?:best|directly|clearly|fully|most) ){0,2}supported"
    r"|(?:best|most closely|most accurately|accurately|correctly|closely) (?:match|fit|describe|reflect|represent|answer|capture"
    r"|align|summari[sz]e|correspond)\w*|(?:matches|fits|aligns)) ",
)
"""`Option D best matches`."""

INSTEAD_OF: Final = ("rather than ", "instead of ")

VERBS: Final = frozenset("is isn't was are would could may might can cannot does doesn't has names says".split())
"""Words behind a letter that make it what is spoken of, not what is chosen."""

GOES_ON: Final = frozenset(
    "because since as which that due based with given for and but so according per in from above here only alone instead "
    "rather this the it".split()
)
"""Words that may stand behind a letter that is named; others make it the beginning of a name (`E coli`, `B cell`)."""
