"""Whether an answer is one, or the model abstained ("% respond" of the K-QA paper, table 4), by the wording alone.

The rule reads the answer clause by clause. A clause refuses, is courtesy (apology, disclaimer, a bare referral to a doctor, an
offer of help), or says something. Only a text in which nothing says anything is surely an abstention; what is mixed is left to a
judge, and so is a refusal that may be a finding ("I could not find any interaction").

A refusal says who lacks what. **The speaker** does not know, has not been given, cannot or will not say; **the question** cannot
be answered; **the sources** say nothing, lack it, are silent on it, or it cannot be had from them. What a physician's answer
may say of medicine ("there is no data on its use in pregnancy", "it is not known whether", "I cannot recommend it") is none.

English only, but for a bare "I don't know" in some languages: any other refusal in another language counts as an answer.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Final, Literal

Abstention = Literal["sure", "unsure", "none"]

LONGEST: Final = 120
"""Most words of a sure abstention, repeated clauses counted once."""
ANSWER_WORDS: Final = 60
"""So many words that say something make an answer, whatever else the text declines."""
CLAUSE_WORDS: Final = 30
"""What a refusal says beyond so many words counts as saying something."""
READ: Final = 8_000
"""Characters that are looked at."""

_PLAIN: Final = str.maketrans(
    {
        **dict.fromkeys("’‘ʼ´`′＇", "'"),
        **dict.fromkeys('“”„«»‹›"', " "),
        **dict.fromkeys("*_#|~", " "),
        **dict.fromkeys("‐‑‒–—―", "-"),
        "…": ". ",
    }
)
_SENTENCES: Final = re.compile(r"(?<=[.!?])[\s'\")\]]+|\s*[\n;:]\s*|\s+-\s+")
_CONTRASTS: Final = re.compile(r"[\s,]+(?:but|however|although|though|nevertheless|nonetheless|that said|yet)[\s,]+")
_LIST_MARK: Final = re.compile(r"\s*(?:[-•·]|\(?\d{1,2}[.)])\s+")
_LABEL: Final = re.compile(r"(?:the )?(?:final )?(?:answer|response|reply|output)(?: is)?")
_INITIAL: Final = re.compile(r"^\W*a\s*:")
_TAG: Final = re.compile(r"</?[a-z]{1,12}>")
_EDGES: Final = " \t'\".,!?-()[]{}<>。،؟¿¡।"


def _one(words: str) -> str:
    """A pattern that takes one of the words or phrases, which a comma parts; the longest first."""
    choices = sorted((word.strip() for word in words.split(",")), key=len, reverse=True)
    return f"(?:{'|'.join(map(re.escape, choices))})"


def _some(words: str) -> str:
    """A pattern that takes any number of the words, each with the space behind it."""
    return f"(?:{_one(words)} )*"


_CONTRACTIONS: Final = tuple(
    (re.compile(pattern), spelt)
    for pattern, spelt in (
        (r"\bcan ?not\b|\bcan'?t\b", "can not"),
        (r"\bwon'?t\b", "will not"),
        (r"\b(do|does|did|is|are|was|could|should|would|have|has)n'?t\b", r"\1 not"),
        (r"\bi'?m\b", "i am"),
        (r"\b(i|we|you|they)'re\b", r"\1 are"),
        (r"\b(i|we|you|they)'ve\b", r"\1 have"),
        (r"\b(i|we|you|they)'d\b", r"\1 would"),
        (r"\b(i|we|you|they)'ll\b", r"\1 will"),
        (r"\b(it|that|there|this)'s\b", r"\1 is"),
        (r"\blet's\b", "let us"),
    )
)

_ADVERBS: Final = re.compile(
    r"\b"
    + _one(
        "really, simply, honestly, just, currently, actually, definitively, accurately, safely, reliably, confidently, fully, "
        "directly, personally, therefore, also, only, still, very, truly, sincerely, strongly, highly, always, kindly, "
        "explicitly, specifically, unfortunately, regrettably, sadly, entirely, quite, completely, totally, 100%"
    )
    + r"(?=[ ,]|$)"
)

_SOURCE = _one(
    "source, sources, context, document, documents, passage, passages, text, texts, article, articles, reference, references, "
    "excerpt, excerpts, extract, extracts, material, materials, information, search results, results, snippet, snippets, record, "
    "records, knowledge base, database, corpus, page, pages, paragraph, paragraphs"
)
_SOURCES = (
    _some(
        "the, our, your, my, these, those, this, any, all, of, verified, provided, given, available, above, following, retrieved, "
        "medical, supplied, listed, cited, own, trusted"
    )
    + _SOURCE
    + r"(?: (?:provided|given|above|available|supplied|alone|at hand|you (?:gave|provided)(?: me)?|(?:that )?i (?:have|was given"
    r"|was provided with|have been given)))*"
)
_ANSWERING = _one(
    "answer, respond, reply, help, assist, provide, give, offer, comment, diagnose, find, locate, determine, access, "
    "advise, discuss, interpret, address, fulfil, fulfill, comply, do that, do this, do so, engage, share, speculate, "
    "prescribe, evaluate, assess, make a diagnosis, make any diagnosis, make medical, make a recommendation, process, complete, "
    "continue, conclude, infer, establish, be of help, be sure, be certain, draw a conclusion, draw any conclusion, work out"
)
_UNABLE = _one(
    "can not, could not, will not, must not, should not, am unable to, are unable to, was unable to, am not able to, are not "
    "able to, was not able to, am not qualified to, am not allowed to, am not permitted to, am not authorized to, am not "
    "equipped to, am not in a position to, will not be able to, would not be able to, would be unable to, have to decline "
    "to, must decline to, decline to, would rather not, prefer not to, refuse to"
)
_SAYING = (
    _one(
        "contain, mention, include, provide, address, say, specify, have, has, answer, cover, discuss, state, give, offer, "
        "indicate, describe, deal with, tell, refer to, speak of, touch on, explain, list, help, relate to"
    )
    + "(?:e?s|ed)?"
)
_NOT_SAYING = rf"(?:(?:do|does|did|can|could) not (?:appear to |seem to )?|(?:fails?|failed) to |never ){_SAYING}"
_KNOWLEDGE = _one(
    "information, info, knowledge, data, answer, answers, expertise, details, context, ability, idea, clue, qualifications, "
    "training, source, sources, records, that, way of knowing, way to know, way to tell, mention, word, detail, anything"
)
_MUCH = _some(
    "any, enough, sufficient, the, a, an, adequate, reliable, specific, relevant, necessary, required, medical, up-to-date, "
    "access to, much"
)
_NOTHING = r"(?:no|nothing|not enough|not any|not a|insufficient|too little)"
_HAVE = r"(?:contains?|has|have|offers?|provides?|gives?|makes?|says?|said|holds?|tells?)"
_FOUND = (
    r"(?:there (?:is|are)|(?:i|we) (?:(?:can|could|have|did) )?(?:find|found|see|saw|seen)"
    r"|(?:i|we) (?:have )?(?:looked|searched|read|checked|went|gone|reviewed)\b[\w '-]{0,80} and (?:found|find|saw"
    r"|see))"
)

_LEAD_IN: Final = re.compile(
    "(?:"
    + "|".join(
        (
            _one(
                "i am so sorry, i am sorry, so sorry, sorry, i apologize, i apologise, we apologize, my apologies, apologies"
            )
            + f"(?: {_one('about that, for that, for this, for the inconvenience, for any inconvenience, for the confusion')})?",
            _one(
                "i am afraid that, i am afraid, to be honest, frankly, well, hmm, hello, hi, hi there, thus, so, and, because"
            ),
            _one("at this time, at the moment, in this case, because of this, because of that, for this reason"),
            _one("as, being, since i am, because i am")
            + r" an? "
            + _one("ai, artificial, large, language, virtual, chat")
            + r"[a-z -]{0,40}?(?=,|$| i )",
            _one(
                "based on, relying on, according to, from, in, given, with, going by, judging by, using, after reading"
            )
            + f" {_SOURCES}",
            r"without (?:more|further|any more|additional|the) (?:information|context|details|sources)",
        )
    )
    + r")(?=[\s,.]|$)[\s,.]*"
)

_CONCESSION: Final = re.compile(_one("while, whilst, although, though, even though, even if") + r" (?=i\b)")

_OPENS_A_CLAUSE: Final = re.compile(
    r",\s+(?:(?:and|so|or|yet)\s+)?(?="
    + _one(
        "i, it, this, that, these, those, they, he, she, we, you, your, there, the, yes, no, probably, maybe, perhaps, possibly, "
        "usually, generally, typically, most, please, sorry, some, common, take, try, avoid, use"
    )
    + r"\b)"
)

_IN = "(?:in|by|from|among|within|with|based on|using)"
_THING = r"(?:this|that|it|the (?:\w+ ){1,4}|your \w+ )"
_REFUSAL: Final = re.compile(
    "|".join(
        (
            # the speaker does not know, or has not been given
            r"i (?:do|did) not know\b(?! of (?:any|an?|no)\b)",
            # what "we" do not know may be what medicine does not know, and that is an answer
            r"we (?:do|did) not know(?:$| (?:this|that)$| (?:the|an) answer\b)",
            r"i would not know\b",
            r"(?:i|we) (?:lack|do not have|have no|(?:(?:was|were) not|have not been) (?:given|provided with)|have not received) "
            rf"{_MUCH}{_KNOWLEDGE}\b",
            r"(?:i|we) have nothing (?:on|about|to)\b",
            r"my (?:knowledge|training|training data|expertise) (?:does|do) not\b",
            r"i am not (?:sure|certain|familiar with|aware of (?:the|an) answer)\b",
            r"i (?:would )?need more (?:information|context|details)\b",
            # the speaker can not or will not say
            rf"(?:i|we) {_UNABLE} (?:be able to )?(?:{_ANSWERING}\b|(?:say|tell)\b(?! (?:you )?(?:that|it|how|enough)\b))",
            r"i (?:must|have to|need to|should|will|would rather) refrain from \w+ing\b",
            rf"i do not (?:believe|think|feel) (?:that )?i (?:can|could|am able to) {_ANSWERING}\b",
            # the question, or the answer to it
            r"(?:this|that|the|your) (?:question|request|query) (?:can not|could not|is not (?:something|one|answered))\b",
            r"(?:this|that|it) is not (?:something|a question)(?: that)? (?:i|we)\b",
            r"(?:the|an|that|your) answer(?: to \w+ question)? (?:is not|was not|can not be|could not be) (?:\w+ )?(?:to be )?(?:in"
            r"|found|available|given|included|contained|provided|present|known to me|determined|stated)\b",
            r"(?:it|that) is (?:not possible|impossible) (?:for me to|to (?:answer|respond|reply))\b",
            rf"(?:it|that) is (?:not possible|impossible) to \w+(?: this| that| it)? {_IN} {_SOURCES}\b",
            r"(?:this|that|the) (?:information|answer) is not (?:available|known|provided|given|included|stated)\b",
            r"(?:this|that|it|your|the)(?: \w+)? (?:is|falls|goes|lies) (?:well )?(?:beyond|outside)(?: of)? (?:my|our|the scope"
            r"|what i)\b",
            rf"there is {_NOTHING} (?:\w+ ){{0,3}}?{_KNOWLEDGE}\b[\w '-]{{0,80}} to {_ANSWERING}\b",
            # the sources lack it
            rf"{_SOURCES} (?:{_NOT_SAYING}|{_HAVE} {_NOTHING}|lacks?|leaves?|(?:is|are|remains?|stays?) (?:silent|not|of no"
            r"|insufficient|inadequate|irrelevant|unclear|unrelated|about (?:other|something else)))\b",
            rf"(?:none|neither|nothing|not one|no {_SOURCE})(?: (?:of|in|from|among) {_SOURCES})? (?:(?:is|are) about"
            rf"|(?:\w+ )?{_SAYING})\b",
            # it is not in the sources, and can not be had from them
            rf"(?:nothing|{_NOTHING} (?:\w+ ){{0,3}}?{_KNOWLEDGE})\b[\w '-]{{0,100}} {_IN} {_SOURCES}\b",
            rf"{_FOUND} {_NOTHING}\b[\w '-]{{0,80}} {_IN} {_SOURCES}\b",
            rf"(?!there){_FOUND} (?:nothing|no (?:\w+ ){{0,2}}?{_KNOWLEDGE}) (?:on|about|regarding|to)\b",
            rf"{_THING} ?(?:(?:is|was) not|(?:can|could) not be) (?:\w+ ){{0,3}}{_IN} {_SOURCES}",
            rf"{_THING} ?(?:is|are) (?:missing|absent|lacking|unclear|uncertain) {_IN} {_SOURCES}",
            rf"(?:i|we) (?:do|did|can|could) not (?:see|find)\b[\w '-]{{0,80}} {_IN} {_SOURCES}",
        )
    )
)

_FINDING = _one(
    "interaction, interactions, risk, risks, harm, harms, danger, dangers, side effect, side effects, contraindication, "
    "contraindications, evidence, problem, problems, warning, warnings, restriction, restrictions, association, link, reason, "
    "reasons, fault, proof, study, studies"
)
_NAMED = _one("anything, about, on, this, that, these, those, the, your, whether, what, how, which")
_NO_KNOWLEDGE = rf"(?:(?!(?:{_KNOWLEDGE}|{_NAMED})\b)[\w'-]+ ){{0,4}}?"
_ADVICE = _one(
    "advice, diagnosis, diagnoses, opinion, opinions, recommendation, recommendations, guidance, help, assistance, anything, "
    "suggestion, suggestions, response, responses, a reply, document, documents"
)
_DOUBTFUL: Final = re.compile(
    "|".join(
        (
            # a physician may give, or find, something other than an answer
            rf"(?:i|we) {_UNABLE} (?:be able to )?{_one('give, offer, provide, prescribe, find, locate')} "
            rf"{_NO_KNOWLEDGE}{_FINDING}\b",
            rf"(?:i|we) {_UNABLE} (?:be able to )?{_one('give, offer, provide, prescribe, find, locate')} "
            rf"(?!(?:you )?(?:with )?(?:that|this|it|one|any)(?:$| (?:in|from|by|with) ))(?!.*\b(?:{_KNOWLEDGE}|{_ADVICE})\b)",
            # what medicine does not know is an answer
            rf"(?:i|we) {_one('do not have, have no, lack')} {_MUCH}(?:data|evidence)\b",
            rf"there is {_one('not enough, no, insufficient')} (?:\w+ ){{0,3}}?{_one('data, evidence, information')} "
            rf"(?:\w+ ){{0,3}}?to {_one('determine, assess, evaluate, say, tell, advise')}\b",
            # that the sources name no danger may be all there is to say
            rf"{_SOURCES} (?:{_NOT_SAYING} (?:that\b(?!$)|{_NO_KNOWLEDGE}{_FINDING}\b)"
            rf"|{_HAVE} no {_NO_KNOWLEDGE}{_FINDING}\b)",
            rf"{_one('none of, neither of, nothing in')} {_SOURCES} (?:\w+ )?{_SAYING} (?:that\b(?!$)"
            rf"|{_NO_KNOWLEDGE}{_FINDING}\b)",
            rf"(?:{_FOUND} )?no {_NO_KNOWLEDGE}{_FINDING}\b",
            rf"(?:{_FOUND} )?(?:nothing|no)\b.*\b(?:against|forbids?|prohibits?|contraindicates?|warns?|harm\w*"
            r"|danger\w*|unsafe)\b",
        )
    )
)

_BARE: Final = re.compile(
    "|".join(
        (
            _one(
                "idk, dunno, i dunno, no idea, no clue, unknown, not known, n/a, not sure, unsure, uncertain, no answer, "
                "no comment, no response, no information, no information available, no information found, not available, "
                "not applicable, information not available, answer not found, answer not available, not found, "
                "do not know, refused, declined, i abstain, i pass, i refuse, i decline"
            ),
            r"(?:can not|could not|unable to) "
            + _one("answer, say, tell, determine, respond, help, assist")
            + r"(?: (?:this|that|the|your)(?: question| request)?| with (?:this|that))?"
            + rf"(?: (?:based on|from|with|given|using) {_SOURCES})?",
            r"(?:not enough|insufficient) (?:information|data|context)(?: (?:provided|available|given))?"
            rf"(?: to {_one('answer, respond, reply, help, assist')}\b[\w '-]{{0,80}})?",
            rf"(?:nothing|no (?:\w+ ){{0,2}}?(?:{_KNOWLEDGE}|{_SOURCE}))(?: \w+)?(?: (?:is|was|are|were|has been|have been))?"
            r" (?:found|available|provided|given|retrieved|returned)",
            r"(?:(?:this|that|it|the answer) is )?(?:not (?:mentioned|stated|specified|covered|addressed|given|provided)|unknown)"
            rf"(?: to me| (?:anywhere )?(?:in|by|from) {_SOURCES})?",
            # "I don't know" in the languages that models fall into most
            _one(
                "no sé, no lo sé, je ne sais pas, ich weiß es nicht, ich weiß nicht, das weiß ich nicht, não sei, eu não sei, "
                "non lo so, ik weet het niet, nie wiem, я не знаю, не знаю, bilmiyorum, "
                "我不知道, 不知道, わかりません, 分かりません, 모르겠습니다, لا أعرف, لا أدري, मुझे नहीं पता, मैं नहीं जानता"
            ),
        )
    )
)

_COURTESY: Final = re.compile(
    "|".join(
        (
            r"(?:(?:remember|please note|note) (?:that )?)?"
            rf"(?:as|being|i am|since i am"
            rf"|because i am) an? {_one('ai, artificial, large language, language model, llm')}\b",
            r"i am an? (?:chat ?bot|virtual|digital|machine|computer|bot|assistant)\b",
            r"(?:(?:please note|note) (?:that )?)?i am not an? (?:\w+ )?"
            + _one(
                "doctor, physician, medical, health, healthcare, clinician, nurse, pharmacist, professional, dentist"
            )
            + r"\b",
            _one(
                "is there, do you have, can i, may i, could you, can you, would you, how can i, how may i, how else, what else"
            )
            + r"\b",
            r"(?:please )?"
            + _one(
                "let me know, feel free, do not hesitate, provide, share, clarify, rephrase, try again, try asking, ask me"
            )
            + r"\b",
            r"if you (?:have|need|want|would like|could|can)\b(?!.*\b(?:call|seek|go|get|see|visit|take"
            r"|stop)\b)[\w ,'-]*\b"
            + _one(
                "question, questions, concern, concerns, details, information, context, clarification, anything else, help"
            )
            + r"(?:, (?:please )?(?:feel free|do not hesitate|let me know)\b[\w ,'-]*)?$",
            _one(
                "thank you, thanks, you are welcome, i hope, i would be happy, i would be glad, i will be happy, i will be glad, i "
                "am happy, i am here, i understand, i appreciate, best wishes, good luck"
            )
            + r"\b",
            r"take care(?: of yourself)?$|to hear\b|for (?:not|being)\b|that you are (?:feeling|going through"
            r"|experiencing)\b",
            rf"i (?:have )?(?:looked|searched|read|checked|gone|went|reviewed) (?:\w+ ){{0,2}}{_SOURCES}$",
            r"for (?:the|any|your) (?:\w+ )?"
            + _one(
                "confusion, inconvenience, delay, trouble, misunderstanding, limitation, limitations, frustration, disappointment, "
                "question, patience, understanding"
            )
            + r"\b",
        )
    )
)

_SEEING = _one("consult, see, talk, speak, contact, ask, seek, reach, check, discuss, visit, call")
_CARER = _one(
    "doctor, doctors, physician, physicians, professional, professionals, provider, providers, pharmacist, pharmacists, "
    "specialist, clinician, nurse, dentist, gp, care team, practitioner, expert, experts, medical advice, medical attention, "
    "medical help, pediatrician, gynecologist, dermatologist"
)
_NO_REASON = (
    r"(?:(?!\b(?:if|when|unless|because|since|before|within|in case|immediate|immediately|urgent|urgently|today|now"
    r"|right away|"
    r"emergency)\b)[\w ,'/-]){0,120}"
)
_REFERRAL: Final = re.compile(
    r"(?:please |then |instead )*"
    r"(?:(?:i|we) (?:would )?(?:recommend|suggest|advise|encourage|urge)(?: that)?(?: you)?(?: to)? |"
    rf"you {_one('should, may want to, might want to, could, can, will need to, need to, would need to, must')} |"
    rf"it (?:is"
    rf"|would be) {_one('best, important, recommended, advisable, better, essential, necessary')}(?: for you)? to |"
    r"(?:make sure|be sure) to |(?:try|consider) )?"
    rf"(?:please )?{_SEEING}(?:ing|t?ting)?\b{_NO_REASON}?\b{_CARER}\b{_NO_REASON}"
)


def abstention(text: str) -> Abstention:
    """Classifies an answer by its wording; Markdown, quotation marks and curly apostrophes make no difference.

    `sure`: nothing but refusal and courtesy, at most `LONGEST` words, or no words at all. `none`: nothing is refused, or
    `ANSWER_WORDS` words say something beside the refusal. `unsure`: anything between, or courtesy alone.
    """
    refuses = False
    words = said = 0
    for clause in dict.fromkeys(_clauses(text)):
        size = len(clause.split())
        words += size
        kind = _kind(clause)
        if kind == "refusal":
            refuses = True
            said += max(0, size - CLAUSE_WORDS)
        elif kind == "doubtful":
            refuses = True
            said += size
        elif kind == "content":
            said += size
    if not any(map(str.isalnum, text)):
        return "sure"
    if refuses and said == 0 and words <= LONGEST:
        return "sure"
    if said >= ANSWER_WORDS or (said and not refuses):
        return "none"
    return "unsure"


def _clauses(text: str) -> Iterator[str]:
    """The clauses in lower case, without lead-ins; those of which nothing is left are left out."""
    plain = unicodedata.normalize("NFKC", text[:READ].translate(_PLAIN)).translate(_PLAIN).lower()
    plain = _INITIAL.sub(" ", _TAG.sub(" ", plain))
    for contraction, spelt in _CONTRACTIONS:
        plain = contraction.sub(spelt, plain)
    for sentence in _SENTENCES.split(plain):
        mark = _LIST_MARK.match(sentence)
        for part in _CONTRASTS.split(sentence[mark.end() :] if mark else sentence):
            clause = " ".join(_ADVERBS.sub("", part).split())
            yield from _split(clause.strip(_EDGES))


def _split(clause: str) -> Iterator[str]:
    """Takes a clause apart where a second one follows a comma, and drops what leads in."""
    concession = _CONCESSION.match(clause)
    if concession and "," in clause:
        head, _, tail = clause[concession.end() :].partition(",")
        parts = [head, tail]
    else:
        parts = _OPENS_A_CLAUSE.split(clause)
    for part in parts:
        rest = part.strip(_EDGES)
        while (lead := _LEAD_IN.match(rest)) and lead.end():
            rest = rest[lead.end() :].strip(_EDGES)
        if any(map(str.isalnum, rest)) and not _LABEL.fullmatch(rest):
            yield rest


def _kind(clause: str) -> Literal["refusal", "doubtful", "courtesy", "content"]:
    start = " ".join(clause.split(" ")[:CLAUSE_WORDS])[:400]
    if _BARE.fullmatch(start):
        return "refusal"
    if _REFUSAL.match(start):
        return "doubtful" if _DOUBTFUL.match(start) else "refusal"
    short = len(clause.split()) <= CLAUSE_WORDS
    if short and (_COURTESY.match(start) or _REFERRAL.fullmatch(start)):
        return "courtesy"
    return "content"
