"""The grammar of statements: which quantity a passage states as the answer.

Each quantity of a passage is *stated*, unless it is

| it is | as in |
|---|---|
| denied | not 12.9; 12.9 is wrong; anything but 12.9; wrong answer: 12.9 |
| a bound | over 12.9; at most 12.9; 12.9 or more; <12.9 |
| asked | 12.9?; is it 12.9? No. |
| under a condition | 12.9 if male; had he smoked, it would be 12.9 |
| behind a refusal | cannot be determined; age is 12.9 |
| taken back | 12.9? No, 23.7; 12.9, corrected: 23.7; 12.9. Wait, that is wrong. |
| an operand | 4 + 3 + 5; the 4 of "4 + 3 = 7" |
| of something else | an input (age 50), a normal range, a cut-off, a risk; another unit beside a score (7 %, 7 days) |

Of what is stated the first counts, in running text the last; one behind "is", "=", ":" or at the beginning goes before any other.
Alternatives, lists, ranges and spreads ("12.9 or 23.7", "12.9, 23.7", "12.9 to 23.7", "12.9 ± 11") count as all their values.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final

from medical_tasks.medcalc_bench.formulas import formula_value, inside_str
from medical_tasks.medcalc_bench.plain_text import plain
from medical_tasks.medcalc_bench.quantities import Quantity, Scanner, dimension

__all__ = ["HERE", "REFUSAL", "RETRACTION", "Q", "Statement", "Subject", "read_statement"]


@dataclass(frozen=True, slots=True)
class Subject:
    """What is asked for.

    Attributes:
        scan: finds the quantities of its form.
        numeric: whether they are numbers, so that `str(<arithmetic>)` can be worked out.
        points: whether it is a number of points, which has no unit.
        unit: its unit, "" without one.
        own: words that usually name something else and here are part of what is asked for ("weight").
    """

    scan: Scanner
    numeric: bool = False
    points: bool = False
    unit: str = ""
    own: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Statement:
    """What a passage states.

    Attributes:
        stated: the quantity, several where the passage leaves open which, none where it states none.
        why: where it states none: what its last quantity is instead.
        plainly: it follows "is", "=" and the like, or opens the passage.
        settled: the passage is about the answer, so that no other place is looked at.
    """

    stated: tuple[Quantity, ...] = ()
    why: str = ""
    plainly: bool = False
    settled: bool = False


DENIED: Final = "a denial"
BOUND: Final = "a bound"
ASKED: Final = "a question"
CONDITION: Final = "a condition"
REFUSED: Final = "a refusal"
TAKEN_BACK: Final = "taken back"
REVISED: Final = "revised"
OPERAND: Final = "an operand, or arithmetic not worked out"
OTHER: Final = "of something else"
OTHER_UNIT: Final = "in a unit that a score does not have"

# The quantities of a passage are masked by Q, one sign each, so that the grammar is one of words.
Q: Final = "\x01"
HERE: Final = "\x02"
"""Stands in a passage where an answer has been named ("the final answer is")."""


def _any(words: str) -> str:
    """A group of alternatives: words apart by blanks, with an underscore for the blank in a phrase."""
    return "(?:" + "|".join(words.replace("_", r"\s+").split()) + ")"


def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_ABOUT: Final = _any(r"about approximately approx\.? around roughly nearly almost circa ca\. close_to")
_NOT: Final = r"(?:not|(?:is|was|are|were|do|does|did|ca|could|would|should|wo|has|have|had|must|need|ai)n['’]?t)"
_NEGATION: Final = (
    _any(
        rf"""{_NOT} never neither nor cannot hardly scarcely except excluding wrong(?:ly)? incorrect(?:ly)? false(?:ly)?
    mistaken(?:ly)? mistake erroneous(?:ly)? error doubt(?:ful|s|ed)? unlikely impossible rul(?:e|es|ed|ing)_out
    reject(?:s|ed|ing)? den(?:y|ies|ied) avoid ignor(?:e|es|ed|ing) disregard(?:ed|ing)? discard(?:ed|ing)?
    contrary_to far_from anything_but anything_other_than nowhere_near nothing_like no_longer rather_than instead_of
    other_than as_opposed_to different_from differs_from unequal_to nobody no_one in_no_way by_no_means
    under_no_circumstances on_no_account no_way none_of_the fail(?:s|ed)?_to in_place_of exclude[ds]? dismiss(?:ed)?
    forget(?:_about)? replac(?:e|ed|ing) scratch"""
    )
    + (
        "|"
        + _any(
            "previous earlier initial first original old former preliminary provisional tempting common naive rejected bad draft discarded"
        )
        + r"\s+(?:\w+\s+)?"
    )
    + _any("answer estimate value guess result calculation attempt number figure response draft thought")
)
_FILLER: Final = _any(
    """come out amount work get call way of only what be(?:en|come|ing)? becomes equals? to exactly about approximately
    around roughly near(?:ly)? like the a an any my our your its this final correct right true answer of score value
    result number total estimate figure reading calculation guess attempt response just simply really quite going
    even at all is it that say said think believe claim conclude as in fact case clearly definitely possibly
    necessarily likely have has was were are will would could may might can should must do does did i we you one
    points? patient'?s? here ever sure certain so for report(?:ed)? give choose accept write use option yield
    produce reach match support show indicate suggest mean"""
)
_OTHERS: Final = (
    r"\b(?:some(?:one|body)?|others?|many|most|people|you|they|he|she|one|(?:the|a)\s+(?:\w+\s)?(?:chart|note"
    r"|textbook|model|colleague|student|author|resident|doctor)s?|(?:\w+\s)?(?:students|clinicians|doctors|residents"
    r"|authors|models|people))\s+"
    r"(?:(?:might|may|could|would|will|often|wrongly|has|have|had)\s+)*(?:be\s+tempted\s+to\s+)?"
    r"(?:say|said|think|thought|claim|argue|answer|guess|believe|expect|assume|suggest|report|state|write|wrote"
    r"|propose|arrive|call|tell|told)(?:s|ed)?\b|\btempted\b"
    r"|\b(?:most|many|some|other)\s+(?:\w+\s+)?(?:students|clinicians|doctors|residents|authors|models|people"
    r"|tools)\s+(?:give|get|report|say|answer)\b"
    r"|\b(?:in\s+no\s+way|by\s+no\s+means|under\s+no\s+circumstances|on\s+no\s+account|no\s+way|nobody\s+\w+"
    r"|none\s+of\s+the|opposite)\b(?=[^,;]{0,90}$)"
)
_OPINION: Final = _any(
    "true correct right accurate the_case think believe say claim agree certain sure convinced conclude answer report"
)
_TO_SAY: Final = _any("that to_say to_claim to_think to_conclude to_answer to_report to_state to_assume to_believe")
_OUTDATED: Final = _any(r"old previous prior former initial first before(?:_\w+)? uncorrected unadjusted outdated")
_BEFORE_DENIED: Final = _compile(
    rf"(?:\b(?:{_NEGATION})|≠)\W*(?:{_FILLER}\W+){{0,14}}$"
    rf"|\b(?:{_NOT}|never|neither)\s+(?:\w+\s+){{0,2}}?{_OPINION}\b[^,;]{{0,80}}$"
    rf"|\b{_any('false wrong incorrect untrue mistaken mistake error')}\s+(?:\w+\s+)?{_TO_SAY}\b[^,;]{{0,80}}$"
    rf"|\b{_any('doubt deny disagree reject')}\b[^,;]{{0,80}}$|{_OTHERS}[^,;]{{0,60}}$|(?<=\w\s)no\s+$"
    rf"|\b{_OUTDATED}\s*[:=]\s*$"
    r"|\b(?:last|previous|prior|past"
    rf"|preceding)\s+{_any('year month week time visit admission hospital occasion day')}\b"
    r"[^,;]{0,40}$"
)
_WRONG: Final = _any(
    """wrong incorrect false untrue mistaken a_mistake an_error erroneous implausible impossible excluded ruled_out
    rejected invalid inaccurate discarded unlikely off_the_table out_of_the_question
    too_(?:high|low|large|small|big|much|little|many|few)"""
)
_LINK: Final = _any(
    """is was are seems? looks? appears? would could can may might must to have been be does did do has which that this
    it i clearly definitely certainly probably also simply just obviously therefore thus quite really absolutely now
    points?"""
)
_RIGHT: Final = _any("right correct true fit possible valid accurate plausible sense hold it so either apply be")
_AFTER_DENIED: Final = _compile(
    rf"\W*(?:{_LINK}\b\s*,?\s*){{0,6}}(?:"
    rf"(?:{_NOT}|n['’]t|cannot|never)\s+(?:\w+\s+){{0,4}}?(?:{_RIGHT}|(?:the|my|an?|our)\s+(?:\w+\s)?answer)\b"
    rf"|(?:not|n['’]t|cannot|never)\s*(?:[.,!;]|$)|{_WRONG}\b|or\s+not\b|not\s+what\b"
    r"|but\s+(?:that|this|it)\s+is\s+(?:without|before|not|only|uncorrected)\b"
    rf"|[^.,;:\n{Q}]{{0,60}}\b(?:is|was|are|were|seems|looks)\s+(?:\w+\s+)?{_WRONG}\b|[^.;:\n{Q}]{{0,40}}\b(?:is"
    r"|was)\s+not\s+what\b"
    r"|(?:my|the|our|an?|his|her)\s+(?:first|initial|earlier|previous|original|old|wrong|tentative|preliminary"
    r"|former)\b"
    rf"|(?:last|previous)\s+{_any('year month week time visit admission')}\b)"
)
_COMPARISON: Final = _any(
    """less fewer more greater higher lower larger smaller bigger older younger later earlier longer shorter better
    worse"""
)
_APPROXIMATELY: Final = rf"(?:{_ABOUT}|{_any('the a an score value of exactly just well far much even slightly only')})"
_LIMIT: Final = _any("minimum maximum ceiling floor limit bound min max")
_BELOW: Final = _any(
    r"""over under above below beyond exceed(?:s|ed|ing)? surpass(?:es|ed|ing)?
    at_(?:(?:the_very_)?least|most|(?:a_)?minimum|(?:a_)?maximum|or_above|or_below)(?:_of)? up_to upwards?_of
    north_of south_of in_excess_of short_of as_(?:low|high|much|many|little|late|early|few)_as before after until
    till since within prior_to past by not_exceeding capped_at reached tops starts_at limited_to"""
)
_BEFORE_BOUND: Final = _compile(
    rf"(?:[<>≤≥∈]\s*|\b(?:{_COMPARISON}\s+than(?:\s+or\s+equal\s+to)?|{_BELOW}|{_LIMIT}(?:\s+(?:value|score|of|is"
    r"|at))*)\s+)"
    rf"(?:{_APPROXIMATELY}\s+){{0,4}}$"
)
_AFTER_BOUND: Final = _compile(
    rf"\s*(?:\+(?!\s*[{Q}(\w])|(?:or|and)\s+(?:{_COMPARISON}|above|below|over|under|beyond|up|upwards?|before|after)\b"
    r"|at\s+(?:the\s+)?(?:least|most|minimum|maximum|earliest|latest)\b|(?:minimum|maximum|max|min|tops"
    r"|and\s+counting)\b"
    r"|[<>≤≥]\s*[A-Za-z]|(?:is|as|being)\s+(?:only\s+|just\s+|at\s+best\s+)?(?:an?|the|its|his|her)\s+(?:upper"
    r"|lower)\b|and\s+(?:goes|going|rising|falling)\b"
    r"|,\s*∞|up\s+to\b)"
)
_RHETORICAL: Final = (
    r"\s+(?:i'?m\s+not|needed|necessary|any|applicable|present|indicated|possible|required|appropriate|desired"
    r"|clinically|symptom|further|so\b|"
    r"(?:we|you|one|i)\s+(?:\w+\s+)?(?:plug|substitut|use|apply|take|add|sum|calculat|comput|round|put|insert|enter"
    r"|look|consider|count|total|"
    r"convert|divide|multiply|have|need|want))"
)
_IF: Final = _any(
    r"""(?:only_)?if unless whether suppos(?:e|ing) provided(?:_that|_the) in_case in_the_event hypothetically in_theory
    imagine(?:_that)? let(?:_us|['’]s)_(?:assume|say|suppose|imagine) for_the_sake_of by_(?:next|the_time) once
    as_soon_as when_[^,]{0,40}?\b(?:reaches|exceeds|rises|falls|hits|drops) (?:were|had)_(?:the|he|she|it|we|they)
    depend(?:s|ing)_on as_long_as only_when should_(?:the|he|she) except_(?:when|if) otherwise"""
)
_CONDITION: Final = _compile(rf"\b{_IF}\b(?!{_RHETORICAL})")
_SUBJUNCTIVE: Final = _compile(
    r"\b(?:(?:with(?:out)?|at)\s+(?!(?:this|these|that|all|the\s+(?:given|above|formula|equation|patient|values?"
    r"|provided)))|assuming|had|were)\b"
    r"[^.\n]{0,80}\b(?:would|could|might)\b"
    r"|\b(?:in|for|with|of)\s+(?:an?|any|every|the)\s+(?:[\w-]+\s+){0,3}(?:younger|older|healthy|hypothetical"
    r"|textbook|average|typical|normal|another|other|different|man|woman)\b"
    r"[^.\n]{0,60}\b(?:would|could|might)\b"
    r"|\b(?:for|in)\s+an?\s+(?:\w+\s+)?(?:patient|person|man|woman)\s+without\b|\b(?:in|for)\s+(?:an?"
    r"|the)\s+(?:hypothetical|textbook|fictitious|imaginary)\b|\b(?:would|could|might)\s+(?:have|otherwise)\b"
)
_YES: Final = _compile(r"\W*(?:yes|yep|yeah|correct|right|indeed|exactly|that(?:'s|\s+is)\s+(?:right|correct))\b")
_THAT: Final = r"(?:(?:but\s+)?(?:that|this|it|which)(?:['’]s|\s+(?:is|was|would\s+be|seems|looks)))"
RETRACTION: Final = _compile(
    rf"(?:^|[.!?;(\n]\s*|{Q}[^\w{Q}]{{0,5}}|\s-\s*)(?:(?:and|but|or|oh),?\s+)?(?:"
    r"(?:no|nope|wait|hold\s+on|sorry|oops|hmm+)"
    rf"(?=\s*[,.!:;-]|\s*$|\s+(?:wait|it|that|this|the\s+\w+\s+is|actually|sorry|i|rather|make|let|{Q}))"
    r"|(?:correction|edit|update|erratum|p\.?s\.?)\s*[:,.-]|(?:scratch|strike|scrap)\s+that|just\s+kidding"
    r"|i\s+(?:retract|take)\s+(?:that|this|it)\b|on\s+second\s+thoughts?|let\s+me\s+(?:correct|re-?\w+|fix|double)"
    rf"|{_THAT}\s+(?:\w+\s+)?(?:wrong|incorrect|not\s+(?:right|correct)|a\s+mistake|an\s+error"
    r"|not\s+the\s+(?:right\s+|correct\s+)?(?:answer|result))"
    r"|(?:that|this|it)\s+(?:(?:is|was|ca)n['’]?t|cannot)\s+(?:be\s+)?(?:right|correct|the\s+(?:\w+\s+)?answer)"
    r"|(?:my|the)\s+(?:mistake|bad|apologies)|(?:i|we)\s+(?:made\s+an?\s+(?:\w+\s)?(?:mistake|error)|miscalculated"
    r"|misread)"
    r"|(?:please\s+)?(?:ignore|disregard|forget)\s+(?:that|this|it|the\s+(?:above|previous))|the\s+(?:above"
    r"|previous\s+\w+)\s+(?:is|was)\s+(?:wrong|incorrect|false)"
    r"|(?:actually,?\s+)?that\s+(?:was|is)\s+(?:only|just|merely)\s+an?\b|that(?:['’]s|\s+is)\s+the\s+\w+\s+(?:for"
    r"|of)\s+another|actually,?\s+that\s+can['’]?t"
    r")"
)
_REVISION: Final = _any(
    r"""corrected actually i_mean make_(?:that|it) should_(?:be|read|have_been|say) revised updated? amended changed
    adjusted modified recalculated becomes instead(?!\s+of) rather(?!\s+than) more_precisely to_be_(?:precise|exact)"""
)
_CORRECTION: Final = _compile(
    rf"\b{_REVISION}\W*(?:(?:{_any('to as is it answer value result score the a an at be')}|it['’]s"
    rf"|{_ABOUT})\W+){{0,4}}(?={Q})"
)
_POSSIBLE: Final = _any(
    """able possible feasible calculated determined computed calculable computable determinable available enough
    applicable specified sufficient answerable known"""
)
_WORK_OUT: Final = _any(
    "determin calculat comput assess answer say tell give giv provid estimat scor judge know deriv help confirm establish state do make find"
)
REFUSAL: Final = _compile(
    r"\b(?:(?:cannot|can['’]?t|can\s+not|could\s+not|couldn['’]?t|unable\s+to|not\s+able\s+to|impossible\s+to"
    r"|not\s+possible\s+to|won['’]t|will\s+not|refuse\s+to|"
    rf"decline\s+to)\s+(?:\w+\s+){{0,3}}?{_WORK_OUT}\w*|insufficient|indeterminate|undetermined|undefined"
    r"|inconclusive|unanswerable|N/A|unknown|unclear|uncertain|"
    rf"impossible|unable|not\s+(?:be\s+)?{_POSSIBLE}|(?:do\s+not|don['’]?t)\s+(?:know|have)|no\s+(?:answer|idea"
    rf"|result)|no\s+(?:\w+\s+){{1,3}}can\s+be|"
    r"refuse|decline|lacks?|lacking|missing|(?:more|additional|further)\s+(?:information|data|details)\s+(?:is|are"
    r"|would\s+be)?\s?(?:needed|required))\b"
)
_DESPITE: Final = _compile(r"\b(?:answer|score|total|result|final|therefore|thus|hence)\b|=")
# Words without which a pattern cannot match: the searches cost most of the time.
_HINTS: Final = {
    kind: frozenset(words.split())
    for kind, words in {
        DENIED: """not never neither nor cannot hardly scarcely except excluding wrong wrongly incorrect incorrectly false
            falsely mistaken mistakenly mistake erroneous erroneously error doubt doubtful doubts doubted unlikely
            impossible rule rules ruled ruling reject rejects rejected rejecting deny denies denied avoid ignore ignores
            ignored ignoring disregard disregarded disregarding discard discarded discarding contrary far anything
            nowhere nothing longer rather instead other opposed different differs unequal nobody no previous earlier
            initial first original old former preliminary provisional tempting common naive untrue disagree implausible
            excluded invalid inaccurate off out too n t some someone somebody others many people you they he she one
            chart note textbook model colleague student author tempted prior uncorrected unadjusted outdated before last
            past preceding was were way means circumstances account none fail fails failed place exclude excludes
            dismiss dismissed replace replaced replacing scratch students clinicians doctors residents authors models
            most resident doctor bad opposite isn wasn don forget""",
        BOUND: """less fewer more greater higher lower larger smaller bigger older younger later earlier longer shorter better
            worse over under above below beyond exceed exceeds exceeded exceeding surpass surpasses at up upward upwards
            north south excess short as before after until till since within prior past by minimum maximum ceiling floor
            limit bound min max tops and capped reached starts limited has is being""",
        CONDITION: """if unless whether suppose supposing provided case event hypothetically theory were had depends depending
            long when should except otherwise would could might imagine let lets sake argument next once soon say for in
            of with at patient man woman""",
        REFUSED: """cannot can could unable impossible insufficient indeterminate undetermined undefined inconclusive unknown
            uncertain unclear unanswerable n not don do no refuse decline lack lacks lacking missing more additional
            further won will""",
        TAKEN_BACK: """no nope wait hold sorry oops hmm hmmm correction scratch strike second let wrong incorrect right correct
            mistake error my apologies miscalculated misread made ignore disregard forget bad edit update erratum p s
            scrap kidding retract take that the above previous actually but""",
        REVISED: """corrected actually mean make should revised update updated amended changed adjusted modified recalculated
            becomes instead rather precisely precise exact""",
    }.items()
}
_BOUND_SIGNS: Final = re.compile(r"[<>≤≥∈+]")
_WORDS: Final = re.compile("[a-z]+")

_PEOPLE: Final = _any(
    """men women man woman males? females? boys? girls? adults? child(?:ren)? elderly black non-black smokers?
    diabetics? pregnant others? everyone_else"""
)
_JOIN: Final = _compile(
    r"[\s,;:/|&()\[\]\"'*-]*(?:(?:"
    + _any(
        "or and and/or vs\\.? versus alternatively otherwise else maybe perhaps possibly even also either then both respectively"
    )
    + rf"|{_ABOUT}|{_any('depending it is would could might be')}"
    rf"|(?:{_any('for in if when with were')}\s+)?(?:{_any('a an the patient he she they is are were was')}\s+){{0,4}}{_PEOPLE})"
    r"\b[\s,;:/|&()\[\]\"'*-]*|[0-9]{1,2}[).]\s*){0,9}"
)
_CONTRAST: Final = _compile(
    r"[^.\n]{0,60}\b(?:otherwise|without|alternatively|as\s+well\s+as|or\s+else|or\s+rather|compared\s+to|the\s+other"
    r"|another)\b[^.\n]{0,60}"
)
_LABEL: Final = _compile(
    r"\b(option|method|case|scenario|formula|version|choice|approach|estimate|model|variant|equation"
    r"|group)\s+\w+\s*[:=]\s*$"
)
_WITH: Final = _compile(r"\s*(for|in|with(?:out)?|using|by|if|when|on|under|based|according|assuming|from|at)\b")
_SPREAD: Final = _compile(rf"{Q}\s*(?:±|\+/-|\+-|plus\s+or\s+minus|plus/minus|give\s+or\s+take)\s*(?={Q})")
_FROM_TO: Final = _compile(
    rf"\b(?:revis|chang|correct|updat|adjust|amend)\w*\s+(?:\w+\s+){{0,4}}from\s+{Q}\s+to\s+(?={Q})"
)
_RANGE: Final = _compile(
    rf"{Q}\s*(?:-|\b(?:up\s+)?to\b|\bthrough\b|\.{{2,}}|…|~)\s*(?={Q})|\bbetween\s+(?:about\s+)?{Q}\s+and\s+(?={Q})"
)
_BRACKETS: Final = re.compile(r"\(([^()\[\]]*)\)|\[([^()\[\]]*)\]")
_KEPT: Final = _compile(
    rf"\s*(?:{_any('or alternatively maybe perhaps possibly and vs correction corrected actually rather no should_be')}\b"
    r"|(?:this|that)\s+is\s+(?:wrong|incorrect)\b"
    rf"|[^\w{Q}]*{Q}\W*$"
    rf"|{Q}\s*{_any('if when with without for in assuming using')}\b)"
)
_END: Final = re.compile(
    r"[.!?]+(?=[\s\"')\]*]"
    r"|$)(?<!\bapprox\.)(?<!\bca\.)(?<!\bvs\.)(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\best\.)(?<!\bDr\.)(?<!\bpt\.)|\n|;"
)
_SENTENCE: Final = re.compile(r"[.!?]\s+(?=[A-Z*(])")
_CLAUSE: Final = _compile(
    r",(?=\s|$)|\s-{1,2}\s|(?<!anything )(?<!nothing )(?<!none )\bbut\b(?!\s+only)|\b"
    + _any("so therefore thus hence because then giving yielding while whereas")
    + r"\b"
)
_EQUALS: Final = re.compile(r"[=≈→]")

_INPUTS: Final = _any(
    """age weight height temperature heart_rate pulse respiratory_rate creatinine albumin glucose bun
    urea(?:_nitrogen)? h(?:a|ae)?emoglobin h(?:a|ae)?ematocrit platelets? platelet_count inr bilirubin potassium
    chloride bicarbonate hdl triglycerides? blood_pressure systolic diastolic sbp dbp qt(?:_interval)?
    rr(?:_interval)? insulin ast alt wbc cycle_length lmp last_menstrual_(?:period|date) bmi calcium sodium dose
    dosage cholesterol today current_date"""
)
_INPUT: Final = _compile(
    r"(?<!corrected )(?<!adjusted )(?<!ideal )(?<!target )(?<!equivalent )(?<!ldl )"
    rf"\b({_INPUTS})\s*(?:is|was|are|were|of|[:=])?\s*$"
)
_INPUT_WORDS: Final = frozenset(
    """age weight height temperature rate pulse creatinine albumin glucose bun urea nitrogen hemoglobin haemoglobin
    hematocrit haematocrit platelet platelets count inr bilirubin potassium chloride bicarbonate hdl triglyceride
    triglycerides pressure systolic diastolic sbp dbp qt rr interval insulin ast alt wbc length lmp period date bmi
    calcium sodium dose dosage cholesterol today""".split()
)
_TIMES_BEFORE: Final = _compile(
    r"(?:\b(?:twice|double|triple|(?:two|three|four|five|ten|[0-9]+)\s+times|half(?:\s+of)?|(?:one|two|a)\s+(?:third"
    r"|quarter|half|tenth)s?\s+of|root\s+of|logarithm\s+of|"
    r"log|ln|sqrt|factor\s+of)|√)\s*[({]?\s*$"
)
_TIMES_AFTER: Final = _compile(
    r"\s*(?:[-\s]?fold\b|squared\b|cubed\b|to\s+the\s+power\b|(?:thousand|million|billion)\b|times\b|multiplied\b"
    r"|divided\b|minus\b|plus\s+(?:the|an?)\b|[×*]\s*[0-9]"
    r"|(?:\w+\s+)?(?:above|below|over|under|short\s+of|higher\s+than|lower\s+than|more\s+than|less\s+than)\b"
    r"|(?:standard\s+deviations?|SDs?)\b)"
)
_COUNT_BEFORE: Final = _compile(
    r"\b(?:worth|needs?|another|lost|loses?|contributes?|alone\s+\w+|sum\s+of|starts?\s+at|begins?\s+at|there\s+are"
    r"|each\s+\w+)\s*$"
)
_COUNT_AFTER: Final = _compile(
    r"\s*(?:of\s+(?:the\s+)?)?(?:criteria|items|components|variables|parameters|questions|domains|elements|points)?\s*"
    r"(?:(?:are|were|is|was|could|can|cannot|have)\s+(?:not|n['’]t|missing|unknown|unmet|absent|lost|lacking)\b"
    r"|(?:items|components|variables|parameters|questions|domains)\b|"
    r"in\s+this\s+(?:score|rule)\b|more\s+points?\b|for\s+(?:age|sex|each|one|the\s+\w+)\b|short\b|away\b|left\b"
    r"|until\b)"
)
_ELSEWHERE_WORDS: Final = frozenset(
    """normal reference healthy typical usual off offs cutoff cutoffs threshold thresholds target goal scale range
    ranges limit possible scores values levels results totals points""".split()
)
_BESIDE_WORDS: Final = frozenset(
    "risk mortality probability chance likelihood survival incidence rate sensitivity specificity prevalence".split()
)
_LEAD: Final = 160
_ELSEWHERE: Final = _compile(
    r"\b(?:normal|reference|healthy|typical|usual)\b[^,;:=]{0,40}$"
    r"|\b(?:cut-?offs?|thresholds?|(?P<own>target)|goal|scale|ranges?|upper\s+limit|lower\s+limit"
    r"|possible)\b[^,;=]{0,40}$"
    r"|\b(?:scores|values|levels|results|totals|points)\s+(?:of|from|between|above|below|over|under"
    r"|at)\s+(?:about\s+)?$"
)
_STATISTIC: Final = _compile(
    r"\b(?:(?P<own>(?<!i )mean)|average|median|maximum|minimum|maximal|minimal|standard\s+deviation|change\s+in"
    r"|error\s+of|expected|difference\s+between|normally|usually|comparison|uncorrected|"
    r"unadjusted|population|derivation|cohort|examples?|sample|template|placeholder|for\s+instance|goal|brought"
    r"|so\s+far|thus\s+far|up\s+to\s+(?:here|now)|at\s+this\s+point|interim|"
    r"intermediate|preliminary|provisional|running|partial|subtotal|brother|sister|mother|father|wife|husband|son"
    r"|daughter|twin|cousin|sibling|roommate|another\s+patient|other\s+patient|"
    r"different\s+patient|first\s+step|textbook|of\s+that|opposite|(?:years?|months?|weeks?|days?)\s+ago|yesterday"
    r"|before\s+(?:treatment|surgery|therapy|admission|transfusion|the\s+\w+)|"
    r"(?:patients|people|those|adults|persons|individuals|children|cases)\s+(?:with|who|whose|having))\b[^;:=\n]{0,90}$"
    r"|\b(?:normal|healthy|expected|(?<!i )mean|average|median|reference|typical|usual|examples?|sample|template"
    r"|another\s+patient\)?)(?:\s+\w+){0,4}\)?\s*[:=]\s*$"
)
_LONG_AGO: Final = _compile(
    r"\s*(?:at|on|during|in)\s+(?:the|his|her|their)?\s*(?:last|previous|prior|first)\b"
    r"|[^.;\n]{0,40}\b(?:comes\s+from|dates\s+from|must\s+not\s+be|should\s+not\s+be)\b"
    r"|,?\s*(?:which|but\s+(?:it|this|that)|and\s+(?:it|this|that))\s+(?:still|yet|then)?\s*(?:has|have|needs?|must"
    r"|is|are)\s+(?:still\s+|yet\s+|then\s+)?(?:to\s+be|be|not\s+yet)\b"
    r"|,?\s*but\s+(?:there|we|i|you)\s+(?:are|is|still|have|need|must)\b|\.\s+(?:next|to\s+obtain|now\s+we"
    r"|then\s+we)\b|\s*up\s+to\b"
)
_BESIDE: Final = _compile(
    rf"\b(?:{'|'.join(sorted(_BESIDE_WORDS))})\b[^,;:]{{0,30}}"
    rf"(?:is|was|of|=|at|{_ABOUT})\s*$"
)
_IN_GENERAL: Final = _compile(r"^\W*(?:an?|any|each|every)\s(?:[\w-]+\s){1,6}(?:of|at)\s*$")
_MEANS: Final = _compile(
    r"\s*(?:would|may|might|could|can|indicates?|suggests?|means?|corresponds?|usually|typically|are|"
    r"(?:is|was)\s+(?:considered|typical|seen|common|usual|normal|high|low|associated|linked))\b"
)
_CUE: Final = _compile(
    r"(?:\b(?:is|are|was|be|equals?|equ\w*\s+to|(?:score|value|index|total|result|estimate|answer)(?:\s+(?:of|at))?"
    r"|scored?|scores|totals?|"
    r"totall?ing|remains|gives?|giving|yields?|yielding|comes\s+(?:out\s+)?to|amounts\s+to|becomes|(?:due|falls?|is"
    r"|be)\s+on|"
    r"evaluates?\s+to|leads?\s+to|leading\s+to|works?\s+out\s+(?:to(?:\s+be)?|at)|arrive\s+at|(?:in\s+total|overall"
    r"|altogether|all\s+in\s+all|in\s+sum|together|hence|thus|so|therefore)[,:]?|"
    rf"(?:calculated|estimated)\s+(?:as|at|to\s+be)|obtain(?:ed)?|gets?|have|met|meets|{_ABOUT})|[:=≈→])[\s\"'({{\[]*"
    rf"(?:(?:{_ABOUT}"
    rf"|{_any('just exactly only a an the total of score probably likely therefore thus now to_be')})\s+){{0,4}}"
    r"[\s\"'({\[]*[-+]?\s*$"
)
_CUE_REACH: Final = 60
_OPENING: Final = _compile(rf"[\s\"'({{\[*•·{HERE}-]*(?:{_ABOUT}\s*|[~≈]\s*)?$")
_LETTER: Final = re.compile(r"(?:^|[\s(,;])[A-Za-z]{1,2}\s*=\s*$")
_LEGEND: Final = re.compile(r"\s*[:=]\s*[A-Za-z]")
_NAMED_AFTER: Final = _compile(r"\s*(?:is|as)\s+(?:the|my|our)\s+(?:\w+\s+)?(?:answer|result|score|total)\b")
_CITATION: Final = re.compile(r"(?<=[\w.%)])\s?\[\s{0,2}[0-9]{1,3}\s{0,2}\]|(?:^|(?<=\n))\s{0,4}\[[0-9]{1,3}\](?=\s\S)")
_BARE: Final = re.compile(r"-?[0-9]{1,15}(?:\.[0-9]{1,15})?")


def read_statement(text: str, subject: Subject, *, last: bool = False) -> Statement:
    """Reads what a passage states as the answer.

    Args:
        text: an answer, or a passage that gives one; `HERE` may stand in it where the answer is named.
        subject: what is asked for.
        last: the last statement counts and not the first, as fits running text.
    """
    if subject.numeric:
        if _BARE.fullmatch(text):
            return Statement((Quantity(float(text), 0, len(text)),), plainly=True, settled=True)
        inner = inside_str(text) if "str(" in text else None
        if inner is not None:
            # The form that the authors' prompt asks for; without a value it is a number with its unit, or a formula with a gap.
            value = formula_value(inner)
            if value is not None:
                return Statement((Quantity(value, 0, len(inner)),), plainly=True, settled=True)
            if any(sign in inner for sign in "+-*/("):
                return Statement(why=OPERAND, settled=True)
            text = inner
    text = _IDIOM.sub(" ", plain(_CITATION.sub(" ", text) if "[" in text else text))
    if "_" in text:
        text = _SNAKE.sub(" ", text)
    if last:
        # Mostly the last sentence is enough; what stands before it cannot take it back.
        start = max((end.end() for end in _SENTENCE.finditer(text)), default=0)
        safe = start and REFUSAL.search(text, 0, start) is None
        statement = _read(text[start:], subject, last=True) if safe else Statement()
        if statement.plainly:
            return statement
    return _read(text, subject, last=last)


_IDIOM: Final = _compile(
    r"\b(?:there\s+is\s+|i\s+have\s+)?no\s+(?:doubt|question)(?:\s+that)?\b|\bwithout\s+(?:any\s+)?doubt\b"
    r"|\bnothing\s+other\s+than\b|"
    r"\b(?:unless\s+i\s*(?:['’]m|\s+am)|if\s+i\s*(?:['’]m|\s+am)\s+not)\s+mistaken\b"
    r"|\bprovided\s+that\s+the\s+\w+\s+(?:are|is)\s+(?:right|correct)\b|\bnot\s+only\b"
)
_SNAKE: Final = re.compile(r"(?<=[A-Za-z])_(?=[A-Za-z])")


def _read(text: str, subject: Subject, *, last: bool) -> Statement:
    quantities = subject.scan(text)
    if not quantities:
        refused = REFUSAL.search(text) is not None
        return Statement(why=REFUSED if refused else "", settled=refused)
    return _Passage(*_masked(text, quantities), subject).statement(last=last)


def _masked(text: str, quantities: list[Quantity]) -> tuple[str, list[Quantity]]:
    """The text with a sign for each quantity; asides in brackets gone, ranges and spreads as choices."""
    parts: list[str] = []
    end = 0
    for quantity in quantities:
        parts += [text[end : quantity.start], Q]
        end = quantity.end
    masked = _FROM_TO.sub(f"{Q}, corrected: ", "".join((*parts, text[end:])))
    if "(" in masked or "[" in masked:
        masked, quantities = _without_asides(masked, quantities)
    if len(quantities) == 1:
        return masked, quantities
    for spread in reversed(list(_SPREAD.finditer(masked))):
        at = masked.count(Q, 0, spread.start())
        middle, half = quantities[at], quantities[at + 1]
        if isinstance(middle.value, float | int) and isinstance(half.value, float | int):
            ends = (replace(middle, value=middle.value + sign * half.value) for sign in (-1, 1))
            quantities = [*quantities[:at], *ends, *quantities[at + 2 :]]
        masked = f"{masked[: spread.start()]}{Q} or {masked[spread.end() :]}"
    for span in _RANGE.finditer(masked):
        at = masked.count(Q, 0, span.end()) - 1
        if not quantities[at].unit:
            quantities[at] = replace(quantities[at], unit=quantities[at + 1].unit)
    return _RANGE.sub(f"{Q} or ", masked), quantities


def _without_asides(masked: str, quantities: list[Quantity]) -> tuple[str, list[Quantity]]:
    """Without what stands in brackets beside a quantity, unless it is another one to choose or a correction."""
    dropped: set[int] = set()

    def shown(bracket: re.Match[str]) -> str:
        inside = bracket[1] if bracket[1] is not None else bracket[2]
        if Q not in inside:
            return f" , {inside} , " if _AFTER_DENIED.match(inside) else " "
        first = masked.count(Q, 0, bracket.start())
        if _KEPT.match(inside) and first and not _other_unit(quantities[first - 1], quantities[first]):
            return f" , {inside} , "
        dropped.update(range(first, first + inside.count(Q)))
        return " "

    result = _BRACKETS.sub(shown, masked)
    if len(dropped) == len(quantities):  # nothing else is there
        return re.sub(r"[()\[\]]", " ", masked), quantities
    return result, [quantity for at, quantity in enumerate(quantities) if at not in dropped]


def _other_unit(one: Quantity, other: Quantity) -> bool:
    """Whether two quantities are of different units, so that the second is no choice but an aside, or the same again."""
    first, second = (quantity.unit.lower().rstrip("s") for quantity in (one, other))
    return first != second and ("" not in (first, second) or "%" in (first, second))


class _Passage:
    """A masked text with its quantities, and what voids each of them."""

    def __init__(self, text: str, quantities: list[Quantity], subject: Subject) -> None:
        self.text = text
        self.quantities = quantities
        self.subject = subject
        self.places = [at for at, sign in enumerate(text) if sign == Q]
        self.voids = [""] * len(self.places)
        self.words = frozenset(_WORDS.findall(text.lower()))
        self.hints = {kind for kind, words in _HINTS.items() if not words.isdisjoint(self.words)}
        if _BOUND_SIGNS.search(text):
            self.hints.add(BOUND)
        if "≠" in text:
            self.hints.add(DENIED)

    def statement(self, *, last: bool) -> Statement:
        """What the passage states."""
        self._void_by_words()
        here = self.text.find(HERE)
        best: list[int] = []
        strength = -9.0
        for group in self._groups():
            for at in group:
                self.voids[at] = self.voids[at] or self._otherwise(at)
            stated = [at for at in group if not self.voids[at]]
            if not stated or self.places[group[-1]] < here:
                continue
            found = max(map(self._strength, stated)) + max(map(self._fit, stated))
            if found > strength or (last and found == strength):
                # "12 (14 if he smokes)" leaves it open; what is denied beside a statement does not.
                best, strength = [at for at in group if self.voids[at] in ("", CONDITION)], found
        if not best:
            why = next((void for void in reversed(self.voids) if void), "")
            return Statement(why=why, settled=here >= 0 or any(void not in ("", OPERAND, OTHER) for void in self.voids))
        return Statement(self._without_parts([self.quantities[at] for at in best]), plainly=strength >= 2, settled=True)

    def _groups(self) -> list[list[int]]:
        """The quantities, together with those that are offered beside them."""
        groups = [[0]]
        for at in range(1, len(self.places)):
            between = self.text[self.places[at - 1] + 1 : self.places[at]]
            joined = _JOIN.fullmatch(between) or _CONTRAST.fullmatch(between) or self._is_parallel(at, between)
            if joined and not _other_unit(self.quantities[at - 1], self.quantities[at]):
                groups[-1].append(at)
            else:
                groups.append([at])
        return groups

    def _is_parallel(self, at: int, between: str) -> bool:
        """Whether two quantities stand alike: "12 using A, 23 using B", "method 1: 12, method 2: 23"."""
        one, other = _WITH.match(between), _WITH.match(self.text, self.places[at] + 1)
        if one and other:
            return one[1].lower().removesuffix("out") == other[1].lower().removesuffix("out")
        label = _LABEL.search(between)
        return label is not None and _LABEL.search(self.text[: self.places[at - 1]]) is not None

    @staticmethod
    def _without_parts(chosen: list[Quantity]) -> tuple[Quantity, ...]:
        """Of "GCS 12, 4, 3, 5" the total."""
        numbers = [each.value for each in chosen if isinstance(each.value, float)]
        if 2 < len(numbers) == len(chosen) and min(numbers) > 0 and numbers[0] == sum(numbers[1:]):
            return tuple(chosen[:1])
        return tuple(chosen)

    def _void_by_words(self) -> None:
        """Finds denials, bounds, questions, conditions, refusals and corrections."""
        start, refused = 0, False
        spoken_of = self.hints - {TAKEN_BACK, REVISED}
        for end in (
            (*(mark.end() for mark in _END.finditer(self.text)), len(self.text))
            if spoken_of or "?" in self.text
            else ()
        ):
            inside = [at for at, place in enumerate(self.places) if start <= place < end]
            sentence = self.text[start:end]
            if inside:
                self._void_in_sentence(sentence, start, inside, refused=refused)
            refusal = REFUSAL.search(sentence) if REFUSED in self.hints else None
            if refusal and not any(self.places[at] < start + refusal.start() and not self.voids[at] for at in inside):
                refused = True
            start = end
        taken_back = 0
        if TAKEN_BACK in self.hints:
            taken_back = max((match.start() + 1 for match in RETRACTION.finditer(self.text)), default=0)
        for match in _CORRECTION.finditer(self.text) if REVISED in self.hints else ():
            if not self.voids[self.text.count(Q, 0, match.end())]:
                taken_back = max(taken_back, match.start())
        for at, place in enumerate(self.places):
            if place < taken_back:
                self.voids[at] = self.voids[at] or TAKEN_BACK

    def _void_in_sentence(self, sentence: str, start: int, inside: list[int], *, refused: bool) -> None:
        end = start + len(sentence)
        asked = "?" in sentence[-3:] and _YES.match(self.text, end) is None
        conditional = CONDITION in self.hints
        subjunctive = conditional and _SUBJUNCTIVE.search(sentence) is not None
        clauses = _clauses(sentence, conditional=conditional)
        for at in inside:
            place = self.places[at] - start
            begin, governed = next((begin, flag) for begin, stop, flag in clauses if begin <= place < stop)
            before = self.places[at - 1] + 1 - start if at else 0
            after = self.places[at + 1] + 1 - start if at + 1 < len(self.places) else len(sentence)
            lead, tail = sentence[max(begin, before, place - _LEAD, 0) : place], sentence[place + 1 : after]
            if asked:
                self.voids[at] = ASKED
            elif BOUND in self.hints and (_BEFORE_BOUND.search(lead) or _AFTER_BOUND.match(tail)):
                self.voids[at] = BOUND
            elif DENIED in self.hints and (_BEFORE_DENIED.search(lead) or _AFTER_DENIED.match(tail)):
                self.voids[at] = DENIED
            elif governed or subjunctive:
                self.voids[at] = CONDITION
            elif REFUSED in self.hints and (REFUSAL.search(lead) or (refused and not _DESPITE.search(lead))):
                self.voids[at] = REFUSED

    def _otherwise(self, at: int) -> str:
        """OPERAND, OTHER or the unit's fault, where the quantity is an operand or of something else; "" where it is not."""
        place, quantity = self.places[at], self.quantities[at]
        line_end = self.text.find("\n", place)
        rest = self.text[place + 1 : line_end if line_end >= 0 else len(self.text)]
        sign = _EQUALS.search(rest) if Q in rest else None
        if sign and sign[0] == "→" and self._fit(at + 1) < 0 <= self._fit(at):
            sign = None
        end_of_clause = self.text[place + 1 :]
        head = self.text[max(0, place - 40) : place]
        if _TIMES_BEFORE.search(head) or _TIMES_AFTER.match(end_of_clause):
            return OPERAND
        if self.subject.points and (_COUNT_BEFORE.search(head) or _COUNT_AFTER.match(end_of_clause)):
            return OTHER
        if quantity.undone or (sign and Q in rest[sign.end() :] and not re.search(r"[.;,]\s", rest[: sign.start()])):
            return OPERAND
        if self.subject.points and dimension(quantity.unit):
            return f"{OTHER_UNIT} ({quantity.unit})"
        lead = self.text[max(place - _LEAD, self.places[at - 1] + 1 if at else 0) : place]
        lead = lead[max(map(lead.rfind, (",", ";", "\n", ". "))) + 1 :]
        own = self.subject.own
        named = None if _INPUT_WORDS.isdisjoint(self.words) else _INPUT.search(lead)
        elsewhere = None if _ELSEWHERE_WORDS.isdisjoint(self.words) else _ELSEWHERE.search(lead)
        if (named and named[1].lower().split()[0] not in own) or (
            elsewhere and (elsewhere["own"] or "").lower() not in own
        ):
            return OTHER
        if _IN_GENERAL.search(lead) and _MEANS.match(rest):
            return OTHER
        sentence = max(self.text.rfind(mark, 0, place) for mark in (";", "\n", ". ", HERE)) + 1
        statistic = _STATISTIC.search(self.text[max(sentence, place - _LEAD) : place])
        if (statistic and (statistic["own"] or "").lower() not in own) or _LONG_AGO.match(rest):
            return OTHER
        if "risk" not in own and not _BESIDE_WORDS.isdisjoint(self.words) and _BESIDE.search(lead):
            return OTHER
        unit = self.subject.unit
        if quantity.unit and unit and "" in self.voids[:at] and dimension(quantity.unit) != dimension(unit):
            return OTHER  # beside the answer: "25.2 mL/min, 48 kg"
        return ""

    def _fit(self, at: int) -> float:
        """More for a quantity in the unit asked for; less for one in another, and for the value of a letter ("k = 0.85")."""
        unit, wanted = self.quantities[at].unit, self.subject.unit
        if unit and wanted:
            return 0.5 if dimension(unit) == dimension(wanted) else -1.5
        if (dimension(unit) if self.subject.points else unit == "%") or _LETTER.search(
            self.text[max(0, self.places[at] - 12) : self.places[at]]
        ):
            return -1.5
        return 0.0

    def _strength(self, at: int) -> int:
        """2 for what is plainly stated: it opens the passage, or follows "is" and the like; 1 for any other quantity."""
        place = self.places[at]
        line = max(self.text.rfind("\n", 0, place), self.text.rfind(HERE, 0, place)) + 1
        before = max(line, self.places[at - 1] + 1 if at else 0)
        lead = self.text[max(before, place - _CUE_REACH) : place]
        if lead.endswith((" is ", "= ", ": ")):
            return 2
        if _NAMED_AFTER.match(self.text, place + 1):
            return 2
        if before == line and _OPENING.match(lead) and not _LEGEND.match(self.text, place + 1):
            return 2
        return 2 if _CUE.search(lead) and not _IN_GENERAL.search(lead) else 1


def _clauses(sentence: str, *, conditional: bool) -> list[tuple[int, int, bool]]:
    """Start, end and whether a condition governs it, for each clause of a sentence."""
    starts = [0, *(match.start() for match in _CLAUSE.finditer(sentence))]
    clauses = list(zip(starts, [*starts[1:], len(sentence)], strict=True))
    conditions = [_CONDITION.search(sentence, *clause) if conditional else None for clause in clauses]
    governed = [condition is not None for condition in conditions]
    for at, condition in enumerate(conditions):
        if condition is None or Q in sentence[slice(*clauses[at])]:
            continue
        # "If he smokes, 4" and "4, if he smokes": the clause has nothing of its own to govern.
        others = range(at + 1, at + 2) if at + 1 < len(clauses) else reversed(range(at))
        for other in others:
            if Q in sentence[slice(*clauses[other])]:
                governed[other] = True
                break
    return [(*clause, flag) for clause, flag in zip(clauses, governed, strict=True)]
