"""The words of the grammar of statements: patterns over a passage in which each quantity is masked by `Q`.

`statements` says how they are applied. `HINTS` and the sets named `..._WORDS` hold words without which a pattern cannot match: they
save most searches, and a test shows that they change no decision.
"""

from __future__ import annotations

import re
from typing import Final

PLAIN: Final = 2.0
DENIED: Final = "a denial"
BOUND: Final = "a bound"
ASKED: Final = "a question"
CONDITION: Final = "a condition"
REFUSED: Final = "a refusal"
TAKEN_BACK: Final = "taken back"
REVISED: Final = "revised"
UNFINISHED: Final = "unfinished"
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


ABOUT: Final = _any(r"about approximately approx\.? around roughly nearly almost circa ca\. close_to")
NOT: Final = r"(?:not|(?:is|was|are|were|do|does|did|ca|could|would|should|wo|has|have|had|must|need|ai)n['’]?t)"
NEGATION: Final = (
    _any(
        rf"""{NOT} never neither nor cannot hardly scarcely except excluding wrong(?:ly)? incorrect(?:ly)? false(?:ly)?
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
            """previous earlier initial first original old former preliminary provisional tempting common naive rejected bad
    draft discarded"""
        )
        + r"\s+(?:\w+\s+)?"
    )
    + _any("answer estimate value guess result calculation attempt number figure response draft thought")
)
FILLER: Final = _any(
    """come out amount work get call way of only what be(?:en|come|ing)? becomes equals? to exactly about approximately
    around roughly near(?:ly)? like the a an any my our your its this final correct right true answer of score value
    result number total estimate figure reading calculation guess attempt response just simply really quite going
    even at all is it that say said think believe claim conclude as in fact case clearly definitely possibly
    necessarily likely have has was were are will would could may might can should must do does did i we you one
    points? patient'?s? here ever sure certain so for report(?:ed)? give choose accept write use option yield
    produce reach match support show indicate suggest mean"""
)
OTHERS: Final = (
    r"\b(?:some(?:one|body)?|others?|many|most|people|you|they|he|she|one|(?:the|a)\s+(?:\w+\s)?(?:chart|note"
    r"|textbook|model|colleague|student|author|resident|doctor)s?|(?:\w+\s)?(?:students|clinicians|doctors|residents"
    r"|authors|models|people))\s+"
    r"(?:(?:might|may|could|would|will|often|wrongly|has|have|had)\s+)*(?:be\s+tempted\s+to\s+)?"
    r"(?:say|said|think|thought|claim|argue|answer|guess|believe|expect|assume|suggest|report|state|write|wrote"
    r"|propose|arrive|call|tell|told)(?:s|ed)?\b|\btempted\b|\bis\s+said\s+to\s+be\b"
    r"|\b(?:no\s+\w+|nothing|few|nobody|whoever)\b[^,;.]{0,60}\b(?:support|justif|lead|accept|say|give|point"
    r"|suggest)\w*\b(?=[^,;.]{0,90}$)"
    r"|\b(?:most|many|some|other)\s+(?:\w+\s+)?(?:students|clinicians|doctors|residents|authors|models|people"
    r"|tools)\s+(?:give|get|report|say|answer)\b"
    r"|\b(?:in\s+no\s+way|by\s+no\s+means|under\s+no\s+circumstances|on\s+no\s+account|no\s+way|nobody\s+\w+"
    r"|none\s+of\s+the|opposite)\b(?=[^,;]{0,90}$)"
)
OPINION: Final = _any(
    "true correct right accurate the_case think believe say claim agree certain sure convinced conclude answer report"
)
TO_SAY: Final = _any("that to_say to_claim to_think to_conclude to_answer to_report to_state to_assume to_believe")
OUTDATED: Final = _any(r"old previous prior former initial first before(?:_\w+)? uncorrected unadjusted outdated")
BEFORE_DENIED: Final = _compile(
    rf"(?:\b(?:{NEGATION})|≠)\W*(?:{FILLER}\W+){{0,14}}$"
    rf"|\b(?:{NOT}|never|neither)\s+(?:\w+\s+){{0,2}}?{OPINION}\b[^,;]{{0,80}}$"
    rf"|\b{_any('false wrong incorrect untrue mistaken mistake error')}\s+(?:\w+\s+)?{TO_SAY}\b[^,;]{{0,80}}$"
    rf"|\b{_any('doubt deny disagree reject')}\b[^,;]{{0,80}}$|{OTHERS}[^,;]{{0,60}}$|(?<=\w\s)no\s+$"
    rf"|\b{OUTDATED}\s*[:=]\s*$"
    r"|\b(?:last|previous|prior|past"
    rf"|preceding)\s+{_any('year month week time visit admission hospital occasion day')}\b"
    r"[^,;]{0,90}$"
)
WRONG: Final = _any(
    """wrong incorrect false untrue mistaken a_mistake an_error erroneous implausible impossible excluded ruled_out
    rejected invalid inaccurate discarded refuted disproved unlikely off_the_table out_of_the_question
    too_(?:high|low|large|small|big|much|little|many|few)"""
)
LINK: Final = _any(
    """is was are seems? looks? appears? would could can may might must to have been be does did do has which that this
    it i clearly definitely certainly probably also simply just obviously therefore thus quite really absolutely now
    points?"""
)
RIGHT: Final = _any("right correct true fit possible valid accurate plausible sense hold it so either apply be")
AFTER_DENIED: Final = _compile(
    rf"\W*(?:{LINK}\b\s*,?\s*){{0,6}}(?:"
    rf"(?:{NOT}|n['’]t|cannot|never)\s+(?:\w+\s+){{0,4}}?(?:{RIGHT}|(?:the|my|an?|our)\s+(?:\w+\s)?answer)\b"
    rf"|(?:not|n['’]t|cannot|never)\s*(?:[.,!;]|$)|{WRONG}\b|or\s+not\b|not\s+(?:what|the)\b"
    rf"|an?\s+(?:\w+\s+){{0,2}}(?:wrong|mistake|error|trap|misreading)\b|(?:one|an?"
    r"|only\s+one)\s+(?:possibility|option|candidate)\b"
    r"|but\s+(?:that|this|it)\s+is\s+(?:without|before|not|only|uncorrected)\b"
    rf"|[^.,;:\n{Q}]{{0,60}}\b(?:is|was|are|were|seems|looks)\s+(?:\w+\s+)?{WRONG}\b|[^.;:\n{Q}]{{0,40}}\b(?:is"
    r"|was)\s+not\s+what\b"
    r"|(?:my|the|our|an?|his|her)\s+(?:first|initial|earlier|previous|original|old|wrong|tentative|preliminary"
    r"|former)\b"
    rf"|(?:last|previous)\s+{_any('year month week time visit admission')}\b)"
)
COMPARISON: Final = _any(
    """less fewer more greater higher lower larger smaller bigger older younger later earlier longer shorter better
    worse"""
)
FILLERS: Final = _any(
    """the a an score value of exactly just well far much even slightly only measured normal reported initial actual
    observed usual"""
)
APPROXIMATELY: Final = rf"(?:{ABOUT}|{FILLERS})"
LIMIT: Final = _any("minimum maximum ceiling floor limit bound min max")
BELOW: Final = _any(
    r"""over under above below beyond exceed(?:s|ed|ing)? surpass(?:es|ed|ing)?
    at_(?:(?:the_very_)?least|most|(?:a_)?minimum|(?:a_)?maximum|or_above|or_below)(?:_of)? up_to upwards?_of
    north_of south_of in_excess_of short_of as_(?:low|high|much|many|little|late|early|few)_as before after until
    till since within prior_to past by not_exceeding capped_at reached tops starts_at limited_to"""
)
BEFORE_BOUND: Final = _compile(
    rf"(?:[<>≤≥∈]\s*|\b(?:{COMPARISON}\s+than(?:\s+or\s+equal\s+to)?|{BELOW}|{LIMIT}(?:\s+(?:value|score|of|is"
    r"|at))*)\s+)"
    rf"(?:{APPROXIMATELY}\s+){{0,4}}$"
)
AFTER_BOUND: Final = _compile(
    rf"\s*(?:\+(?!\s*[{Q}(\w])|(?:or|and)\s+(?:{COMPARISON}|above|below|over|under|beyond|up|upwards?|before|after)\b"
    r"|at\s+(?:the\s+)?(?:least|most|minimum|maximum|earliest|latest)\b|(?:minimum|maximum|max|min|tops"
    r"|and\s+counting)\b"
    r"|[<>≤≥]\s*[A-Za-z]|(?:is|as|being)\s+(?:only\s+|just\s+|at\s+best\s+)?(?:an?|the|its|his|her)\s+(?:upper"
    r"|lower)\b|and\s+(?:goes|going|rising|falling)\b"
    r"|,\s*∞|up\s+to\b)"
)
RHETORICAL: Final = (
    r"\s+(?:i'?m\s+not|needed|necessary|any|applicable|present|indicated|possible|required|appropriate|desired"
    r"|clinically|symptom|further|so\b|"
    r"(?:we|you|one|i)\s+(?:\w+\s+)?(?:plug|substitut|use|apply|take|add|sum|calculat|comput|round|put|insert|enter"
    r"|look|consider|count|total|"
    r"convert|divide|multiply|have|need|want))"
)
IF: Final = _any(
    r"""(?:only_)?if unless whether suppos(?:e|ing) provided(?:_that|_the) in_case in_the_event hypothetically in_theory
    imagine(?:_that)? let(?:_us|['’]s)_(?:assume|say|suppose|imagine) for_the_sake_of by_(?:next|the_time) once
    as_soon_as when_[^,]{0,40}?\b(?:reaches|exceeds|rises|falls|hits|drops) (?:were|had)_(?:the|he|she|it|we|they)
    depend(?:s|ing)_on as_long_as only_when should_(?:the|he|she) except_(?:when|if) otherwise"""
)
CONDITIONAL: Final = _compile(rf"\b{IF}\b(?!{RHETORICAL})")
SUBJUNCTIVE: Final = _compile(
    r"\b(?:(?:with(?:out)?|at)\s+(?!(?:this|these|that|all|the\s+(?:given|above|formula|equation|patient|values?"
    r"|provided)))|assuming|had|were)\b"
    r"[^.\n]{0,80}\b(?:would|could|might)\b"
    r"|\b(?:in|for|with|of)\s+(?:an?|any|every|the)\s+(?:[\w-]+\s+){0,3}(?:younger|older|healthy|hypothetical"
    r"|textbook|average|typical|normal|another|other|different|man|woman|men|women|males|females)\b"
    r"[^.\n]{0,60}\b(?:would|could|might)\b"
    r"|\b(?:for|in)\s+an?\s+(?:\w+\s+)?(?:patient|person|man|woman)\s+without\b|\b(?:in|for)\s+(?:an?"
    r"|the)\s+(?:hypothetical|textbook|fictitious|imaginary)\b|\b(?:would|could|might)\s+(?:have|otherwise|only\s+be"
    r"|become)\b"
    r"|\bfor\s+(?:men|women|males|females)\b[^.\n]{0,60}\bwould\b"
)
YES: Final = _compile(r"\W*(?:yes|yep|yeah|correct|right|indeed|exactly|that(?:'s|\s+is)\s+(?:right|correct))\b")
THAT: Final = r"(?:(?:but\s+)?(?:that|this|it|which)(?:['’]s|\s+(?:is|was|would\s+be|seems|looks)))"
RETRACTION: Final = _compile(
    rf"(?:^|[.!?;(\n]\s*|{Q}[^\w{Q}]{{0,5}}|\s-\s*)(?:(?:and|but|or|oh),?\s+)?(?:"
    r"(?:no|nope|wait|hold\s+on|sorry|oops|hmm+)"
    rf"(?=\s*[,.!:;-]|\s*$|\s+(?:wait|it|that|this|the\s+\w+\s+is|actually|sorry|i|rather|make|let|{Q}))"
    r"|(?:correction|edit|update|erratum|p\.?s\.?)\s*[:,.-]|(?:scratch|strike|scrap)\s+that|just\s+kidding"
    r"|(?:actually|oh),?\s+i\s+(?:\w+\s+)?(?:forgot|overlooked|missed|misread|used)|(?:up)?on\s+(?:review|reflection"
    r"|closer)"
    r"|but\s+the\s+\w+\s+was\s+\w+\s+wrongly"
    r"|i\s+(?:retract|take)\s+(?:that|this|it)\b|on\s+second\s+thoughts?|let\s+me\s+(?:correct|re-?\w+|fix|double)"
    rf"|{THAT}\s+(?:\w+\s+)?(?:wrong|incorrect|not\s+(?:right|correct)|a\s+mistake|an\s+error"
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
REVISION: Final = _any(
    r"""corrected actually i_mean make_(?:that|it) should_(?:be|read|have_been|say) revised updated? amended changed
    adjusted modified recalculated becomes instead(?!\s+of) rather(?!\s+than) more_precisely to_be_(?:precise|exact)"""
)
CORRECTION: Final = _compile(
    rf"\b{REVISION}\W*(?:(?:{_any('to as is it answer value result score the a an at be')}|it['’]s"
    rf"|{ABOUT})\W+){{0,4}}(?={Q})"
)
POSSIBLE: Final = _any(
    """able possible feasible calculated determined computed calculable computable determinable available enough
    applicable specified sufficient answerable known"""
)
WORK_OUT: Final = _any(
    """determin calculat comput assess answer say tell give giv provid estimat scor judge know deriv help confirm
    establish state do make find"""
)
REFUSAL: Final = _compile(
    r"\b(?:(?:cannot|can['’]?t|can\s+not|could\s+not|couldn['’]?t|unable\s+to|not\s+able\s+to|impossible\s+to"
    r"|not\s+possible\s+to|won['’]t|will\s+not|refuse\s+to|"
    rf"decline\s+to)\s+(?:\w+\s+){{0,3}}?{WORK_OUT}\w*|insufficient|indeterminate|undetermined|undefined"
    r"|inconclusive|unanswerable|N/A|unknown|unclear|uncertain|"
    rf"impossible|unable|not\s+(?:be\s+)?{POSSIBLE}|(?:do\s+not|don['’]?t)\s+(?:know|have)|can\s+only\s+say"
    r"|no\s+(?:answer|idea"
    rf"|result)|no\s+(?:\w+\s+){{1,3}}can\s+be|"
    r"refuse|decline|lacks?|lacking|missing|(?:more|additional|further)\s+(?:information|data|details)\s+(?:is|are"
    r"|would\s+be)?\s?(?:needed|required))\b"
)
_THE_ANSWER: Final = _any(
    """determin calculat comput estimat assess answer say state be_given tell know deriv confirm establish finish complete
    reproduce make_sense"""
)
NO_ANSWER: Final = _compile(
    r"\b(?:(?:cannot|can['’]?t|can\s+not|could\s+not|couldn['’]?t|unable\s+to|not\s+able\s+to|(?:im"
    r"|not\s+)possible\s+to|won['’]t|will\s+not"
    rf"|refuse\s+to|decline\s+to)\s+(?:\w+\s+){{0,3}}?(?:{_THE_ANSWER}\w*|(?:give|provide)\s+(?:an?\s+|the\s+"
    r"|you\s+)?(?:answer|score|value|result|number|figure)|help)"
    r"|(?:insufficient|not\s+enough|lacks?|lacking)\s+(?:\w+\s+){0,2}(?:information|data|details)|(?:data"
    r"|information)\s+(?:is|are)\s+(?:insufficient|not\s+enough|missing)"
    rf"|not\s+(?:be\s+)?{_any('calculated determined computed calculable computable determinable answerable')}"
    r"|(?:do\s+not|don['’]?t)\s+know|no\s+(?:answer|idea)"
    r"|no\s+(?:\w+\s+){1,3}can\s+be|can\s+only\s+say|(?:more|additional|further)\s+(?:information|data"
    r"|details)\s+(?:is|are|would\s+be)?\s?(?:needed|required)"
    r"|indeterminate|unanswerable)\b|^\W*(?:unknown|unclear|uncertain|undetermined|N/A|impossible|insufficient"
    r"|the\s+\w+\s+lacks)\b|\bimpossible\s+to\b"
)
"""That there is no answer, whatever else is said; `REFUSAL` may also be about an input."""
DESPITE: Final = _compile(r"\b(?:answer|score|total|result|final|therefore|thus|hence)\b|=")
# Words without which a pattern cannot match: the searches cost most of the time.
HINTS: Final = {
    kind: frozenset(words.split())
    for kind, words in {
        DENIED: """possibility option candidate not never neither nor cannot hardly scarcely except excluding wrong wrongly
            incorrect incorrectly false falsely mistaken mistakenly mistake erroneous erroneously error doubt doubtful
            doubts doubted unlikely impossible rule rules ruled ruling reject rejects rejected rejecting deny denies
            denied avoid ignore ignores ignored ignoring disregard disregarded disregarding discard discarded discarding
            contrary far anything nowhere nothing longer rather instead other opposed different differs unequal nobody
            no previous earlier initial first original old former preliminary provisional tempting common naive untrue
            disagree implausible excluded invalid inaccurate off out too n t someone somebody others chart note textbook
            model colleague student author tempted prior uncorrected unadjusted outdated before last past preceding way
            means circumstances account none fail fails failed place exclude excludes dismiss dismissed replace replaced
            replacing scratch students clinicians doctors residents authors models resident doctor bad opposite forget
            few whoever refuted disproved say says said think thinks thought claim claims argue argues answer guess
            believe believes expect expects assume assumes suggest suggests report reports state states write writes
            wrote propose arrive arrives call calls tell tells told give get support supports justify justifies
            justified lead leads accept accepts point points answers answered claimed guessed expected suggested reported
            called""",
        BOUND: """less fewer more greater higher lower larger smaller bigger older younger later earlier longer shorter better
            worse over under above below beyond exceed exceeds exceeded exceeding surpass surpasses up upward upwards
            north south excess short as before after until till since within prior past by minimum maximum ceiling floor
            limit bound min max tops and capped reached starts limited least most""",
        CONDITION: """if unless whether suppose supposing provided case event hypothetically theory were had depends depending
            long when should except otherwise would could might imagine let lets sake argument once man woman men women
            soon time younger older healthy hypothetical textbook average typical normal another other different male
            males female females without fictitious imaginary assuming next""",
        REFUSED: """cannot can could unable impossible insufficient indeterminate undetermined undefined inconclusive unknown
            uncertain unclear unanswerable n not don no refuse decline lack lacks lacking missing more additional
            further won will only doesn""",
        TAKEN_BACK: """no nope wait hold sorry oops hmm hmmm correction scratch strike second let wrong incorrect right correct
            mistake error my apologies miscalculated misread made ignore disregard forget bad edit update erratum p
            scrap kidding retract take above previous actually upon oh review reflection closer wrongly only just merely
            another""",
        REVISED: """corrected actually mean make should revised update updated amended changed adjusted modified recalculated
            becomes instead rather precisely precise exact""",
    }.items()
}
BOUND_SIGNS: Final = re.compile(r"[<>≤≥∈+]")
QUANTITY: Final = re.compile(Q)
WORDS: Final = re.compile("[a-z]+")

PEOPLE: Final = _any(
    """men women man woman males? females? boys? girls? adults? child(?:ren)? elderly black non-black smokers?
    diabetics? pregnant others? everyone_else"""
)
JOIN: Final = _compile(
    r"[\s,;:/|&()\[\]\"'*-]*(?:(?:"
    + _any(
        r"""or and and/or vs\.? versus unless alternatively otherwise else maybe perhaps possibly even also either then both
    respectively"""
    )
    + rf"|{ABOUT}|{_any('depending it is would could might be')}"
    rf"|(?:{_any('for in if when with were')}\s+)?(?:{_any('a an the patient he she they is are were was')}\s+){{0,4}}{PEOPLE})"
    r"\b[\s,;:/|&()\[\]\"'*-]*|vs\.\s*|[0-9]{1,2}[).]\s*){0,9}"
)
CONTRAST: Final = _compile(
    r"[^.\n]{0,60}\b(?:otherwise|without|alternatively|as\s+well\s+as|or\s+else|or\s+rather|compared\s+to|the\s+other"
    r"|the\s+second\s+time"
    r"|another)\b[^.\n]{0,60}"
)
LABEL: Final = _compile(
    r"\b(option|method|case|scenario|formula|version|choice|approach|estimate|model|variant|equation"
    r"|group)\s+\w+\s*[:=]\s*$"
)
WITH: Final = _compile(r"\s*(for|in|with(?:out)?|using|by|if|when|on|under|based|according|assuming|from|at)\b")
SPREAD: Final = _compile(rf"{Q}\s*(?:±|\+/-|\+-|plus\s+or\s+minus|plus/minus|give\s+or\s+take)\s*(?={Q})")
FROM_TO: Final = _compile(
    rf"\b(?:revis|chang|correct|updat|adjust|amend)\w*\s+(?:\w+\s+){{0,4}}from\s+{Q}\s+to\s+(?={Q})"
)
RANGE: Final = _compile(
    rf"{Q}\s*(?:-|\b(?:up\s+)?to\b|\bthrough\b|\.{{2,}}|…|~)\s*(?={Q})|\bbetween\s+(?:about\s+)?{Q}\s+and\s+(?={Q})"
)
BRACKETS: Final = re.compile(r"\(([^()\[\]]*)\)|\[([^()\[\]]*)\]")
KEPT: Final = _compile(
    rf"\s*(?:{_any('or alternatively maybe perhaps possibly and vs correction corrected actually rather no should_be')}\b"
    r"|(?:this|that)\s+is\s+(?:wrong|incorrect)\b"
    rf"|[^\w<>≤≥{Q}]*{Q}\W*$"
    rf"|{Q}\s*{_any('if when with without for in assuming using')}\b)"
)
END: Final = re.compile(
    r"[.!?]+(?=[\s\"')\]*]"
    r"|$)(?<!\bapprox\.)(?<!\bca\.)(?<!\bvs\.)(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\best\.)(?<!\bDr\.)(?<!\bpt\.)|\n|;"
)
SENTENCE: Final = re.compile(r"[.!?]\s+(?=[A-Z*(])")
CLAUSE: Final = _compile(
    r",(?=\s|$)|\s-{1,2}\s|(?<!anything )(?<!nothing )(?<!none )\bbut\b(?!\s+only)|\b"
    + _any("so therefore thus hence because then giving yielding while whereas")
    + r"\b"
)
EQUALS: Final = re.compile(r"[=≈→]")

INPUTS: Final = _any(
    """age weight height temperature heart_rate pulse respiratory_rate creatinine albumin glucose bun
    urea(?:_nitrogen)? h(?:a|ae)?emoglobin h(?:a|ae)?ematocrit platelets? platelet_count inr bilirubin potassium
    chloride bicarbonate hdl triglycerides? blood_pressure systolic diastolic sbp dbp qt(?:_interval)?
    rr(?:_interval)? insulin ast alt wbc cycle_length lmp last_menstrual_(?:period|date) bmi calcium sodium dose
    dosage cholesterol today current_date"""
)
INPUT: Final = _compile(
    r"(?<!corrected )(?<!adjusted )(?<!ideal )(?<!target )(?<!equivalent )(?<!ldl )"
    rf"\b({INPUTS})\s*(?:level|value|concentration|count|used)?\s*(?:(?:is|was|are|were|of|as|[:=|])\s*)?"
    r"(?:(?:taken|assumed|given|set|used|reported|measured|as|to\s+be|at|about|approximately)\s+){0,4}$"
)
INPUT_WORDS: Final = frozenset(
    """age weight height temperature rate pulse creatinine albumin glucose bun urea nitrogen hemoglobin haemoglobin
    hematocrit haematocrit platelet platelets count inr bilirubin potassium chloride bicarbonate hdl triglyceride
    triglycerides pressure systolic diastolic sbp dbp qt rr interval insulin ast alt wbc length lmp period date bmi
    calcium sodium dose dosage cholesterol today""".split()
)
TIMES_BEFORE: Final = _compile(
    r"(?:\b(?:twice|double|triple|(?:two|three|four|five|ten|[0-9]+)\s+times|half\s+of|(?:one|two|a)\s+(?:third"
    r"|quarter|half|tenth)s?\s+of|root\s+of|logarithm\s+of|"
    r"log|ln|sqrt|factor\s+of|(?:add|multiply|subtract|divide|insert|enter)(?:\s+\w+){0,2})|√|\w\s[+×*/])\s*[({]?\s*$"
)
TIMES_WORDS: Final = frozenset(
    """twice double triple times half third thirds quarter tenth root logarithm log ln sqrt factor add multiply subtract
    divide insert enter""".split()
)
COUNT_WORDS: Final = frozenset(
    "worth need needs another lost loses lose contribute contributes alone sum starts start begins begin there each".split()
)
TIMES_AFTER: Final = _compile(
    r"\s*(?:[-\s]?fold\b|squared\b|cubed\b|to\s+the\s+power\b|(?:thousand|million|billion)\b|times\b|multiplied\b"
    r"|divided\b|minus\b|plus\s+(?:the|an?)\b|[×*]\s*[0-9]"
    r"|(?:\w+\s+)?(?:above|below|over|under|short\s+of|higher\s+than|lower\s+than|more\s+than|less\s+than)\b"
    r"|(?:standard\s+deviations?|SDs?)\b)"
)
COUNT_BEFORE: Final = _compile(
    r"\b(?:worth|needs?|another|lost|loses?|contributes?|alone\s+\w+|sum\s+of|starts?\s+at|begins?\s+at|there\s+are"
    r"|each\s+\w+)\s*$"
)
COUNT_AFTER: Final = _compile(
    r"\s*(?:of\s+(?:the\s+)?)?(?:criteria|items|components|variables|parameters|questions|domains|elements|points)?\s*"
    r"(?:(?:are|were|is|was|could|can|cannot|have)\s+(?:not|n['’]t|missing|unknown|unmet|absent|lost|lacking)\b"
    r"|(?:items|components|variables|parameters|questions|domains)\b|"
    r"in\s+this\s+(?:score|rule)\b|more\s+points?\b|for\s+(?:age|sex|each|one)\b|short\b|away\b|left\b"
    r"|until\b)"
)
ELSEWHERE_WORDS: Final = frozenset(
    """normal reference healthy typical usual off offs cutoff cutoffs threshold thresholds target goal scale range
    ranges limit possible scores values levels results totals points""".split()
)
BESIDE_WORDS: Final = frozenset(
    "risk mortality probability chance likelihood survival incidence rate sensitivity specificity prevalence".split()
)
LEAD: Final = 160
ELSEWHERE: Final = _compile(
    r"\b(?:normal|reference|healthy|typical)\b[^,;:=]{0,90}$"
    r"|\b(?:cut-?offs?|thresholds?|(?P<own>target)|goal|scale|ranges?|upper\s+limit|lower\s+limit"
    r"|possible)\b[^,;=]{0,90}$"
    r"|\b(?:scores|values|levels|results|totals|points)\s+(?:of|from|between|above|below|over|under"
    r"|at|around|near)\s+(?:about\s+)?$"
)
STATISTIC: Final = _compile(
    r"\b(?:(?P<own>(?<!i )mean)|average|median|maximum|minimum|maximal|minimal|standard\s+deviation|change\s+in"
    r"|error\s+of|expected|difference\s+between|highest|lowest|largest|smallest|numerator|denominator|(?:first|second"
    r"|third)\s+(?:term|bracket|factor)|bracket|offset|product|quotient|used\s+to\s+be|previously|had\s+been|tomorrow"
    r"|previous\s+patient|running\s+total|normally|usually|comparison|measured\s+(?:value|level|result|concentration)|uncorrected|"
    r"unadjusted|population|derivation|cohort|examples?|sample|template|placeholder|for\s+instance|goal|brought"
    r"|so\s+far|thus\s+far|up\s+to\s+(?:here|now)|at\s+this\s+point|interim|"
    r"intermediate|preliminary|provisional|running|partial|subtotal|brother|sister|mother|father|wife|husband|son"
    r"|daughter|twin|cousin|sibling|roommate|another\s+patient|other\s+patient|"
    r"different\s+patient|first\s+step|textbook|of\s+that|opposite|(?:years?|months?|weeks?|days?)\s+ago|yesterday"
    r"|before\s+(?:treatment|surgery|therapy|admission|transfusion|correction|adjustment|the\s+\w+)|"
    r"(?:patients|people|those|adults|persons|individuals|children|cases)\s+(?:with|who|whose"
    r"|having))\b(?:(?!\b(?:but|now)\b)[^;:=\n]){0,90}$"
    r"|\b(?:assumed|taken|set)\s+(?:to\s+be|as|at|to)\s*$"
    r"|\b(?:normal|healthy|expected|(?<!i )mean|average|median|reference|typical|usual|examples?|sample|template"
    r"|yesterday|tomorrow|last\s+year|previously"
    r"|another\s+patient\)?)(?:\s+[\w()-]+){0,8}\)?\s*[:=]\s*$"
)
STATISTIC_WORDS: Final = frozenset(
    """measured mean average median maximum minimum maximal minimal standard change error expected difference highest lowest
    largest smallest numerator denominator term factor bracket offset product quotient used previously had tomorrow
    previous running normally usually comparison uncorrected unadjusted population derivation cohort example examples
    sample template placeholder instance goal brought far up point interim intermediate preliminary provisional partial
    subtotal brother sister mother father wife husband son daughter twin cousin sibling roommate another other different
    first textbook that opposite ago yesterday before patients people those adults persons individuals children cases
    assumed taken set normal healthy reference typical usual last""".split()
) - {"of"}
LONG_AGO: Final = _compile(
    r"\s*(?:at|on|during|in)\s+(?:the|his|her|their)?\s*(?:last|previous|prior|first)\b"
    r"|[^.;\n]{0,40}\b(?:comes\s+from|dates\s+from|must\s+not\s+be|should\s+not\s+be)\b"
    r"|,?\s*(?:which|but\s+(?:it|this|that)|and\s+(?:it|this|that))\s+(?:still|yet|then)?\s*(?:has|have|needs?|must"
    r"|is|are)\s+(?:still\s+|yet\s+|then\s+)?(?:to\s+be|be|not\s+yet)\b"
    r"|,?\s*but\s+(?:there|we|i|you)\s+(?:are|is|still|have|need|must)\b|\.\s+(?:the\s+(?:last|next|final|second"
    r"|third)\s+(?:step|term|factor|bracket)|multiplying|next|to\s+obtain|now\s+we"
    r"|then\s+we)\b|\s*up\s+to\b"
)
BESIDE: Final = _compile(
    rf"\b(?:{'|'.join(sorted(BESIDE_WORDS))})\b[^,;:]{{0,30}}"
    rf"(?:is|was|of|=|at|{ABOUT})\s*$"
)
IN_GENERAL: Final = _compile(
    r"^\W*(?:(?:whereas|while|although|but|and|since)\s+)?(?:an?|any|each|every)\s[^.,;:]{1,80}\s(?:of|at)\s*$"
)
MEANS: Final = _compile(
    r"\s*(?:would|may|might|could|can|indicates?|suggests?|means?|corresponds?|usually|typically|are|"
    r"(?:is|was)\s+(?:considered|typical|seen|common|usual|normal|high|low|associated|linked))\b"
)
CUE: Final = _compile(
    r"(?:\b(?:is|are|was|be|equals?|equ\w*\s+to|(?:score|value|index|total|result|estimate|answer)(?:\s+(?:of|at))?"
    r"|scored?|scores|totals?|"
    r"totall?ing|remains|gives?|giving|yields?|yielding|comes\s+(?:out\s+)?to|amounts\s+to|becomes|(?:due|falls?|is"
    r"|be)\s+on|"
    r"evaluates?\s+to|leads?\s+to|leading\s+to|works?\s+out\s+(?:to(?:\s+be)?|at)|arrive\s+at|(?:in\s+total|overall"
    r"|altogether|all\s+in\s+all|in\s+sum|together|hence|thus|so|therefore)[,:]?|"
    rf"(?:calculated|estimated)\s+(?:as|at|to\s+be)|obtain(?:ed)?|gets?|have|met|meets|{ABOUT})|[:=≈→|])[\s\"'({{\[]*"
    rf"(?:(?:{ABOUT}"
    rf"|{_any('just exactly only a an the total of score probably likely therefore thus now to_be')})\s+){{0,4}}"
    r"[\s\"'({\[]*[-+]?\s*$"
)
CUE_REACH: Final = 60
OPENING: Final = _compile(rf"[\s\"'({{\[*•·{HERE}-]*(?:{ABOUT}\s*|[~≈]\s*)?$")
LETTER: Final = re.compile(r"(?:^|[\s(,;])[A-Za-z]{1,2}\s*=\s*$")
LEGEND: Final = re.compile(r"\s*[:=]\s*[A-Za-z]")
NAMED_AFTER: Final = _compile(r"\s*(?:is|as)\s+(?:the|my|our)\s+(?:\w+\s+)?(?:answer|result|score|total)\b")
CITATION: Final = re.compile(r"(?<=[\w.%)])\s?\[\s{0,2}[0-9]{1,3}\s{0,2}\]|(?:^|(?<=\n))\s{0,4}\[[0-9]{1,3}\](?=\s\S)")
BARE: Final = re.compile(r"-?[0-9]{1,15}(?:\.[0-9]{1,15})?")


BROKEN_OFF: Final = _compile(
    r"(?:\b"
    + _any(
        """the an and or but by of to for with from is are was were we then which that in on at as so be have has now
    it his her gives give plus minus times obtain add"""
    )
    + r"|[(+×*/=-])\s*$"
)
"""How a sentence ends that was cut off."""
OPEN_SIGNS: Final = "(+×*/=-"
TAIL: Final = 12
IDIOM: Final = _compile(
    r"\b(?:there\s+is\s+|i\s+have\s+)?no\s+(?:doubt|question)(?:\s+that)?\b|\bwithout\s+(?:any\s+)?doubt\b"
    r"|\bnothing\s+other\s+than\b|"
    r"\b(?:unless\s+i\s*(?:['’]m|\s+am)|if\s+i\s*(?:['’]m|\s+am)\s+not)\s+mistaken\b"
    r"|\bprovided\s+that\s+the\s+\w+\s+(?:are|is)\s+(?:right|correct)\b|\bnot\s+only\b"
)
IDIOM_WORDS: Final = ("doubt", "question", "nothing", "Nothing", "mistaken", "rovided", "not only", "Not only")
SNAKE: Final = re.compile(r"(?<=[A-Za-z])_(?=[A-Za-z])")
