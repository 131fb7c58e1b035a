"""The wordings that `abstention` knows, as patterns for one clause.

A clause comes in lower case, contractions spelt out ("do not", "can not", "i am") and words of emphasis (`ADVERBS`) taken out.
What a physician's answer may say of medicine ("there is no data on its use in pregnancy", "it is not known whether", "I can
not recommend it") is no refusal: a refusal speaks of the speaker, of the question, or of the sources given.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = [
    "ADVERBS",
    "BARE",
    "CONCESSION",
    "CONTRACTIONS",
    "COURTESY",
    "DOUBTFUL",
    "LEAD_IN",
    "OPENS_A_CLAUSE",
    "REFERRAL",
    "REFUSAL",
]


def _one(words: str) -> str:
    """A pattern that takes one of the words or phrases, which a comma parts; the longest first."""
    choices = sorted((word.strip() for word in words.split(",")), key=len, reverse=True)
    return f"(?:{'|'.join(map(re.escape, choices))})"


def _some(words: str) -> str:
    """A pattern that takes any number of the words, each with the space behind it."""
    return f"(?:{_one(words)} )*"


CONTRACTIONS: Final = tuple(
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
"""How contractions are spelt out."""

ADVERBS: Final = re.compile(
    r"\b"
    + _one(
        "really, simply, honestly, just, currently, actually, definitively, accurately, safely, reliably, confidently, fully, "
        "directly, personally, therefore, also, only, still, very, truly, sincerely, strongly, highly, always, kindly, "
        "explicitly, specifically, unfortunately, regrettably, sadly, entirely, quite, completely, totally, 100%"
    )
    + r"(?=[ ,]|$)"
)
"""What changes nothing about a refusal, wherever it stands."""

_SOURCE = _one(
    "source, sources, context, document, documents, passage, passages, text, texts, article, articles, reference, references, "
    "excerpt, excerpts, material, information, search results"
)
_SOURCES = (
    _some(
        "the, our, your, my, these, those, this, any, of, verified, provided, given, available, above, following, retrieved, "
        "medical, supplied, listed, cited, own, trusted"
    )
    + _SOURCE
    + f"(?: {_one('provided, given, above, available, supplied, i have, you gave, you provided')})?"
)
_ANSWERING = _one(
    "answer, respond, reply, help, assist, provide, give, offer, comment, diagnose, find, locate, determine, access, "
    "advise, discuss, interpret, address, fulfil, fulfill, comply, do that, do this, do so, engage, share, speculate, "
    "prescribe, evaluate, assess, make a diagnosis, make any diagnosis, make medical, make a recommendation"
)
_UNABLE = _one(
    "can not, could not, will not, must not, should not, am unable to, are unable to, was unable to, am not able to, are not "
    "able to, was not able to, am not qualified to, am not allowed to, am not permitted to, am not authorized to, am not "
    "equipped to, am not in a position to, will not be able to, would not be able to, would be unable to, have to decline "
    "to, must decline to, decline to, would rather not, prefer not to, refuse to"
)
_SAYING = _one(
    "contain, mention, include, provide, address, say, specify, have, has, answer, cover, discuss, state, give, offer, indicate, "
    "describe"
)
_KNOWLEDGE = _one(
    "information, info, knowledge, data, answer, answers, expertise, details, context, ability, idea, clue, qualifications, "
    "training, source, sources, records, that, way of knowing, way to know, way to tell"
)
_MUCH = _some(
    "any, enough, sufficient, the, a, an, adequate, reliable, specific, relevant, necessary, required, medical, up-to-date, "
    "access to, much"
)

LEAD_IN: Final = re.compile(
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
            _one("based on, relying on, according to, from, in, given, with") + f" {_SOURCES}",
        )
    )
    + r")(?=[\s,.]|$)[\s,.]*"
)
"""What may stand before a refusal, or before anything else, and says nothing by itself."""

CONCESSION: Final = re.compile(_one("while, whilst, although, though, even though, even if") + r" (?=i\b)")
"""A refusal that gives way to something: "While I can't diagnose you, ..."."""

OPENS_A_CLAUSE: Final = re.compile(
    r",\s+(?:(?:and|so|or|yet)\s+)?(?="
    + _one(
        "i, it, this, that, these, those, they, he, she, we, you, your, there, the, yes, no, probably, maybe, perhaps, possibly, "
        "usually, generally, typically, most, please, sorry, some, common, take, try, avoid, use"
    )
    + r"\b)"
)
"""A comma with a clause of its own behind it."""

REFUSAL: Final = re.compile(
    "|".join(
        (
            # the speaker does not know
            r"i (?:do|did) not know\b(?! of (?:any|an?|no)\b)",
            # what "we" do not know may be what medicine does not know, and that is an answer
            r"we (?:do|did) not know(?:$| (?:this|that)$| (?:the|an) answer\b)",
            r"i would not know\b",
            r"(?:i|we) lack " + _MUCH + _KNOWLEDGE + r"\b",
            rf"my {_one('knowledge, training, training data, expertise')} (?:does|do) not\b",
            rf"(?:i|we) do not have {_MUCH}{_KNOWLEDGE}\b",
            rf"(?:i|we) have no {_MUCH}{_KNOWLEDGE}\b",
            r"i am not (?:sure|certain|familiar with|aware of (?:the|an) answer)\b",
            # the speaker can not or will not say
            rf"(?:i|we) {_UNABLE} (?:be able to )?(?:{_ANSWERING}\b|(?:say|tell)\b(?! (?:you )?(?:that|it|how|enough)\b))",
            r"i (?:must|have to|need to|should|will|would rather) refrain from "
            + _one(
                "giving, providing, offering, answering, responding, commenting, making, speculating, diagnosing, advising"
            )
            + r"\b",
            rf"i do not (?:believe|think|feel) (?:that )?i (?:can|could|am able to) {_ANSWERING}\b",
            # the question, or the answer to it
            r"(?:this|that|the|your) (?:question|request|query) (?:can not|could not|is not something|is not one)\b",
            rf"(?:the|an|that|your) answer(?: to \w+ question)? {_one('is not, was not, can not be, could not be')} (?:\w+ )?"
            + _one(
                "in, found, available, given, included, contained, provided, present, known to me, determined, stated"
            )
            + r"\b",
            r"(?:it|that) is (?:not possible|impossible) for me to\b",
            rf"(?:this|that|the) (?:information|answer) is not {_one('available, known, provided, given, included, stated')}\b",
            r"(?:this|that|it|your|the)(?: \w+)? (?:is|falls|goes|lies) (?:well )?(?:beyond|outside)(?: of)? "
            + _one("my, our, the scope, what i")
            + r"\b",
            rf"there is (?:not enough|no|insufficient) (?:\w+ ){{0,3}}?{_KNOWLEDGE} (?:\w+ ){{0,3}}?to {_ANSWERING}\b",
            # the sources
            rf"{_SOURCES} (?:do|does|did) not (?:appear to |seem to )?{_SAYING}\b",
            rf"{_one('none of, neither of, nothing in')} {_SOURCES} (?:\w+ )?{_SAYING}e?s?\b",
            rf"{_SOURCES} (?:contains?|has|have|offers?|provides?|gives?) (?:no|nothing)\b",
            rf"{_SOURCES} lacks?\b",
            rf"{_one('there is, there are, i find, i found, i see, i could find')} (?:no|nothing)\b[\w '-]{{0,80}} (?:in|from) "
            rf"{_SOURCES}$",
            rf"(?:this|that|it|the \w+) (?:is|was) not (?:\w+ ){{0,2}}(?:in|by) {_SOURCES}$",
            rf"(?:not|no information|nothing) (?:\w+ ){{0,2}}in {_SOURCES}$",
        )
    )
)
"""Starts of clauses that refuse."""

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
DOUBTFUL: Final = re.compile(
    "|".join(
        (
            # a physician may give, or find, something other than an answer
            rf"(?:i|we) {_UNABLE} (?:be able to )?{_one('give, offer, provide, prescribe, find, locate')} "
            rf"{_NO_KNOWLEDGE}{_FINDING}\b",
            rf"(?:i|we) {_UNABLE} (?:be able to )?{_one('give, offer, provide, prescribe, find, locate')} "
            rf"(?!(?:you )?(?:with )?(?:that|this|it|one|any)$)(?!.*\b(?:{_KNOWLEDGE}|{_ADVICE})\b)",
            # what medicine does not know is an answer
            rf"(?:i|we) {_one('do not have, have no, lack')} {_MUCH}(?:data|evidence)\b",
            rf"there is {_one('not enough, no, insufficient')} (?:\w+ ){{0,3}}?{_one('data, evidence, information')} "
            rf"(?:\w+ ){{0,3}}?to {_one('determine, assess, evaluate, say, tell, advise')}\b",
            # that the sources name no danger may be all there is to say
            rf"{_SOURCES} (?:do|does|did) not (?:appear to |seem to )?{_SAYING} (?:that\b|{_NO_KNOWLEDGE}{_FINDING}\b)",
            rf"{_one('none of, neither of, nothing in')} {_SOURCES} (?:\w+ )?{_SAYING}e?s? "
            rf"(?:that\b|{_NO_KNOWLEDGE}{_FINDING}\b)",
            rf"{_SOURCES} (?:contains?|has|have|offers?|provides?|gives?) no {_NO_KNOWLEDGE}{_FINDING}\b",
            rf"{_one('there is, there are, i find, i found, i see, i could find')} no {_NO_KNOWLEDGE}{_FINDING}\b",
        )
    )
)
"""Starts of refusals that may be a finding: "I could not find any interaction", "we can not give antibiotics for viruses"."""

BARE: Final = re.compile(
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
            # "I don't know" in the languages that models fall into most
            _one(
                "no sé, no lo sé, je ne sais pas, ich weiß es nicht, ich weiß nicht, das weiß ich nicht, não sei, eu não sei, "
                "non lo so, ik weet het niet, nie wiem, я не знаю, не знаю, bilmiyorum, "
                "我不知道, 不知道, わかりません, 分かりません, 모르겠습니다, لا أعرف, لا أدري, मुझे नहीं पता, मैं नहीं जानता"
            ),
        )
    )
)
"""Refusals without a subject, which have to be the whole clause."""

COURTESY: Final = re.compile(
    "|".join(
        (
            r"(?:(?:remember|please note|note) (?:that )?)?"
            rf"(?:as|being|i am|since i am|because i am) an? {_one('ai, artificial, large language, language model, llm')}\b",
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
            r"if you (?:have|need|want|would like|could|can)\b(?!.*\b(?:call|seek|go|get|see|visit|take|stop)\b)[\w ,'-]*\b"
            + _one(
                "question, questions, concern, concerns, details, information, context, clarification, anything else, help"
            )
            + r"(?:, (?:please )?(?:feel free|do not hesitate|let me know)\b[\w ,'-]*)?$",
            _one(
                "thank you, thanks, you are welcome, i hope, i would be happy, i would be glad, i will be happy, i will be glad, i "
                "am happy, i am here, i understand, i appreciate, best wishes, good luck"
            )
            + r"\b",
            r"take care(?: of yourself)?$|to hear\b|for (?:not|being)\b|that you are (?:feeling|going through|experiencing)\b",
            r"for (?:the|any|your) (?:\w+ )?"
            + _one(
                "confusion, inconvenience, delay, trouble, misunderstanding, limitation, limitations, frustration, disappointment, "
                "question, patience, understanding"
            )
            + r"\b",
        )
    )
)
"""Starts of clauses that are courtesy, disclaimer or offer."""

_SEEING = _one("consult, see, talk, speak, contact, ask, seek, reach, check, discuss, visit, call")
_CARER = _one(
    "doctor, doctors, physician, physicians, professional, professionals, provider, providers, pharmacist, pharmacists, "
    "specialist, clinician, nurse, dentist, gp, care team, practitioner, expert, experts, medical advice, medical attention, "
    "medical help, pediatrician, gynecologist, dermatologist"
)
_NO_REASON = (
    r"(?:(?!\b(?:if|when|unless|because|since|before|within|in case|immediate|immediately|urgent|urgently|today|now|right away|"
    r"emergency)\b)[\w ,'/-]){0,120}"
)
REFERRAL: Final = re.compile(
    r"(?:please |then |instead )*"
    r"(?:(?:i|we) (?:would )?(?:recommend|suggest|advise|encourage|urge)(?: that)?(?: you)?(?: to)? |"
    rf"you {_one('should, may want to, might want to, could, can, will need to, need to, would need to, must')} |"
    rf"it (?:is|would be) {_one('best, important, recommended, advisable, better, essential, necessary')}(?: for you)? to |"
    r"(?:make sure|be sure) to |(?:try|consider) )?"
    rf"(?:please )?{_SEEING}(?:ing|t?ting)?\b{_NO_REASON}?\b{_CARER}\b{_NO_REASON}"
)
"""A bare referral, as a whole clause; with a reason to go ("if the fever lasts") it says something."""
