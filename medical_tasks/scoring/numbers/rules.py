"""What the words around a quantity make of it: the rules by which answers are read.

A rule looks at a sentence in small letters in which signs stand for what matters: `§`
for the name of what is asked, `▣` for the quantity that is looked at, `¤` for any other
quantity. So "The BMI is 24.7, not 31.2." is "the § is ▣, not ¤." when 24.7 is looked
at, and no word of a name can mislead a rule.

Each `Rule` has a law, and sentences for which it holds and does not hold; a test runs
them all.

Quantities that are not the answer:

| the quantity is | as in | the reply is |
|---|---|---|
| denied, quoted, or somebody else's word | `The § is not ▣.`; `Some might say ▣.` | unclear |
| in a clause whose governing word does not affirm it | `The claim that the § is ▣ is bold.` | unclear |
| a bound, or has a spread | `at least ▣`; `▣ or more` | unclear |
| asked for | `Is it ▣?` | unclear |
| under a condition, or one of several options | `▣ if male`; `It may be ▣.` | unclear |
| taken back, or in a sentence that breaks off | `▣. Wait, that is wrong.` | unclear |
| an operand | `▣ × ¤ = ¤` | without it |
| of something else | a normal range, a subtotal, another person or time | without it |
| beside a refusal | `cannot be determined; age is ▣` | not computable |
"""

from __future__ import annotations

import re
import string
from functools import lru_cache
from typing import Final, NamedTuple

from medical_tasks.io.patterns import Pattern

NAME: Final = "§"
THIS: Final = "▣"
VALUE: Final = "¤"

# Why a quantity is not the answer although a reader may take it for one: unclear.
DENIED: Final = "a denial"
BOUND: Final = "a bound"
ASKED: Final = "a question"
CONDITION: Final = "a condition"
TAKEN_BACK: Final = "taken back"
UNFINISHED: Final = "unfinished"
DOUBTFUL: Final = (DENIED, BOUND, ASKED, CONDITION, TAKEN_BACK, UNFINISHED)
# Why it is plainly something else: nothing is stated.
OPERAND: Final = "an operand, or arithmetic not worked out"
OTHER: Final = "of something else"
OTHER_UNIT: Final = "in a unit that a score does not have"
REFUSED: Final = "not computable"


def pattern_of(text: str) -> Pattern:
    """A pattern that is written over several lines."""
    return Pattern(text, re.VERBOSE)


def patterns_of(*texts: str) -> tuple[Pattern, ...]:
    """Several patterns, each written over several lines."""
    return tuple(map(pattern_of, texts))


def any_of(phrases: str) -> str:
    r"""A pattern of alternatives, "|" between them; a blank in a phrase is any white space.

    Example:
        any_of("at least | more than") is (?:at\s+least|more\s+than)
    """
    parts = [re.sub(r"\s+", r"\\s+", phrase.strip()) for phrase in phrases.split("|")]
    return f"(?:{'|'.join(parts)})"


class Rule(NamedTuple):
    """What makes a quantity something else than the answer.

    Attributes:
        reason: what it is instead.
        law: the rule in words.
        patterns: one of them finds it in a sentence with `§`, `▣` and `¤`.
        holds: sentences for which it holds.
        fails: sentences that look alike, for which it does not hold.
    """

    reason: str
    law: str
    patterns: tuple[Pattern, ...]
    holds: tuple[str, ...]
    fails: tuple[str, ...]


# ---- Words ----

_HEDGE: Final = any_of(
    r"about | approximately | approx\.? | around | roughly | nearly | almost | circa | ca\. | "
    r"close to | only | just | exactly | therefore | thus | then | now | simply | in fact | "
    r"likely | probably | indeed | also | still | actually | really | a | an | the | "
    r"total(?:\s+of)? | to be | not | either | between | somewhere | in the range of | "
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)day,?"
)
APPROXIMATELY: Final = rf"""(?:{_HEDGE}(?!\w)[\s"'(*]*|[≈~+][\s"'(*]*)"""
"""What may stand between "is" and a quantity."""
_NOT: Final = any_of(
    r"not | (?:is|was|are|do|does|did|ca|could|wo|would|should|has|had)n['’]?t | never | "
    r"neither | nor | cannot | hardly | no longer"
)
_AUXILIARY: Final = "(?:ca|could|do|does|did|should|wo|would|has|had|can)"
_AFFIRMED: Final = (
    # What may govern "that the § is ▣"; what may not leaves it open, whatever it is.
    r"(?:(?:find|found|see|follow|conclu|confirm|show|indicat|calculat|comput|determin|estimat|deriv"
    r"|obtain|establish|demonstrat|verif|reveal|impl|suggest|tell|think|believ|know|clear|certain"
    r"|confident|evident(?!ce)|obvious|apparent|likely|inform|judge|agree|remember|mention|assess)\w*"
    r"|(?:means?|said|says?|so|such|sure|given|get|is|fact|with|states?|stated|reports?|reported"
    r"|answer|appears|seems|team|notes?)(?=\s+that\b)|please\b)"
)
_DOUBT: Final = any_of(
    r"rather than | instead of | other than | far from | different from | unlike | "
    r"as opposed to | contrary to | anything but | excluding | rules? out | doubt | deny | "
    r"reject\w* | disagree | wrong(?:ly)? | incorrect(?:ly)? | false(?:ly)? | "
    r"mistaken(?:ly)? | mistake (?:is )?to | in no sense | discard\w* | disregard | ignor\w+ | withdraw | "
    r"retract | refuse\w* | nothing | nobody | no one | in no way | by no means | under no | "
    r"on no | fails? to | none(?! of the (?:remaining|other)) | few | no way | unlikely | untrue | not true | not the case | "
    r"beginner | whoever | nowhere | opposite | exclude | dismiss | avoid | scratch(?!\s+that\b) | "
    r"erroneous(?:ly)? | by mistake | in error | supposedly | reportedly | allegedly | purportedly | presumably | "
    r"forget | tempted | said to be | was suggested | "
    r"no \w+ (?:leads?|supports?|points?|suggests?)"
)
_WRONG: Final = any_of(
    r"wrong | incorrect | false | untrue | mistaken | implausible | impossible | rejected | "
    r"invalid | excluded | (?:an? )?(?:\w+ )?(?:mistake|error|trap|slip|typo) | ruled out | "
    r"absurd | nonsense | ridiculous | unreasonable | out of the question | off | "
    r"too (?:high|low|large|small|big|much|little|many|few)"
)
_SAY: Final = (
    r"(?:say|said|think|thought|claim|argue|answer|guess|believe|expect|assume|suggest|report|state"
    r"|write|wrote|written|propose|tell|told|document)(?:s|ed|d)?\b"
)
_OTHERS: Final = any_of(
    r"some | someone | somebody | others? | many | most | people | you | they | students? | "
    r"beginners? | colleagues? | textbooks? | charts? | residents? | nurse | clinicians | "
    r"intern | trainee | registrar | predecessor | vendor | "
    r"authors? | models? | calculators"
)
_UNAGREED: Final = r"(?![^¤]*\b(?:i\s+agree|rightly|(?:is|was|are|were)\s+(?:quite\s+|indeed\s+)?(?:right|correct)\b))"
"""Not where the text goes on to say that it is right."""
_COMPARED: Final = (
    "(?:less|fewer|more|greater|higher|lower|larger|smaller|bigger|older|younger|later|earlier|longer"
    "|shorter|better|worse)"
)
_LIMIT: Final = any_of(
    rf"{_COMPARED} than(?:\s+or\s+equal\s+to)? | over | under | above | below | beyond | "
    r"exceed\w* | surpass\w* | "
    r"at (?:the very )?(?:least|most|best|worst|a minimum|or above|or below)(?: of)? | "
    r"(?<!add\s)(?<!adds\s)(?<!adding\s)(?<!sum\s)(?<!sums\s)up to | upwards? of | "
    r"in excess of | short of | as (?:low|high|much|many|few|late|early) as | before | "
    r"after | until | till | since | within | by | from | minimum | maximum | tops | "
    r"capped at | limited to | north of | south of | at the (?:earliest|latest) | "
    r"on or (?:after|before) | starts? at | "
    r"(?:difference|change|increase|decrease|rise|fall|error) of | "
    r"differs?\b[^¤▣]{0,40}\bby | (?:risen|rose|fallen|fell|up|down) by | short by"
)
_COMMON: Final = any_of(
    r"normal(?:ly)? | reference | healthy | typical | usual(?:ly)? | expected | average | "
    r"(?<!i\s)mean | median | maximum | minimum | highest | lowest | upper | lower | limit | "
    r"possible | cut-?offs? | thresholds? | (?:low|high) estimate | scale | ranges? | "
    r"target | goal | ideal | desired | desirable | recommended | optimal | "
    r"population | cohort | example | sample | last(?=\s+(?:\w+\s+)?§) | placeholder | "
    r"worth | each | intermediate | interim | preliminary | provisional | partial | "
    r"subtotal | running | numerator | denominator | uncorrected | unadjusted | "
    r"(?:first|second|third|next|raw|starting) (?:term|step|part|pass|value|time|guess"
    r"|thought) | value like | such as | error | change | standard deviation | difference | "
    r"half"
)
_ELSEWHERE: Final = any_of(
    r"so far | thus far | up to (?:this|that) point | next (?:year|month|week|visit) | "
    r"previous(?:ly)? | yesterday | tomorrow | earlier | initial(?:ly)? | "
    r"(?:was|were|had|been) once | once (?:was|were|had) | ago | from now | someone | somebody | "
    r"guidelines? | donor | at first | originally | used to | had been | before | "
    r"on admission | ^\W*bed | "
    r"(?:last|prior|former|old) (?:year|month|week|time|visit|note|report|admission|check) | "
    r"(?:brother|sister|mother|father|wife|husband|son|daughter|twin|cousin"
    r"|roommate)s?['’]?s? | "
    r"(?:another|other|different|first|textbook|average) (?:patient|formula|method|equation"
    r"|calculator|rule|score) | patients(?!\s+(?:\w+\s+of\s+)?§) | people | men | women | "
    r"adults | children | those"
)
_THEN: Final = any_of(
    r"before | prior to | on admission | yesterday | previously | \w+ \w+ ago | so far"
)
_PART: Final = any_of(
    r"(?:less|more|fewer|higher|lower|greater) than | "
    r"(?:is|are|was|were) (?:given|added|awarded|assigned|due|missing) | each | of these | "
    r"more points? | items | components | variables | parameters | questions | domains"
)
_OPERATION: Final = any_of(
    r"(?:third|quarter|tenth)s? of | double | triple | times | multiplied by | divided by | "
    r"plus | minus | twice | half of | root of | log | logarithm of | ln | sqrt | factor of | "
    r"power(?: of)? | (?:add|subtract|deduct|multiply|divide)(?:ing)?(?: (?:by|another))?"
)
_IF: Final = any_of(
    r"if | unless | whether | suppos(?:e|ing) | (?<!you\s)provided (?:that|he|she|it) | "
    r"in case | hypothetically | imagine | let['’]?s (?:assume|say|suppose) | "
    r"let us (?:assume|say|suppose) | depend(?:s|ing) on | "
    r"as soon as | conceivable | "
    r"(?:could|might|may) (?:also )?(?:assume|argue|say|think|guess|imagine) | "
    r"when [^,.¤]{0,40}\b(?:reaches|exceeds|falls|drops|rises|hits) | otherwise | maybe | "
    r"perhaps | would (?:have|otherwise|only|become) | "
    r"(?:could|might|may) (?:only )?(?:be|have)(?! (?:\w+ed|taken|given)\b) | possibly | "
    r"for (?:\w+ ){0,3}§ to be | "
    r"(?:with(?:out)?\s+(?:an?|another|normal|the\s+(?:old|older|other|wrong))|assuming|(?:in"
    r"|for|of)\s+(?:an?|any|the\s+average))\b[^.\n▣]{0,80}\bwould | "
    r"without\b[^,.;▣¤]{0,40}\bit is | would\b[^.\n▣¤]{0,60}\b(?:without|had|were)"
)
_RESULTS: Final = "(?:answer|result|score|total|value|estimate|figure|sum|outcome|output|best|number\\b(?!\\s+of))"
_METHOD: Final = "(?:formula|equation|method|rule|score|criteria|calculator|calculation|guideline|definition|note)"
_WORKING: Final = any_of(
    r"i['’]?m not | needed | any | "
    r"(?:we|you|one|i) (?:\w+ )?(?:plug|substitut|use|apply|take|add|sum|calculat|comput"
    r"|round|put|insert|enter|count|total|convert|divide|multiply|have|need|assume|consider"
    r"|treat|would\s+like|want|wish|ask|prefer|wonder)\w*"
)
_CONDITION: Final = (
    rf"(?:\b{_IF}\b(?!\s+{_WORKING})"
    r"|(?:^|[,;:]|(?<=▣))\W*(?:had|were|should)\s+(?:the|he|she|it|we|his|her|this|§)(?!\w))"
)
_OPERATOR: Final = r"(?:[×*/^√]|\s[-+]\s|[¤▣]\s*[-+]\s*[¤▣])"
_BREAK: Final = (
    r"(?:,(?=\s|$)|\s-{1,2}\s|\bbut\b(?!\s+only)"
    r"|\b(?:so|therefore|thus|hence|because|then|actually|instead|in\s+(?:truth|fact|reality))\b)"
)


# ---- Rules ----

RULES: Final = (
    Rule(
        DENIED,
        "The clause says that it is not this value.",
        patterns_of(
            rf"(?:\b{_NOT}\b|≠)[^\w¤▣]*(?:(?!\b(?:is|was|gives|yields|=)\b)[^¤,;:.▣]){{0,60}}▣",
            rf"""\b(?:do|does|did|can|could|would)(?:n['’]t|\s?not)\s+(?:\w+\s+)?{_SAY}[^,;¤▣]{{0,80}}▣""",
            r"(?<=\w\s)no\s+▣",
            rf"\b{_DOUBT}\b(?:(?!\s-\s)[^,;¤▣]){{0,60}}▣",
            rf"\b{_NOT}\s*,[^,¤▣]*,\s*▣",
            rf"§\s+(?:\w+\s+)?(?:cannot|{_AUXILIARY}(?:\s+not|n't))\b[^,;:¤▣]{{0,60}}▣",
        ),
        (
            "The § is not ▣.",
            "I don't think that the § is ▣.",
            "It is unlikely to be ▣.",
            "The § is not, despite appearances, ▣.",
        ),
        ("The § is ▣, not ¤.", "It is not ¤ but ▣.", "He does not smoke, so the § is ▣."),
    ),
    Rule(
        DENIED,
        "A clause that governs the one with the value denies it, or does not affirm it.",
        patterns_of(
            rf"""\b(?:{_NOT}|nobody|no\s+one|nothing)\b(?!\s+(?:difficult|hard|surprising))[^.;:¤▣]*(?<!\bso)\s+that(?:,[^,;¤▣]*,)?\s+(?:[^\s¤,]*\w[\s-]+){{0,4}}§[^,;¤▣]{{0,80}}▣""",
            rf"""(?:^|[,;:])\W*+(?!that\b)(?:(?!\b{_AFFIRMED})[^,;:¤▣§])+\bthat\s+(?!(?:are|is|was|were|have|has|apply)\b)(?:[^\s¤,]*\w[\s-]+){{0,4}}§[^,;¤▣]{{0,80}}▣""",
            rf"""^\W*no\s+(?!doubt|question)\w+(?:(?!{_BREAK})[^;:¤▣])*
              \b(?:makes?|gives?|yields?|supports?)\b[^,;:¤▣]*▣""",
            r"\b(?:asked|told|invited|instructed|supposed)\s+to\s+\w+\s+(?:that|whether)\b[^,;¤▣]{0,60}▣",
        ),
        ("I do not agree that the § is ▣.", "The claim that the § is ▣ is bold.", "I was asked to confirm that the § is ▣."),
        (
            "We find that the § is ▣.",
            "He does not smoke, so that the § is ▣.",
            "The items that are met bring the § to ▣.",
        ),
    ),
    Rule(
        DENIED,
        "It is part of what is quoted, and the sentence goes on.",
        patterns_of(
            r"""(?:^|[\s(:,])"[^"▣]*\w\s[^"▣]*▣[^"]*"[\s,]*[a-z]""",
        ),
        ('"The § is ▣," the nurse read aloud.',),
        ('The § is "▣" in total.',),
    ),
    Rule(
        DENIED,
        "It is said with an interjection of irony.",
        patterns_of(
            r"^\W*(?:oh|haha|ha|pff|as\s+if|yeah,?\s+right)\b[^¤▣]*▣",
        ),
        ("Oh sure, the § is ▣.",),
        ("Sure, the § is ▣.",),
    ),
    Rule(
        DENIED,
        "It is what somebody else says.",
        patterns_of(
            rf"""\b(?:{_OTHERS}\s+(?:\w+\s+){{0,3}}?{_SAY}
            | (?:was|were|been)\s+(?:told|informed|assured)
            | (?:according\s+to|as\s+per|quoting|citing)\s+(?!(?:\w+\s+){{0,2}}(?:§|{_METHOD}))[^,;¤▣]*[,:]?
            | (?!patient|today)\w+'s\s+(?:\w+\s+)?(?:note|report|chart|record|claim|opinion|guess|draft|calculator)
            | an?\s+(?:\w+\s+)?(?:note|post|website|printout)\b[^,;¤▣]{{0,40}}?\b{_SAY}
            | (?!you|they|people|most|many){_OTHERS}\s+(?:\w+\s+){{0,3}}?(?:give|get|got)s?\b)[^,;¤▣]{{0,60}}▣{_UNAGREED}""",
            rf"""▣{_UNAGREED}[,"\s]*(?:(?:the|his|her|my|an?)\s+\w+\s+{_SAY}|said\s+no\s?(?:one|body)
              |{_SAY}\s+(?:the|my|his|her|our|an?)\b|according\s+to\s+(?!(?:\w+\s+){{0,2}}(?:§|{_METHOD})))""",
        ),
        ("Some might say ▣.", "Other calculators would give ▣ here.", "▣, said no one ever."),
        ("You should get a § of ▣.", "You said ▣, and you are right."),
    ),
    Rule(
        DENIED,
        "What follows says that it is wrong.",
        patterns_of(
            rf"""▣[^\w¤]{{0,3}}
            (?:(?:is|was|are|would\s+be|seems|looks|be|which|that|this|it|i|clearly|also|points?)\b\s*)
            {{0,6}}
            (?: {_NOT}\s*(?:[.,!;]|$|(?:\w+\s+){{0,4}}?(?:right|correct|true|fit|possible|valid|it|so|be
                |answer|what|the|quite)\b)
              | {_WRONG}\b | ,?\s*but\s+not\s+quite )""",
            r"▣[^.;:¤\n]{0,40}\b(?:does|do)(?:n['’]t|\s+not)\s+(?:make|fit|hold|apply|count)\b",
            rf"▣\s*,\s*(?:which|that|it|this)\s+(?:i|we)\s+(?:\w+\s+)?{_NOT}\b",
            r"▣[^.;:¤\n]{0,40}\b(?:refuted|disproved)\b",
            rf"""▣(?!\s*,\s*(?:so|thus|therefore|hence)\b)[^.;:¤\n]{{0,60}}
              \b(?:is|was|are|were|seems|be)\s+(?:\w+\s+){{0,2}}?{_WRONG}\b""",
        ),
        ("▣ is not the answer.", "▣ can be ruled out.", "The nurse's § of ▣ is mistaken."),
        ("The § is ▣, which is not normal.",),
    ),
    Rule(
        BOUND,
        "A limit or a difference stands in front of it.",
        patterns_of(
            rf"""(?:[<>≤≥∈]\s*[(\[]?|\b{_LIMIT}\s+){APPROXIMATELY}{{0,4}}[(\[\"']*▣""",
        ),
        ("The § is at least ▣.", "> ▣", "It has risen by ▣."),
        ("The points add up to ▣.", "The § is ▣, below the limit of ¤."),
    ),
    Rule(
        BOUND,
        "A limit or a spread stands behind it.",
        patterns_of(
            rf"""▣\s*(?:\+(?!\s*[¤(\w]) | (?:or|and)\s+(?:{_COMPARED}|above|below|over|under|beyond|up
              |before|after)\b | at\s+(?:the\s+|a\s+)?(?:least|most|earliest|latest|minimum|maximum)\b
              | (?:minimum|maximum|max|min|tops)\b | [<>≤≥]\s*[a-z§]
              | is\s+(?:only\s+|just\s+)?(?:an?|the)\s+(?:upper|lower)\b | ±|give\s+or\s+take | -\s?[0-9])""",
        ),
        ("The § is ▣ or higher.", "▣ ± ¤", "▣ at most"),
        ("The § is ▣ and normal.",),
    ),
    Rule(
        OPERAND,
        "It is part of arithmetic, with the result elsewhere.",
        patterns_of(
            rf"""(?: [\w)\]¤§]\s*[+×*/^]{{1,2}} | \)\s*- | \b[a-z]\s- | √ | \b{_OPERATION} ) \s*[({{\[]*\s*▣""",
            r"\(\s*▣\s*[-+×*/]",
            r"""▣\s*(?:\([^()¤]{0,40}\)\s*)?(?: [×*^+](?=\s*[-(\[¤\w√]) | /(?=\s*[(\[¤]) | -(?=\s?\() | x\b
              | -?fold\b | (?:squared|cubed|times|thousand|million|billion|multiplied|divided|minus|plus)\b
              | to\s+the\s+power\b | (?:\w+\s+)?(?:above|below|higher\s+than|lower\s+than)
                \s+(?:the|its|normal) )""",
            rf"(?:^|[=≈→])[^=≈→]*{_OPERATOR}[^=≈→▣]*▣[^=≈→]*[=≈→]",
            rf"(?:^|[=≈→])[^=≈→▣]*▣[^=≈→]*{_OPERATOR}[^=≈→]*[=≈→]",
        ),
        ("▣ × ¤ = ¤", "The § is twice ▣.", "¤ + ▣ = ¤", "(▣ - age) × ¤"),
        ("¤ × ¤ = ▣", "▣ - low risk"),
    ),
    Rule(
        OTHER,
        "It is a normal, typical or possible value, or a part of the working.",
        patterns_of(
            rf"""\b{_COMMON}\b
            (?: (?:\s+\w+){{0,2}}\s+(?:of|for|in|between)\s+(?:\w+\s+){{0,2}}§
              | (?:\s+(?!the\b)[\w()]+){{0,3}}\s*§ )?
            [^,;:=\n¤▣§]{{0,60}}[:=|]?\s*▣""",
        ),
        ("The normal § is ▣.", "The cut-off of the § is ▣.", "Subtotal: ▣"),
        ("Under the usual rule the § is ▣.", "The § is ▣ (normal: ¤)."),
    ),
    Rule(
        OTHER,
        "It is of another time, person or method.",
        patterns_of(
            rf"""\b{_ELSEWHERE}\b(?!\s+to\s)(?:(?!\b(?:but|now|however|today|so)\b)[^;:=\n¤▣]){{0,80}}(?:[:=|]\s*§?)?\s*▣""",
            rf"▣\s*(?:points?\s*)?{_THEN}\b",
            r"^\W*without\s+(?:the\s+|any\s+)?(?:correct|adjust|conver|round|last|final|term)[^¤▣,.;]{0,40}:\s*▣",
            r"▣\s*without\s+(?:(?:the\s+)?(?:correct|adjust)|[^.¤]*¤)",
            r"▣\s*(?:points?\s*)?in\s+¤\s*(?:[.,;]|$)",
            r"▣[^.;,¤]{0,20}\b(?:in\s+the\s+(?:example|textbook|literature|paper)|elsewhere)\b",
            r"""▣[^.;,¤]{0,40}\b(?:of|for)\s+(?:an?\s+|the\s+)?(?:different|other|another|previous)\b""",
            rf"""^\W*▣\s+(?:is|was)\s+(?:the|his|her|an?)\s+(?!(?:[\w']+\s+){{0,3}}(?:§|{_RESULTS}))""",
            r"▣[^.;,¤]{0,20}\b(?:last|previous)\s+(?:year|month|week|time|visit|admission)\b",
        ),
        (
            "Last year the § was ▣.",
            "His brother's § is ▣.",
            "The § was ▣ before surgery.",
            "The § is ▣ for a different patient.",
            "The § is ▣ without the correction.",
        ),
        ("Previously it was ¤, now the § is ▣.", "The § fell from ¤ last month to ▣."),
    ),
    Rule(
        OTHER,
        "It stands in a remark about values in general.",
        patterns_of(
            r"""(?:^|:)\W*(?:an?|any|each|every)\s(?!total|sum)(?:(?!an?\s)[\w()'§-]+\s+){1,7}(?:of|at|from|between|equal\s+to)\s*▣
              (?!\W*$)(?![^.]{0,40}\b(?:obtained|calculated|found|computed|derived|returned|reached|arrived|determined|results?
              |because|what\s+we|in\s+this|in\s+our)\b)""",
            r"""\b(?:scores|values|levels|results|totals|points|§s)\s+(?:of|from|between|at|around|near)\s+▣""",
            r"""§\s+(?:of|from|between)\s+▣\s*(?:is|are|would\s+be)\s+(?:\w+\s+)?(?:common|usual|typical|normal|seen
              |expected|considered|possible|desirable|ideal|rare|plausible)\b""",
            r"\bout\s+of\s+▣",
            r"\blet\s+\w+\s*(?:=|be)\s*▣",
            r"""§\s+(?:z-?scores?|(?:per)?centile|change|difference|ratio|cut-?off|threshold|limit|range)\b[^,;¤▣]*▣""",
            r"▣\s*(?:is|was)\s+for\s+(?!(?:\w+\s+){0,3}(?:§|patient|case))",
            r"""^\W*(?:for\s+)?(?:example|instance|reference)(?:\s+\w+)?\s*[:,"][^¤]*▣""",
        ),
        (
            "A § of ▣ to ¤ is normal.",
            "Scores of ▣ mean severe disease.",
            "Let x = ▣.",
            "▣ was for the cohort.",
        ),
        ("A § of ▣ was obtained.", "We get a § of ▣.", "Upshot: a § of ▣."),
    ),
    Rule(
        OTHER,
        "What follows says that it is a part or a difference.",
        patterns_of(
            rf"""▣\s*(?:points?\s*)?(?: {_PART}\b | ,\s*of\s+which
            | for\s+(?!(?:\w+\s+){{0,3}}§|(?:the|this|his|her|our|a)\s+(?:patient|case|\w+\s+patient)|an?\s)\b )""",
        ),
        ("▣ points are given for age.", "This is ▣ less than now.", "▣ for each item"),
        ("▣ for the §", "This is ▣ for this patient."),
    ),
    Rule(
        OTHER,
        "It is announced as a template, which holds any value.",
        patterns_of(
            r"\b(?:template|placeholder|dummy|boilerplate|mock)\b[^¤▣\n]{0,80}▣",
            r"\bsample\s+(?:text|output|answer|reply)\b[^¤▣\n]{0,80}▣",
            r"\b(?:expected|required)\s+format\b[^¤▣\n]{0,80}▣",
            r"▣[^¤]{0,40}\b(?:sample\s+text|placeholder)\b",
        ),
        (
            "[Placeholder] The § is ▣.",
            "Dummy output, for testing: the § is ▣.",
            "Sample output: the § is ▣.",
            "The § is ▣ (placeholder).",
        ),
        ("In the format you asked for, the § is ▣.", "We sample once: the § is ▣."),
    ),
    Rule(
        ASKED,
        "The sentence asks for it, or for a proof of it.",
        patterns_of(
            r"▣[^?]*\?\W*$",
            r"""^\W*(?:exercise|task|true\s+or\s+false|prove(?:\s+or\s+disprove)?|show|decide|check)
              \b\s*(?::|that|whether)[^¤▣]*▣""",
        ),
        ("Is it ▣?", "Prove or disprove: the § is ▣.", "Exercise: show that the § is ▣."),
        ("What is the §? It is ▣.", "Is it ▣? Yes.", "As we show, the § is ▣."),
    ),
    Rule(
        CONDITION,
        "Another one is as likely.",
        patterns_of(
            r"▣[^.▣]{0,40}¤[^.▣]{0,20}\b(?:likely|plausible|possible|defensible|acceptable)\b",
        ),
        ("The § is ▣, though ¤ is just as likely.",),
        ("The § is ▣. ¤ is likely.",),
    ),
    Rule(
        CONDITION,
        "It is one of several options.",
        patterns_of(
            r"(?:^|[\n;:(])\W*(?:option|scenario|candidate|possibility)\s+[a-h1-8]\b[^¤▣.]{0,40}▣",
            r"▣[^.¤]{0,20}\bone\s+possibility\b",
        ),
        ("Option A: ▣",),
        ("There are options. The § is ▣.", "The § is option B, ▣."),
    ),
    Rule(
        CONDITION,
        "A condition governs its clause, or a clause beside it that has no quantity.",
        patterns_of(
            r"^\W*(?:in\s+order\s+)?to\s+(?:\w+\s+){1,3}§[^,;:¤▣]*▣",
            rf"{_CONDITION}(?:(?!{_BREAK})[^▣])*▣",
            rf"▣(?:(?!{_BREAK})[^▣])*?{_CONDITION}",
            rf"{_CONDITION}[^¤▣,]*,(?:(?!{_BREAK})[^▣])*▣",
            rf"▣(?:(?!{_BREAK})[^▣¤])*,\s*(?:but\s+)?(?:only\s+)?{_CONDITION}[^¤]*$",
            r"""(?<!\bsafe\s)(?<!\bfair\s)(?<!\bable\s)\bto\s+(?:say|claim|assert|assume|state|pretend)
              \s+(?:that\s+)?(?:\w+\s+){0,2}§[^,;¤▣]*▣""",
            r"▣[^.¤▣]*\bwould\s+(?:need|have\s+to)\b",
            r"^\W*once\s[^,¤▣]*▣",
            r"\b(?:wish|if\s+only|in\s+an?(?:other)?\s+(?:\w+\s+)?(?:universe|world))\b[^¤▣]*▣",
            rf"""(?:^|[,:])\W*(?:if(?!\s+(?:we|i|you|one)\s)|unless|had|were|should|suppose|imagine|provided|in\s+case)\b[^▣,:]*[,:]
              (?:\s*then\b)?(?:(?!{_BREAK})[^▣])*▣""",
        ),
        (
            "If he smokes, the § is ▣.",
            "The § is ▣ if male.",
            "It may be ▣.",
            "I wish the § were ▣.",
            "To reach a § of ▣ he must lose weight.",
        ),
        ("If we add the points, the § is ▣.", "The § is ▣, so stop if ¤ falls."),
    ),
)  # fmt: skip


# ---- How plainly a quantity is given ----

_IS: Final = any_of(
    r"is | are | was | were | be | equals? | equall?ing | becomes? | remains? | stands at | gives? | "
    r"yields? | "
    r"(?:comes?|works?|turns?|amounts?|adds?|evaluates?|rounds?) (?:up |out )?(?:to|at) | "
    r"as | at | to be | on | gets? | obtain"
)
NAMED: Final = pattern_of(
    rf"""§ (?: [\s"'*(\[{{:=≈|→,-]* (?:(?:i\.?e\.?|namely|that\s+is)[\s,:]*)?
      | [^¤§=:|;]{{0,160}} \b{_IS} [\s"'*(\[{{:≈-]*
      | (?:(?!\b(?:with|using|from|given|where|for\s+an?)\b)[^¤§=:|;]){{0,60}}
        (?: [=:≈→|] | \b(?:of|to|at) ) [\s"'*(≈-]*
      | [^¤§=:|;]{{0,40}} \b(?:changed|rose|risen|fell|fallen|went|moved|improved|dropped
        |(?:in|de)creased|(?:gone|went)\s+(?:up|down)) \s+ from \s+ )
    {APPROXIMATELY}{{0,4}} $"""
)
"""In front of the value of what is asked: "§ = ", "§ for this patient comes to about "."""
CONVERTED: Final = pattern_of(
    r"\b(?:equals|gives|yields|becomes|(?:is|are)\s+(?:equal|equivalent)\s+to|corresponds?\s+to|is\s+the\s+same\s+as)\s*$"
)
"""Between a value and what it is converted to: "7.96 mg of it is equal to 53.1 mg"."""
NAMED_BEHIND: Final = pattern_of(
    rf"""\s*(?:in\s+the\s+(?:chart|record|table|box)\s+)?(?:(?:is|as|for|on|,)\s+(?:the|my|our)\s+
      (?:(?:\w+\s+)?(?:answer|result|score|total)\b|(?:(?!{_COMMON}|{_ELSEWHERE})\w+[\s-])?§)
    | is\s+the\s+(?:right|correct|final|true)\s+\w+
    | is\s+(?:right|correct)\b | instead\s*[.!]?\s*$ | comes\s+out\b
    | (?:is|results\s+for|as|for|under)\s+(?:(?:\w+\s+)?|(?:this|the|our)\s+patient['’]?s\s+)§)"""
)
_LINK: Final = any_of(
    r"is | are | was | were | (?:(?:would|should|must|will) )?be | of | at | to | as | on | "
    r"in | becomes? | remains? | equals | (?:is )?equ\w*al\w* to | stands at | has | have | had | "
    r"returns | gives | gave | giving | yields? | yielding | adds | contributes | makes | "
    r"scores | gets | reads | returned"
)
HEAD: Final = pattern_of(
    rf"""[\w'%)\]¤§-](?<![\w'%)\]¤§-].)(?P<rest>[\w'%)\]¤§-]*+) [\s"'*_)]*+
    (?:\b{_LINK}\b|[=:≈→|]) [\s"'*(:≈-]* {APPROXIMATELY}{{0,4}} $"""
)
"""The word in front of "is", "=", "of" and the like: what the quantity is of."""
RESULT_WORD: Final = pattern_of(
    r"""(?: answer|result|score|total|sum|estimate|value|conclusion|final|solution|ans|a|overall|outcome
    | output
    | figure|number|altogether|reply|question|should|would|must|will|to|it|this|that|which|these|all
    | everything|them|we|i|one|you|us|me|he|she|him|her|patient|together|now|then|therefore|thus|hence
    | so|out|up|in|for|sure|right|correct|follow|below|here|comes?|amount|round|lead|add|arrive|work
    | evaluate|calculate|calculated|computed|estimated|considered|counted|put|due|falls|give|yield
    | gave|found|need|count|counted|tally|dr|leave|accumulate|awarded|match|today|finally|formula|equation|calculation
    | computation|criteria|points|rule|calculator|converted|revised|changed|amended|updated|words|verdict|ours )(?:['’]?s)?
    | .*[\])¤§%]"""
)
SCORE_WORD: Final = pattern_of(r"(?:score|index|scale|point|output|outcome)s?")
PLAIN_SCORE: Final = pattern_of(
    r"""(?:^|[^\w\s]|\b(?:the|a|an|this|that|total|final|overall|sum|your|our|my|his|her|their|s
    |patient['’]?s?|calculated|estimated|computed|corrected|risk|resulting|whole|correct|right
    |numeric|rounded|best|of|and|so|is|§))\s*$"""
)
"""In front of "score" where it is the one asked for, and not "the pain score"."""
_GIVEN: Final = any_of(
    r"obtain(?:s|ed|ing)? | find | found | calculated? | compute | conclude | arrive at | "
    r"results?(?: in|ing in)? | answer | solution | therefore | thus | hence | so | final | "
    r"in total | total(?:s|ling|ing)? | overall | altogether | meets? | met | corrected | "
    r"actually | i meant | points | estimate | count | by the (?:formula|equation|rule|score),? | "
    r"^\W*(?:response|rounded)(?=\s*:) | read | ^\W*correction | report | say | choose | "
    r"go(?:ing)? with | out comes | (?:i|we) (?:end|land|settle) (?:on|at) | yes | "
    r"(?:^|[,;])\W*\w+ing\b[^¤,;]{0,100}\b(?:gives?|yields?|makes) | "
    r"(?:we|i|you|us|this|that|which|it|these|those|they) "
    r"(?:get|have|gives?|yields?|makes?|reach(?:es)?) | "
    r"(?:patient|he|she) (?:\w+ )?(?:collects|accumulates|earns|totals|tallies|receives) | "
    r"after [^¤:,]{1,60} | (?:multipl|divid|adjust|correct)\w*\b[^.¤:,]{0,40}[:=]"
)
RESULT: Final = pattern_of(
    rf"""(?: (?:^|\b){_GIVEN}(?:\s+(?:us|me|him|her|it))?[\s"'*,:(|\]→-]* | [=≈→][\s"'*(]* )
    {APPROXIMATELY}{{0,4}} $"""
)
"""In front of a result that is not named: "This gives ", "we get about ", "Answer: "."""
LONE: Final = pattern_of(
    r"""[^.,;¤]{0,40}\b(?:as|for|on|to)\s+(?:\w+\s+){0,3}§ | \s*\(
    | \s*[,.:]\s(?!\s*(?:is|was|are|were|has|had|does|would|can|cannot)\b)
    | \s*(?:$|[^\w\s]|(?:points?|in|for|of|on|at|by|to|with|today|now|here|overall)\b)(?:\s*\S+){0,3}\s*$"""
)
"""What follows a value that is mentioned in passing but is the stated answer: little or nothing."""
OPENING: Final = pattern_of(
    rf"[\s\"'({{\[*•·>|_-]*(?!between|from|either){APPROXIMATELY}?$"
)
CONTINUED: Final = pattern_of(
    r"""[\s,;."'*)-]*(?:(?:but|is|it\s+is|rather|corrected|correction|actually|i\s+mean
    |make\s+(?:that|it)|→|no|which\s+(?:i|we)(?:\s+now)?\s+\w+(?=\s+to\b)|sorry|(?:last|yesterday|a)\s+\w+(?=\s+to\b)|to)[\s,:]*)+$"""
)
"""Between a value and the one that takes its place: ", no, "."""

SAME_SUBJECT: Final = pattern_of(
    r"""\b(?:(?:and|but)\s+(?:now\s+|today\s+)?(?:is|was|stands\s+at)
    |the\s+(?:current|present|new|latest|correct|right|true|actual)\s+(?:one|value|figure)\s+is|(?<!\bwhereas\s)(?<!\bwhile\s)it\s+(?:is|was)|it(?=:\s)|one\s+of)[:\s]+(?:now\s+)?$"""
)
"""In front of a later value of what the sentence has given a value before: ", and is now "."""
_CHANGE: Final = (
    r"\b(?:chang|correct|revis|amend|updat|adjust|mov|improv|dropp|increas|decreas|rose|risen|fell|fallen"
    r"|went|gone)\w*\b"
)
INSTEAD: Final = pattern_of(
    rf"""\bnot\s+¤[^¤.;]{{0,40}}\bbut\s+(?:rather\s+)?$
    | {_CHANGE}[^¤.;]{{0,20}}\b(?:{_RESULTS}|it)\s+from\s+¤[^¤.;,]{{0,30}}\bto\s+$"""
)
"""In front of a value that takes the place of the one before: "not ¤ but "."""
CHANGED: Final = pattern_of(rf"{_CHANGE}[^¤.;]{{0,40}}\bfrom\s*$")
"""In front of "¤ to ¤" that is a change to the second one, and no range."""

# ---- What is said of other sentences ----

_SORRY: Final = any_of(
    r"scratch that | strike that | scrap that | just kidding | april fool | withdrawn\b | on second thoughts? | i mean | "
    r"(?:that|this|it) (?:can['’]?t|cannot) be (?:right|correct) | should be ¤ | "
    r"the (?:above|previous \w+) (?:is|was) (?:wrong|incorrect|\w+) | "
    r"(?:please )?(?:replace|scratch|strike)\b(?=[^¤]{0,20}¤) | "
    r"(?:this|that|it) should be ¤ | "
    r"(?:actually|oh),? i (?:\w+ )?(?:forgot|overlooked|missed|misread|used) | "
    r"the number must | "
    r"i (?:retract|withdraw|take|made an? (?:\w+ )?(?:mistake|error)|miscalculated|misread"
    r"|forgot) | (?:we|let me) (?:made an? \w+|correct|re-?\w+|fix|double) | "
    r"(?:my|the) (?:mistake|bad|apologies) | (?:please )?(?:ignore|disregard|forget) | "
    r"(?:up)?on (?:review|reflection|closer) | that(?:['’]s| is) the \w+ (?:for|of) another"
)
_CLAIM: Final = "(?:statement|claim|hypothesis|assumption|sentence|suggestion)"
RETRACTION: Final = pattern_of(
    rf"""[.!?;(\n¤,-](?<!\S-)["')]*\s*(?:(?:and|but|or|oh|well|actually),?\s+)?
    (?: (?:no|nope|wait|hold\s+on|sorry|oops|hmm+)
        (?=\s*[,.!:;-]|\s*$|\s+(?:wait|it|that|this|actually|sorry|i|let|¤))
      | (?:correction|edit|update|erratum)\s*[:,.-]
      | p\.?s\.?[\s:](?=[^¤\n]{{0,60}}\b(?:not?|never|nobody|wrong|ignore|disregard|forget|jok\w+|mistake|error|above
        |(?:is|was|do|does|did|can|are)n['’]t)\b)
      | (?:actually,?\s+)?(?:that|this|it|which)(?:\s+(?:answer|value|result|number|{_CLAIM}))?
        (?:['’]s|\s+(?:is|was|would\s+be|seems|should|must|can['’]?t\s+be|cannot\s+be|isn['’]t))\s+(?:\w+\s+)?
        (?:wrong|incorrect|false|untrue|a\s+mistake|an\s+error
          |not\s+(?:right|correct|true|reliable|valid|final|accurate)
          |(?:to\s+)?be\s+(?:ignored|disregarded|discarded|rejected|replaced))
      | (?:on\s+[\w-]+,\s+)?(?:everything|all|none|nothing|what\s+stands)\s+(?:of\s+the\s+)?above
        \s+(?:is|was|are|were|holds?|does)\b
      | (?:i|we)\s[^.;¤]{{0,30}}(?:\bnot|n't)\s+\w+\s+(?:with\s+|by\s+)?(?:it|this|that|so)(?=\s*(?:[.,;!]|$|and\b))
      | (?:it|this|that)\s+(?:is|was)\s+not\s*(?=[.!;]|$)
      | (?:this|that)\s+(?:is|was)\s+what\s+(?!i\s|we\s|matters|counts|(?:\w+\s+){{0,2}}(?:§|{_METHOD}))
      | (?:it|this|that)\s+(?:is|was)\s+(?:only\s+(?:true|valid|right|correct)|for\s+(?:the|an?)\s+(?:previous|other|different))\b
      | (?:it|this|that|the\s+{_CLAIM})\s+(?:fails|does\s+not\s+hold|is\s+(?:refuted|rejected))\b
      | after\s+correct\w+\b[^.;¤]{{0,40}}: | {_SORRY} )"""
)
"""Takes back what stands in front of it."""
CHOSEN: Final = pattern_of(
    r"""\b(?:correct|right|best|chosen)\s+(?:option|choice|answer)\s*(?:is|:|=)\s*[("'*]*([a-h])\b"""
)
"""Chooses one of several options by its letter."""
LETTERED: Final = pattern_of(r"(?:^|[\n;])\W*([a-h])[\s*]*[:.)][\s*]*$")
"""In front of an option: "B: "."""
_UNABLE: Final = any_of(
    r"cannot | can['’]?t | can not | could not | couldn['’]?t | unable to | not able to | "
    r"won['’]t | impossible to | not possible to | will not | refuse to | decline to"
)
_TO_ANSWER: Final = (
    r"(?:determin|calculat|comput|assess|answer|estimat|scor|tell|know|deriv|say|state|confirm|judge"
    r"|commit|help\s+with|give\s+(?:an?|the)|be\s+(?:given|said|known|stated)|do\s+(?:that|this))\w*"
)
_NO_ANSWER: Final = any_of(
    r"no (?:\w+ ){0,2}(?:value|score|number|figure|result) can be | can only say | "
    r"(?<!no\sneed\sfor\s)(?:more|additional|further) (?:information|data|details) | "
    r"(?:insufficient|not enough|lacks?|lacking) (?:\w+ ){0,3}(?:information|data|details) | "
    r"(?:data|information) (?:is|are) (?:insufficient|not enough|missing|not available) | "
    r"not (?:be )?(?:calculated|determined|computed|calculable|computable|determinable"
    r"|answerable|applicable|derivable) | indeterminate | undetermined | uncomputable | "
    r"incalculable | unanswerable | (?:do not|don['’]?t) know | no (?:answer|idea|result) | "
    r"no (?:\w+ ){1,3}can be (?:given|calculated|computed|determined)"
)
REFUSAL: Final = pattern_of(
    rf"""\b(?:{_UNABLE}\s+(?:\w+\s+){{0,2}}?{_TO_ANSWER}|{_NO_ANSWER})\b
    | ^\W*(?:§:\s*)?(?:not\s+available|unknown|unclear|uncertain|none
      |impossible|insufficient|null)\W*(?:$|[.,;:({{<\n-]|\b(?=because|since|as|due|\())
    | (?<![\w/])n/a(?![\w/])(?:\s*\([^()]*\))?"""
)
"""Says that there is no answer."""
_REFUSING: Final = (
    "not", "n't", "n’t", "cant", "couldnt", "dont", *("no" + blank for blank in string.whitespace), "n/a", "nable", "possible",
    "will", "refuse", "decline", "only", "information", "data", "details", "indeterminate", "undetermined", "incalculable",
    "uncomputable", "unanswerable", "unknown", "unclear", "uncertain", "none", "insufficient", "null",
)  # fmt: skip
"""What every refusal holds one of, looked for first."""


def refusals(text: str) -> list[re.Match[str]]:
    """Finds where a text in small letters says that there is no answer."""
    if not any(word in text for word in _REFUSING):
        return []
    return list(REFUSAL.finditer(text))


DESPITE: Final = pattern_of(
    r"""\b(?:answer|total\s*(?:is|=|:|score)|result|final|therefore|thus|hence|but|yields?|gives?)\b
    | = | §\s*(?:is|was|of|would\s+be|[:=(|]|comput|calculat|from)"""
)
"""Gives an answer in spite of a refusal."""

OTHER_COLUMN: Final = pattern_of(rf"\b(?:{_COMMON}|{_ELSEWHERE})\b")
"""The heading of a column that holds values of something else: "Previous", "Normal range"."""

# ---- Sentences and what joins quantities ----

SENTENCE_END: Final = pattern_of(
    r"""([.!?\n;](?:(?<=[\n;])|[.!?]*(?=[\s\"')\]*]|$)(?<!\bapprox\.)(?<!\bca\.)(?<!\bvs\.)(?<!\be\.g\.)(?<!\bi\.e\.)
    (?<!\bdr\.)(?<!\bno\.)(?<!\bp\.)(?!(?<=\?)\s+(?:yes|yep|yeah|correct|right|indeed|exactly)\b)))"""
)
BROKEN_OFF: Final = pattern_of(
    r"""(?:\b(?:the|an?|and|or|but|by|of|to|for|with|from|is|are|was|were|we|then|which|that|in|on|at|as
    |so|be|have|has|now|it|his|her|gives?|plus|minus|times|obtain|add|let['’]s)|[(+×*/=,-]
    |\n[ ]*\|[^|\n¤]*\|)\s*$"""
)
"""The end of a text that goes on, or of a table whose last row is not whole."""
_OR: Final = any_of(
    r"or | and | and/or | vs | versus | unless | alternatively | otherwise | else | maybe | "
    r"perhaps | possibly | even | also | either | then | both | respectively | depending | "
    r"it | is | would | could | might | be | if | he | she | male | female | men | women | "
    r"smok\w+ | when | for | with"
)
_ELSE: Final = any_of(
    r"otherwise | or else | or rather | alternatively | i round to | another | the other | "
    r"then again | or,? if"
)
TOGETHER: Final = pattern_of(
    rf"""(?![ ]-[ ]¤[^¤]*[=≈→])
    (?: [^\S\n]*(?:-|\b(?:up\s+)?to\b|\bthrough\b|\.{{2,}}|…)[^\S\n]*
      | [ \t]*(?:vs\.)?(?:[ \t,:/&"'*-]|[(\[](?=\s*{_OR}\b)|\b{_OR}\b){{0,20}}
      | [^.,\n¤]{{0,15}}\b(?:or|as\s+well\s+as)\b[^.,\n¤]{{0,15}}
      | [^.\n¤]{{0,60}}\b{_ELSE}\b[^.\n¤]{{0,30}} )¤
    | \s*(by|in|with|using|for|under|if|when|points?)\b[^.¤\n]{{1,50}}¤\s*\1\b
    | \s*[(\[]\s*¤\s*(?:if|unless|when)\b"""
)
"""Between alternatives, the ends of a range, or what is given twice: "12 or 14", "12 by one formula, 14 by another"."""
_ALSO: Final = any_of(
    r"or | i\.?e\.? | that is | which is | equal to | equivalent to | equals | ≈ | ="
)
SAME_AGAIN: Final = pattern_of(rf"\s*[(\[,/=]*\s*{_ALSO}?,?\s*(?:about\s+)?")
"""Between a value and the same in another unit: "412 ms (0.412 s)"."""
SPREAD: Final = pattern_of(r"\s*(?:±|give\s+or\s+take)\s*")
ARITHMETIC: Final = pattern_of(r"[×*/^√+=-]")
INTRODUCED: Final = pattern_of(
    r"(?:\b(?:is|are|was|to|of|be|at|than|by|not|exactly|about|now|therefore)|[=:≈→-])\s*$"
)
"""In front of a bracket that is no aside: "the age is (14 weeks, 3 days)"."""
ASIDE: Final = re.compile(r"\(([^()\[\]]*)\)|\[([^()\[\]]*)\]")
KEPT_ASIDE: Final = pattern_of(
    r"""[(\[]\s*(?:or|alternatively|maybe|perhaps|possibly|and|vs|correct\w*|actually|rather|no
    |should\s+be|final|(?:this|that)\s+is|[\d.]+[^()\d]{0,20}\b(?:if|unless))\b"""
)


# ---- Which rule holds ----

_HARMLESS: Final = frozenset(
    "a an and approximately answer are calculated calculation criteria equal equals "
    "equation final finally for formula found get give gives giving has have he hence her "
    "here his i in into is it keeping making met my now number obtain of our patient plugging "
    "result s score she so sum the their them then therefore these this thus total "
    "us using value we which will yields your".split()
)
"""Words that make no rule hold by themselves, in front of a quantity that ends its sentence."""
_LETTERS: Final = re.compile(r"[^\W\d_]+")
_TELLING_SIGN: Final = re.compile(r"[<>≤≥∈+×*/^√|~≈→?\"-][^=]*$|[≠\"]")


@lru_cache(maxsize=4096)
def reason_of(front: str, behind: str) -> str:
    """What a value is instead of the answer, by the words around it; "" where no rule holds.

    No rule is tried on a sentence such as "The Glasgow score is ▣.". Many replies have the
    same sentences, once names and quantities are signs.

    Args:
        front: the sentence up to the value, in small letters.
        behind: the sentence after it.
    """
    if (
        behind in ("", ".")
        and _HARMLESS.issuperset(_LETTERS.findall(front))
        and not _TELLING_SIGN.search(front)
    ):
        return ""

    sentence = f"{front}{THIS}{behind}"
    for rule in RULES:
        if any(pattern.search(sentence) for pattern in rule.patterns):
            return rule.reason

    return ""
