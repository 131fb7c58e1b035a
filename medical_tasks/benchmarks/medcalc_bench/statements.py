"""Reads what a passage states as the answer: a value, none, or "unclear".

A passage is masked first: what is asked for becomes `NAME` and each quantity `VALUE`, so that the
rules are about words alone, and the name of what is asked can never be taken for something else.
Each quantity then gets a `Role` from the words before and behind it within its sentence. Of those
that are stated, the last one wins that is named or given as a result; see `_chosen`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from medical_tasks.benchmarks.medcalc_bench.expression import formula_value, inside_str
from medical_tasks.benchmarks.medcalc_bench.quantities import (
    NO_UNIT,
    Quantity,
    in_digits,
    plain,
    unit_of,
)
from medical_tasks.benchmarks.medcalc_bench.subjects import Subject

__all__ = ["Statement", "read_statement"]

VALUE: Final = "¤"
NAME: Final = "§"

# Reasons for which a quantity is no answer, although a reader may take it for one: unclear.
DENIED: Final = "a denial"
BOUND: Final = "a bound"
ASKED: Final = "a question"
CONDITION: Final = "a condition"
TAKEN_BACK: Final = "taken back"
UNFINISHED: Final = "unfinished"
SPREAD: Final = "a value with a spread"
# Reasons for which it is plainly something else: nothing is stated.
OPERAND: Final = "an operand, or arithmetic not worked out"
OTHER: Final = "of something else"
OTHER_UNIT: Final = "in a unit that a score does not have"
REFUSED: Final = "not computable"

_OPEN: Final = (DENIED, BOUND, ASKED, CONDITION, TAKEN_BACK, UNFINISHED, SPREAD)


@dataclass(frozen=True, slots=True)
class Statement:
    """What a passage states.

    Attributes:
        stated: the answer; several where the passage leaves open which ("12 or 14").
        why: where it states none, what its last quantity is instead.
        unclear: whether a person could not tell either what the answer is.
        settled: whether the passage is about the answer, so that no other place is looked at.
    """

    stated: tuple[Quantity, ...] = ()
    why: str = ""
    unclear: bool = False
    settled: bool = False

    @property
    def not_computable(self) -> bool:
        """Whether it says that there is no answer: "cannot be determined", "N/A"."""
        return not self.stated and self.why == REFUSED


def read_statement(text: str, subject: Subject, *, named: bool = False) -> Statement:
    """Reads what a passage states as the answer; `named` where it is introduced as the answer."""
    if subject.numeric and (number := _worked_out(text)) is not None:
        return number
    text = in_digits(plain(_CITATION.sub(" ", text.replace(VALUE, " ").replace(NAME, " "))))
    text = _SNAKE.sub(" ", _IDIOM.sub(" ", _CONTRACTED.sub(r"\1 is", text)))
    if subject.names is not None:
        text = subject.names.sub(NAME, text)
    return _read(f"{NAME}: {text}" if named else text, subject)


def _worked_out(text: str) -> Statement | None:
    """A bare number, or the `str(<arithmetic>)` that the authors' prompt asks for."""
    if _BARE.fullmatch(text):
        return Statement((Quantity(float(text), 0, len(text)),), settled=True)
    inner = inside_str(text) if "str(" in text else None
    if inner is None:
        return None
    value = formula_value(inner)
    if value is not None:
        return Statement((Quantity(value, 0, len(inner)),), settled=True)
    return Statement(why=OPERAND, settled=True) if re.search(r"[-+*/(]", inner) else None


_BARE: Final = re.compile(r"-?[0-9]{1,15}(?:\.[0-9]{1,15})?")
_CITATION: Final = re.compile(
    r"(?<=[\w.%)])\s?\[\s{0,2}[0-9]{1,3}\s{0,2}\]|^\s{0,4}\[[0-9]{1,3}\](?=\s\S)"
)
_CONTRACTED: Final = re.compile(r"(?i)\b(it|that|here|this)['’]s\b")
_SNAKE: Final = re.compile("(?<=[A-Za-z])_(?=[A-Za-z])")
_IDIOM: Final = re.compile(
    r"""(?ix) \b(?: (?:there\s+is\s+|i\s+have\s+)?no\s+(?:doubt|question)(?:\s+that)?
    | without\s+(?:any\s+)?doubt | nothing\s+other\s+than | not\s+only
    | (?:unless|if)\s+i\s*(?:['’]?m|\s+am)\s+(?:not\s+)?(?:mistaken|wrong) | if\s+i\s+have\s+[^,.]{1,60}
    | i(?:['’]m|\s+am)\s+not\s+(?:100\s*%|a\s+\w+|entirely|completely|fully)[^,.;]{0,40}
    | provided\s+that\s+the\s+\w+\s+(?:is|are)\s+(?:right|correct) )\b"""
)
"""Turns of phrase that hold a word of denial or condition and deny nothing of the answer."""


# ---- Rules: what the words around a quantity make of it ----


def _rule(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE | re.VERBOSE)


_ABOUT: Final = (
    r"(?:(?:about|approximately|approx\.?|around|roughly|nearly|almost|circa|ca\.|close\s+to|only"
    r"|just|exactly|therefore|thus|then|now|simply|in\s+fact|likely|probably|indeed|also|still|actually|really|(?:mon|tues|wednes|thurs|fri|satur|sun)day,?|a|an|the"
    r"|total(?:\s+of)?|to\s+be|not|either|between|somewhere|in\s+the\s+range\s+of|[≈~+])[\s\"'(*]*)"
)
_NOT: Final = r"(?:not|(?:is|was|are|do|does|did|ca|could|wo|would|should|has|had)n['’]?t|never|neither|nor|cannot|hardly|no\s+longer)"
_WRONG: Final = (
    r"(?:wrong|incorrect|false|untrue|mistaken|implausible|impossible|rejected|invalid|excluded"
    r"|(?:an?\s+)?(?:\w+\s+)?(?:mistake|error|trap|slip|typo)|ruled\s+out|absurd|nonsense|ridiculous|unreasonable|out\s+of\s+the\s+question"
    r"|too\s+(?:high|low|large|small|big|much|little|many|few)|off)\b"
)
_SAY: Final = (
    r"(?:say|said|think|thought|claim|argue|answer|guess|believe|expect|assume|suggest|report|state"
    r"|write|wrote|written|propose|tell|told|document)(?:s|ed|d)?\b"
)
_COMPARED: Final = r"(?:less|fewer|more|greater|higher|lower|larger|smaller|bigger|older|younger|later|earlier|longer|shorter|better|worse)"

_RULES: Final = tuple(
    # Reason, and the words around a quantity (▣) that give it; `¤` is another quantity.
    (reason, _rule(pattern))
    for reason, pattern in (
        (DENIED, rf"(?:\b{_NOT}\b|≠)\W*(?:(?!\b(?:is|was|gives|yields|=)\b)[^¤,;:.▣]){{0,60}}▣"),
        (DENIED, rf"\b(?:do|does|did|can|could|would)(?:n['’]t|\s?not)\s+(?:\w+\s+)?{_SAY}[^,;¤▣]{{0,80}}▣"),
        (DENIED, r"\b(?:rather\s+than|instead\s+of|other\s+than|far\s+from|different\s+from|unlike|as\s+opposed\s+to"
                 r"|contrary\s+to|anything\s+but|excluding|rules?\s+out|doubt|deny|reject\w*|disagree|wrong(?:ly)?"
                 r"|incorrect(?:ly)?|false(?:ly)?|mistaken(?:ly)?|mistake\s+(?:is\s+)?to|discard\w*|disregard|ignor\w+|withdraw"
                 r"|retract|refuse\w*|nothing|nobody|no\s+one|in\s+no\s+way|by\s+no\s+means|under\s+no|on\s+no"
                 r"|fails?\s+to|none|few|no\s+way|unlikely|untrue|not\s+true|not\s+the\s+case|beginner|whoever|nowhere|opposite|confirm|exclude|dismiss|avoid|scratch|forget"
                 r"|no\s+\w+\s+(?:leads?|supports?|points?|suggests?))\b(?:(?!\s-\s)[^,;¤▣]){0,60}▣"),
        (DENIED, rf"\b(?:some(?:one|body)?|others?|many|most|people|you|they|students?|colleagues?|textbooks?"
                 rf"|charts?|residents?|nurse|clinicians|authors?|models?|calculators?)\s+(?:\w+\s+){{0,3}}?{_SAY}[^,;¤▣]{{0,60}}▣"
                 r"|\b(?:some|others?|students?|beginners?|colleagues?|calculators|models|textbooks?)\s+(?:\w+\s+){0,3}?(?:give|get|got)s?\b[^,;¤▣]{0,60}▣"
                 r"|\btempted\b[^;¤▣]{0,60}▣"),
        (DENIED, rf"▣\W{{0,3}}(?:(?:is|was|are|would\s+be|seems|looks|be|which|that|this|it|i|clearly|also|certainly|points?)\b\s*)"
                 rf"{{0,6}}(?:{_NOT}\s*(?:[.,!;]|$|(?:\w+\s+){{0,4}}?(?:right|correct|true|fit|possible|valid|it|so|be"
                 rf"|answer|what|the|quite)\b)|{_WRONG}|,?\s*but\s+not\s+quite)"
                 rf"|▣[^.;:¤\n]{{0,60}}\b(?:is|was|are|were|seems|be)\s+(?:\w+\s+){{0,2}}?{_WRONG}"),
        (BOUND, rf"(?:[<>≤≥∈]\s*[(\[]?|\b(?:{_COMPARED}\s+than(?:\s+or\s+equal\s+to)?|over|under|above|below|beyond|exceed\w*"
                r"|surpass\w*|at\s+(?:the\s+very\s+)?(?:least|most|best|worst|a\s+minimum|or\s+above|or\s+below)(?:\s+of)?"
                r"|(?<!add\s)(?<!adds\s)(?<!adding\s)(?<!sum\s)(?<!sums\s)up\s+to|upwards?\s+of|in\s+excess\s+of|short\s+of|as\s+(?:low|high|much|many|few|late|early)\s+as"
                r"|before|after|until|till|since|within|by|from|minimum|maximum|tops|capped\s+at|limited\s+to"
                r"|at\s+the\s+(?:earliest|latest)|on\s+or\s+(?:after|before)|north\s+of|south\s+of|starts?\s+at|(?:difference|change|increase|decrease|rise|fall|error)\s+of|differs?\b[^¤▣]{0,40}\bby|(?:risen|rose|fallen|fell|up|down)\s+by|short\s+by)\s+)"
                rf"{_ABOUT}{{0,4}}[(\[\"']*▣|▣\s?-\s?[0-9]"),
        (BOUND, rf"▣\s*(?:\+(?!\s*[¤(\w])|(?:or|and)\s+(?:{_COMPARED}|above|below|over|under|beyond|up|before|after)\b"
                r"|at\s+(?:the\s+)?(?:least|most|earliest|latest|minimum|maximum)\b|(?:minimum|maximum|max|min|tops)\b"
                r"|[<>≤≥]\s*[A-Za-z§]|is\s+(?:only\s+|just\s+)?(?:an?|the)\s+(?:upper|lower)\b)"),
        (SPREAD, r"▣\s*(?:±|give\s+or\s+take)"),
        (OPERAND, r"(?:[\w)\]¤§]\s*[+×*/^]{1,2}|\)\s*-|\b[A-Za-z]\s-|√|\b(?:(?:third|quarter|tenth)s?\s+of|double|triple|times|multiplied\s+by|divided\s+by|plus|minus|twice|half\s+of|root\s+of|log|ln"
                  r"|sqrt|factor\s+of|power(?:\s+of)?|(?:add|subtract|deduct|multiply|divide)(?:ing)?(?:\s+(?:by|another))?))\s*[({\[]*\s*▣"),
        (OPERAND, r"\(\s*▣\s*[-+×*/]|▣\s*(?:\([^()¤]{0,40}\)\s*)?(?:[×*^+](?=\s*[-(\[¤\w√])|/(?=\s*[(\[¤])|-(?=\s?\()|x\b|-?fold\b|squared\b|cubed\b|to\s+the\s+power\b"
                  r"|times\b|thousand\b|million\b|billion\b|multiplied\b|divided\b|minus\b|plus\b|(?:\w+\s+)?(?:above|below|higher\s+than|lower\s+than)\s+(?:the|its|normal))"),
        # A normal, typical or possible value, a part of the sum, somebody else's, or one of another time.
        (OTHER, r"\b(?:normal(?:ly)?|reference|healthy|typical|usual(?:ly)?|expected|average|(?<!i\s)mean|median|maximum|minimum|highest"
                r"|lowest|upper|lower|limit|possible|cut-?offs?|thresholds?|scale|ranges?|target|goal|population|cohort|example"
                r"|sample|placeholder|worth|each|intermediate|interim|preliminary|provisional|partial|subtotal|running|numerator"
                r"|denominator|uncorrected|unadjusted|(?:first|second|third|next|raw|starting)\s+(?:term|step|part|pass|value|time|guess|thought)"
                r"|value\s+like|such\s+as|error\s+of|change\s+in)\b(?:(?:\s+\w+){0,2}\s+(?:of|for|in)\s+(?:\w+\s+){0,2}§|(?:\s+(?!the\b)[\w()]+){0,3}\s*§)?"
                r"[^;:=\n¤▣§]{0,60}[:=|]?\s*▣"),
        (OTHER, r"\b(?:so\s+far|thus\s+far|previous(?:ly)?|yesterday|tomorrow|earlier|initial(?:ly)?|once|ago|at\s+first|originally"
                r"|(?:last|prior|former|old)\s+(?:year|month|week|time|visit|note|report|admission|check)|^\W*bed|used\s+to|had\s+been|before|on\s+admission"
                r"|(?:brother|sister|mother|father|wife|husband|son|daughter|twin|cousin|roommate)s?['’]?s?"
                r"|(?:another|other|different|first|textbook|average)\s+(?:patient|formula|method|equation|calculator|rule|score)|patients|people|men|women|adults"
                r"|children|those)\b(?:(?!\b(?:but|now|however|today|so)\b)[^;:=\n¤▣]){0,80}[:=|]?\s*▣"),
        # A remark about values in general: "A score of 2 to 6 means moderate risk."
        (OTHER, r"(?:^|:)\W*(?:an?|any|each|every)\s[^.,;:▣]{0,80}\s(?:of|at|from|between)\s*▣(?![^.]{0,40}\b(?:obtained|calculated|found|computed|results?)\b)"
                r"|\b(?:scores|values|levels|results|totals|points|§s)\s+(?:of|from|between|at|around|near)\s+▣"),
        (OTHER, r"▣\s*(?:points?\s*)?(?:(?:less|more|fewer|higher|lower|greater)\s+than|(?:is|are|was|were)\s+(?:given|added|awarded|assigned|due)"
                r"|for\s+(?!(?:the\s+)?§|(?:the|this|his|her|our|a)\s+(?:patient|case|\w+\s+patient)|an?\s))\b"),
        (OTHER, r"▣\s*(?:points?\s*)?(?:each\b|of\s+these|more\s+points?|items|components|variables|,\s*of\s+which|(?:is|are)\s+missing|so\s+far"
                r"|parameters|questions|domains)|▣\s*(?:before|prior\s+to|on\s+admission|yesterday|previously|\w+\s+\w+\s+ago)\b|▣\s*without\s+(?:the\s+)?(?:correct|adjust)"
                r"|▣[^.;,¤]{0,20}\b(?:last|previous)\s+(?:year|month|week|time|visit|admission)\b"),
    )
)  # fmt: skip

_CONDITIONAL: Final = _rule(
    r"""\b(?: if | unless | whether | suppos(?:e|ing) | (?<!you\s)provided\s+(?:that|he|she|it) | in\s+case
    | hypothetically | imagine | let(?:['’]s|\s+us)\s+(?:assume|say|suppose) | depend(?:s|ing)\s+on | had\s+(?:the|he|she|it|we)
    | were\s+(?:the|he|she|it|we) | otherwise | would\s+(?:have|otherwise|only|become)
    | (?:could|might|may)\s+(?:only\s+)?(?:be|have) | maybe | ^\W*should\s+the | as\s+soon\s+as | when\s[^,.¤]{0,40}\b(?:reaches|exceeds|falls|drops|rises|hits) | conceivable | perhaps | possibly
    | (?:with(?:out)?\s+(?:an?|another|normal|the\s+(?:old|older|other|wrong))|had|were|assuming|(?:in|for|with|of)\s+(?:an?|any|the\s+average))\b[^.\n]{0,80}\bwould
    | would\b[^.\n]{0,60}\b(?:without|had|were) ) \b
    (?! \s+ (?: i['’]?m\s+not | needed | any | (?:we|you|one|i)\s+(?:\w+\s+)?(?:plug|substitut|use|apply|take|add|sum|calculat
      |comput|round|put|insert|enter|count|total|convert|divide|multiply|have|need|assume|consider|treat|would\s+like) ) )"""
)
_RETRACTION: Final = _rule(
    r"""(?:^|[.!?;(\n¤,]\s*|\s-\s*)(?:(?:and|but|or|oh),?\s+)?
    (?: (?:no|nope|wait|hold\s+on|sorry|oops|hmm+)(?=\s*[,.!:;-]|\s*$|\s+(?:wait|it|that|this|actually|sorry|i|let|¤))
      | (?:correction|edit|update|erratum)\s*[:,.-] | (?:scratch|strike|scrap)\s+that | just\s+kidding
      | (?:that|this|it)\s+(?:can['’]?t|cannot)\s+be\s+(?:right|correct) | the\s+(?:above|previous\s+\w+)\s+(?:is|was)\s+(?:wrong|incorrect)
      | (?:please\s+)?(?:scratch|replace|strike)\b(?=[^¤]{0,20}¤) | (?:this|that|it)\s+should\s+be\s+¤ | p\.?s\.?[\s:]
      | (?:actually,?\s+)?(?:that|this|it|which)(?:\s+(?:answer|value|result|number))?(?:['’]s|\s+(?:is|was|would\s+be|seems|can['’]?t\s+be|cannot\s+be|isn['’]t))\s+
        (?:\w+\s+)?(?:wrong|incorrect|not\s+(?:right|correct)|a\s+mistake|an\s+error)
      | (?:actually|oh),?\s+i\s+(?:\w+\s+)?(?:forgot|overlooked|missed|misread|used)
      | i\s+(?:retract|withdraw|take|made\s+an?\s+(?:\w+\s)?(?:mistake|error)|miscalculated|misread|forgot)\b
      | (?:we|let\s+me)\s+(?:made\s+an?\s+\w+|correct|re-?\w+|fix|double)\b | on\s+second\s+thoughts?
      | (?:my|the)\s+(?:mistake|bad|apologies) | (?:please\s+)?(?:ignore|disregard|forget)\b
      | (?:up)?on\s+(?:review|reflection|closer) | i\s+mean\b | should\s+be\s+¤ | after\s+correct\w+\b[^.;¤]{0,40}:
      | the\s+previous\s+\w+\s+is\s+\w+ | that(?:['’]s|\s+is)\s+the\s+\w+\s+(?:for|of)\s+another | the\s+number\s+must )"""
)
_REFUSAL: Final = _rule(
    r"""\b(?: (?:cannot|can['’]?t|can\s+not|could\s+not|couldn['’]?t|unable\s+to|not\s+able\s+to|impossible\s+to|won['’]t
        |not\s+possible\s+to|will\s+not|refuse\s+to|decline\s+to)\s+(?:\w+\s+){0,2}?(?:determin|calculat|comput|assess|answer
        |estimat|scor|tell|know|deriv|say|state|confirm|judge|commit|give\s+(?:an?|the)|be\s+(?:given|said|known|stated)|do\s+(?:that|this))\w*
      | no\s+(?:\w+\s+){0,2}(?:value|score|number|figure|result)\s+can\s+be | can\s+only\s+say | (?<!no\sneed\sfor\s)(?:more|additional|further)\s+(?:information|data|details)
      | (?:insufficient|not\s+enough|lacks?|lacking)\s+(?:\w+\s+){0,3}(?:information|data|details)
      | (?:data|information)\s+(?:is|are)\s+(?:insufficient|not\s+enough|missing|not\s+available)
      | not\s+(?:be\s+)?(?:calculated|determined|computed|calculable|computable|determinable|answerable|applicable|derivable)
      | indeterminate | undetermined | uncomputable | incalculable | unanswerable
      | (?:do\s+not|don['’]?t)\s+know | no\s+(?:answer|idea|result)\b
      | no\s+(?:\w+\s+){1,3}can\s+be\s+(?:given|calculated|computed|determined) ) \b
    | ^\W*(?:§:\s*)?(?:(?-i:N\.?/?A\b\.?)(?!\s*=)|not\s+available|unknown|unclear|uncertain|none|impossible|insufficient|null)\W*(?:$|[.,;:({<\n-]|\b(?=because|since|as|due|\())
    | (?<![\w/])N/A(?![\w/])(?:\s*\([^()]*\))?"""
)
_DESPITE: Final = _rule(
    r"\b(?:answer|total\s*(?:is|=|:|score)|result|final|therefore|thus|hence|but|yields?|gives?)\b|=|§\s*(?:is|was|of|would\s+be|[:=(|]|comput|calculat|from)"
)

_LINK: Final = r"""(?: \b(?:is|are|was|were|(?:(?:would|should|must|will)\s+)?be|of|at|to|as|on|in|becomes?|remains?|(?:is\s+)?equal(?:s|\s+to)|stands\s+at
    |has|have|had|returns|gives|gave|giving|yields?|yielding|adds|contributes|makes|scores|gets)\b | (?<=it)['’]s\b | [=:≈→|] )"""
_NAMED: Final = _rule(
    # What is asked, right in front of it, or as the subject of a verb or sign that is.
    rf"""§ (?: [\s"'*(\[{{:=≈|→-]* | [^¤§=:|;]{{0,160}} \b(?:is|are|was|were|be|equals?|becomes?|remains?|stands\s+at|gives?|yields?
        |(?:comes?|works?|turns?|amounts?|adds?|evaluates?|rounds?)\s+(?:up\s+|out\s+)?(?:to|at)|(?:as|at|to\s+be|on|gets?|obtain)) [\s"'*(\[{{:≈-]*
      | (?:(?!\b(?:with|using|from|given|where|for\s+an?)\b)[^¤§=:|;]){{0,60}} (?: [=:≈→|] | \b(?:of|to|at) ) [\s"'*(≈-]* )
    {_ABOUT}{{0,4}} $"""
)
_HEAD: Final = _rule(
    rf"""([\w'’]*\W*)(?<!\w)([\w'’%)\]¤§-]+) [\s"'*_)]* {_LINK} [\s"'*(:≈-]* {_ABOUT}{{0,4}} $"""
)
"""The word in front of "is", "=", "of" and the like: what the quantity is of."""
_RESULT_HEAD: Final = _rule(
    r"""(?: answer|result|score|total|sum|estimate|value|conclusion|final|solution|ans|a|overall|outcome|figure|number|altogether
    | reply|question|should|would|must|will|to|it|this|that|which|these|all|everything|them|we|i|one|you|us|me|he|she|him|her|patient|together|now|then
    | therefore|thus|hence|so|out|up|in|for|sure|right|correct|follow|below|here|comes?|amount|round|lead|add|arrive|work|evaluate
    | calculate|calculated|computed|estimated|considered|counted|put|due|falls|give|yield|gave|found|formula|equation|calculation
    | computation|criteria|points|rule|calculator )s? | .*[\])¤§%]"""
)
_RESULT: Final = _rule(
    rf"""(?:^|\b)(?: obtain(?:s|ed|ing)? | find | found | calculated? | compute | conclude | arrive\s+at | results?(?:\s+in|ing\s+in)? | answer | solution
    | therefore | thus | hence | so | final | in\s+total | total(?:s|ling|ing)? | overall | altogether | meets? | met | corrected | actually
    | points | estimate | read | ^\W*correction | report | say | choose | go\s+with | yes | (?:^|[,;])\W*\w+ing\b[^¤,;]{{0,100}}\b(?:gives?|yields?|makes) | (?:we|i|you|us|this|that|which|it)\s+(?:get|have|gives?|yields?|makes?|reach(?:es)?)
    | after\s+[^¤:,]{{1,60}} | (?:multipl|divid|adjust|correct)\w*\b[^.¤:,]{{0,40}}[:=] )
    (?:\s+(?:us|me|him|her))? [\s"'*,:(|\]→-]* {_ABOUT}{{0,4}} $ | [=≈→] [\s"'*(]* {_ABOUT}{{0,4}} $"""
)
_OPENING: Final = _rule(rf"[\s\"'({{\[*•·>|_-]*(?!between|from|either){_ABOUT}?$")
_CONTINUED: Final = _rule(
    r"[\s,;.\"'*)-]*(?:(?:but|is|it\s+is|rather|corrected|correction|actually|i\s+mean|make\s+(?:that|it)|→|no|sorry|to)[\s,:]*)+$"
)

_SENTENCE_END: Final = _rule(
    r"((?:[.!?]+(?=[\s\"')\]*]|$)(?<!\bapprox\.)(?<!\bca\.)(?<!\bvs\.)(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\bDr\.)(?<!\bno\.)|\n|;))"
)
_CLAUSE: Final = _rule(
    r"(?=,(?:\s|$)|\s-{1,2}\s|\bbut\b(?!\s+only)|\b(?:so|therefore|thus|hence|because|then|giving|yielding|while|whereas|although)\b|\()"
)
_BROKEN_OFF: Final = _rule(
    r"""(?:\b(?:the|an?|and|or|but|by|of|to|for|with|from|is|are|was|were|we|then|which|that|in|on|at|as|so|be|have|has|now
    |it|his|her|gives?|plus|minus|times|obtain|add|let['’]s)|[(+×*/=,-])\s*$"""
)
_RANGE: Final = _rule(r"\s*(?:-|\b(?:up\s+)?to\b|\bthrough\b|\.{2,}|…|≈)\s*")
_PLUS_MINUS: Final = _rule(r"\s*(?:±|give\s+or\s+take)\s*")
_JOIN: Final = _rule(
    r"""[\s,;:/|&()\[\]"'*-]*(?:vs\.[\s,;:/|&()\[\]"'*-]*)?(?:(?:or|and|and/or|vs|versus|unless|alternatively|otherwise|else|maybe|perhaps|possibly|even|also
    |either|then|both|respectively|depending|it|is|would|could|might|be|if|he|she|male|female|men|women|smok\w+|when|for|with)\b
    [\s,;:/|&()\[\]"'*-]*){0,9}|[^.\n¤]{0,60}\b(?:otherwise|or\s+else|or\s+rather|alternatively|i\s+round\s+to|another|the\s+other|then\s+again)\b[^.\n¤]{0,30}"""
)
_SAME: Final = _rule(
    r"\s*[(\[,/=]*\s*(?:or|i\.?e\.?|that\s+is|which\s+is|equal\s+to|equivalent\s+to|equals|≈|=)?,?\s*(?:about\s+)?"
)
_ASIDE: Final = re.compile(r"\(([^()\[\]]*)\)|\[([^()\[\]]*)\]")
_INTRODUCED: Final = _rule(r"(?:\b(?:is|are|was|to|of|be|at|than|by|not|exactly|about)|[=:≈])\s*$")
"""In front of a bracket that is no aside: "the age is (14 weeks, 3 days)"."""
_KEPT_ASIDE: Final = _rule(
    r"[(\[]\s*(?:or|alternatively|maybe|perhaps|possibly|and|vs|correct\w*|actually|rather|no|should\s+be|final|(?:this|that)\s+is|[^()]{0,30}\d[^()]*\b(?:if|unless))\b"
)
_YES: Final = _rule(
    r"\W*(?:yes|yep|yeah|correct|right|indeed|exactly|that(?:'s|\s+is)\s+(?:right|correct))\b"
)
_NAMED_BEHIND: Final = _rule(
    r"\s*(?:is|as|for)\s+(?:the|my|our)\s+(?:(?:\w+\s+)?(?:answer|result|score|total)\b|§)"
)


# ---- Quantities of a passage ----


@dataclass(slots=True)
class _Mention:
    """A quantity in its sentence.

    Attributes:
        lead: the text of the sentence in front of it, from the quantity before on.
        tail: the text of the sentence behind it, up to the next quantity.
        sentence: which sentence it stands in.
        opens: whether no quantity stands before it in the sentence.
        reason: why it is not the answer; "" where it may be.
        tier: how plainly it is given: 4 by name, 3 as a result, 2 as some value, 1 in passing.
    """

    quantity: Quantity
    lead: str
    tail: str
    sentence: int
    opens: bool
    reason: str = ""
    tier: int = 1


def _read(text: str, subject: Subject) -> Statement:
    """Reads a plain text in which what is asked for is `NAME`."""
    text = _without_asides(text, subject)
    quantities = subject.scan(text)
    gaps = _gaps(text, quantities)
    _drop_repeated(quantities, gaps, subject)
    masked = VALUE.join(gaps)
    refusals = list(_REFUSAL.finditer(masked))
    if not quantities:
        return Statement(why=REFUSED if refusals else "", settled=bool(refusals))
    mentions = _mentions(masked, quantities)
    for mention in mentions:
        mention.reason = mention.reason or _reason(mention, subject)
        mention.tier = _tier(mention, subject)
    for before, mention in pairwise(mentions):
        if _CONTINUED.fullmatch(mention.lead):
            mention.tier = max(mention.tier, min(3, before.tier) if mention.opens else before.tier)
        if not mention.opens and before.reason in (OTHER, BOUND, DENIED) and _joins(mention.lead):
            mention.reason = mention.reason or before.reason
    _take_back(masked, mentions)
    for refusal in refusals:
        _refuse(masked, refusal, mentions)
    return _chosen(mentions, gaps)


def _without_asides(text: str, subject: Subject) -> str:
    """Leaves out brackets beside a value: "3 (range 0-10)", but not "0.412 s (412 ms)"."""
    for aside in reversed(list(_ASIDE.finditer(text))):
        inside = subject.scan(aside[0])
        front = _SENTENCE_END.split(text[: aside.start()])[-1]
        before = subject.scan(front)[-1:]
        if inside and before and not _KEPT_ASIDE.match(aside[0]):
            same = _is_same(before[0], inside[0]) or _INTRODUCED.search(front)
            arithmetic = _OPERATOR.search(
                text[aside.start() - 2 : aside.start()] + text[aside.end() : aside.end() + 2]
            )
            text = text if same or arithmetic else f"{text[: aside.start()]} {text[aside.end() :]}"
    return text


def _gaps(text: str, quantities: Sequence[Quantity]) -> list[str]:
    """The text in front of, between and behind quantities."""
    ends = [0, *(quantity.end for quantity in quantities)]
    starts = [*(quantity.start for quantity in quantities), len(text)]
    return [text[end:start] for end, start in zip(ends, starts, strict=True)]


def _drop_repeated(quantities: list[Quantity], gaps: list[str], subject: Subject) -> None:
    """Leaves out the same in another unit, "412 ms (0.412 s)"; makes "25 ± 2" its two ends."""
    for at in reversed(range(len(quantities) - 1)):
        if _SAME.fullmatch(gaps[at + 1]) and _is_same(*quantities[at : at + 2]):
            asked = unit_of(quantities[at + 1].unit) == subject.unit
            del quantities[at if asked else at + 1], gaps[at + 1]
    for at in range(len(quantities) - 1):
        if _RANGE.fullmatch(gaps[at + 1]) and not quantities[at].unit:
            quantities[at] = replace(quantities[at], unit=quantities[at + 1].unit)
        middle, half = quantities[at].value, quantities[at + 1].value
        numbers = isinstance(middle, float) and isinstance(half, float)
        if numbers and _PLUS_MINUS.fullmatch(gaps[at + 1]):
            quantities[at] = replace(quantities[at], value=middle - half)  # type: ignore[operator]
            quantities[at + 1] = replace(quantities[at + 1], value=middle + half)  # type: ignore[operator]
            gaps[at + 1] = " or "


def _is_same(one: Quantity, other: Quantity) -> bool:
    """Whether two quantities are of one dimension in two units."""
    first, second = unit_of(one.unit), unit_of(other.unit)
    kinds = {unit.dimension.replace("substance", "mass") for unit in (first, second)}
    return first != second and len(kinds) == 1 and kinds != {""}


def _mentions(masked: str, quantities: Sequence[Quantity]) -> list[_Mention]:
    mentions: list[_Mention] = []
    pieces = [*_SENTENCE_END.split(masked), ""]
    for number, (sentence, end) in enumerate(zip(pieces[::2], pieces[1::2], strict=True)):
        parts = sentence.split(VALUE)
        for at in range(len(parts) - 1):
            quantity = quantities[len(mentions)]
            tail = parts[at + 1] + VALUE * (at + 2 < len(parts))
            mentions.append(_Mention(quantity, parts[at][-_LEAD:], tail, number, at == 0))
        inside = mentions[len(mentions) - len(parts) + 1 :]
        following = "".join(pieces[2 * number + 2 : 2 * number + 3])
        if "?" in end and not _YES.match(following):
            _mark(inside, ASKED)
        elif not end and _BROKEN_OFF.search(sentence):
            _mark([each for each in mentions if not _NAMED.search(each.lead)], UNFINISHED)
            _mark(inside, UNFINISHED)
        elif inside and _CONDITIONAL.search(sentence):
            _mark_conditional(sentence, inside)
        _mark_operands(sentence, inside)
    return mentions


def _mark(mentions: Sequence[_Mention], reason: str) -> None:
    for mention in mentions:
        mention.reason = reason


def _mark_conditional(sentence: str, inside: Sequence[_Mention]) -> None:
    """Marks what a condition governs: its clause, or where that has no quantity, the clauses beside it."""
    clauses = _CLAUSE.split(sentence)
    governing = [_CONDITIONAL.search(clause) is not None for clause in clauses]
    alone = [flag and VALUE not in clause for flag, clause in zip(governing, clauses, strict=True)]
    start = 0
    for at, clause in enumerate(clauses):
        end = start + clause.count(VALUE)
        led = at > 0 and _LEADING.match(clauses[at - 1]) is not None
        if governing[at] or led or any(alone[max(0, at - 1) : at + 2]):
            _mark(inside[start:end], CONDITION)
        start = end


def _mark_operands(sentence: str, inside: Sequence[_Mention]) -> None:
    """Marks what is in front of the sign in "53 × 48 / 100.8 = 25.2"."""
    start = 0
    for side in _EQUALS.split(sentence)[:-1]:
        end = start + side.count(VALUE)
        if _OPERATOR.search(side):
            _mark(inside[start:end], OPERAND)
        start = end


_EQUALS: Final = re.compile("[=≈→]")
_OPERATOR: Final = re.compile(r"[×*/^√]|¤\s*[-+]|[-+]\s*¤|\s[+]\s")


_LEADING: Final = _rule(
    r"\W*(?:if(?!\s+(?:we|i|you|one)\s+(?:assume|take|use|apply))|unless|had|were|should)\b"
)


def _reason(mention: _Mention, subject: Subject) -> str:
    unit = mention.quantity.unit
    if subject.points and unit_of(unit).dimension:
        return f"{OTHER_UNIT} ({unit})"
    context = f"{mention.lead}▣{mention.tail}"
    return next((reason for reason, rule in _RULES if rule.search(context)), "")


def _tier(mention: _Mention, subject: Subject) -> int:
    kind = unit_of(mention.quantity.unit).dimension
    other_unit = kind not in ("", "fraction", subject.unit.dimension)
    if _NAMED.search(mention.lead):
        return 2 if other_unit else 4
    opening = mention.opens and _OPENING.fullmatch(mention.lead)
    head = _HEAD.search(mention.lead)
    if opening or _NAMED_BEHIND.match(mention.tail) or _RESULT.search(mention.lead):
        tier = 3
    elif head is not None:
        tier = 3 if _is_result(head) else 2
    else:
        tier = 1
    return tier - 2 if other_unit else tier


def _is_result(head: re.Match[str]) -> bool:
    """Whether what a quantity is said to be is the result, and not "the pain score"."""
    another = _SCORE_WORD.fullmatch(head[2]) and not _PLAIN_SCORE.search(head[1])
    return not another and _RESULT_HEAD.fullmatch(head[2]) is not None


_SCORE_WORD: Final = _rule(r"(?:score|index|scale|point)s?")
_PLAIN_SCORE: Final = _rule(
    r"(?:^|[^\w\s]|\b(?:the|a|an|this|that|total|final|overall|sum|your|our|my|his|her|their|patient['’]?s|s|calculated"
    r"|estimated|computed|corrected|risk|resulting|whole|final|correct|right|numeric|rounded|best|of|and|so|is|of|§))\s*$"
)


def _take_back(masked: str, mentions: Sequence[_Mention]) -> None:
    """Marks what stands in front of "wait, that is wrong"."""
    ends = [match.start() + 1 for match in _RETRACTION.finditer(masked)]
    _mark(mentions[: masked.count(VALUE, 0, max(ends, default=0))], TAKEN_BACK)


def _refuse(masked: str, refusal: re.Match[str], mentions: Sequence[_Mention]) -> None:
    """Marks what stands beside "cannot be determined", unless it is given all the same."""
    first = masked.count(VALUE, 0, refusal.start())
    behind = masked[refusal.start() :].split(VALUE)
    behind[0] = behind[0][len(refusal[0]) :]
    for mention, text in zip(mentions[first:], behind, strict=False):
        if not _DESPITE.search(text[-_LEAD:]):
            mention.reason = REFUSED
    for mention in mentions[:first]:
        if mention.tier < 3:
            mention.reason = REFUSED


def _chosen(mentions: Sequence[_Mention], gaps: Sequence[str]) -> Statement:
    """The last of the best; unclear where a better one is denied, a bound or the like."""
    stated = [at for at, mention in enumerate(mentions) if not mention.reason]
    doubtful = [at for at, mention in enumerate(mentions) if mention.reason in _OPEN]

    def rank(at: int) -> tuple[int, int, int, int]:
        tier = mentions[at].tier
        return (min(tier, 3), mentions[at].sentence, tier, at)

    best = max(stated, key=rank, default=None)
    rival = max(doubtful, key=rank, default=None)
    if best is not None and (rival is None or _outranks(mentions[best], mentions[rival])):
        tier = mentions[best].tier
        alone = len(stated) == 1 and not any(
            each.tier > 2 for each in mentions if each.reason in (OPERAND, OTHER)
        )
        labelled = mentions[best].lead.rstrip(" \"'*(").endswith(":")
        unnamed = (tier == 2 and not (alone and labelled)) or (tier == 1 and not alone)
        if tier < 1 or unnamed:
            return Statement(why=OTHER, unclear=tier > 0)
        return Statement(_alternatives(best, mentions, gaps), settled=tier >= 2)
    if rival is not None:
        return Statement(why=mentions[rival].reason, unclear=True, settled=True)
    why = mentions[-1].reason
    return Statement(why=why, settled=any(mention.reason == REFUSED for mention in mentions))


def _outranks(best: _Mention, rival: _Mention) -> bool:
    """Whether a stated value counts although another one is doubtful."""
    replaced = rival.reason in (DENIED, TAKEN_BACK, ASKED) and best.sentence >= rival.sentence
    return best.tier >= 3 or (replaced and best.tier >= 2)


def _joins(gap: str, tail: str = "") -> bool:
    """Whether the text between two quantities makes them alternatives, or ends of a range."""
    alike = _PARALLEL.match(f"{gap}{VALUE}{tail}")
    return "\n" not in gap and bool(_RANGE.fullmatch(gap) or _JOIN.fullmatch(gap) or alike)


_PARALLEL: Final = _rule(r"\s*(by|in|with|using|for|under|if|when|points?)\b[^.¤]{1,50}¤\s*\1\b")
"""12 by one formula, 14 by another."""


def _alternatives(
    best: int, mentions: Sequence[_Mention], gaps: Sequence[str]
) -> tuple[Quantity, ...]:
    """The chosen quantity, and those beside it that leave open which: "12 or 14"."""

    def joined(at: int) -> bool:
        units = {unit_of(each.quantity.unit) for each in mentions[at - 1 : at + 1]} - {NO_UNIT}
        return len(units) < 2 and _joins(gaps[at], mentions[at].tail)

    first = last = best
    while first and joined(first):
        first -= 1
    while last + 1 < len(mentions) and joined(last + 1):
        last += 1
    group = [each for each in mentions[first : last + 1] if each.reason in ("", CONDITION, BOUND)]
    values = [each.quantity.value for each in group if isinstance(each.quantity.value, float)]
    if 2 < len(values) == len(group) and values[0] == sum(values[1:]):
        group = group[:1]  # "GCS 12: 4, 3, 5"
    return tuple(each.quantity for each in group)


_LEAD: Final = 160
"""How much of a sentence is looked at in front of a quantity, in characters."""
