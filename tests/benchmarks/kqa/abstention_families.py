"""Abstentions by the hundred, and answers that have such wordings in passing."""

from __future__ import annotations

import random

__all__ = ["abstaining", "answering"]

_SOURCES = (
    "the passages", "the provided passages", "the documents", "the context", "the given context", "the sources provided",
    "the retrieved documents", "these excerpts", "the text above", "the search results", "the articles I was given",
    "the supplied material", "our sources", "the knowledge base", "the references",
)  # fmt: skip
_TOPICS = (
    "this", "your question", "the dose of colchicine", "taking Zyrtec with Benadryl", "the interaction of the two drugs",
    "that",
    "pregnancy and this drug", "how long the rash lasts", "whether it is safe to fly", "lactation",
    "the side effects of Lexapro",
)  # fmt: skip
_ABSTAINING = (
    "There is nothing in {s} about {t}.", "Nothing in {s} is about {t}.", "{S} say nothing about {t}.",
    "{S} contain nothing on {t}.",
    "There is no information in {s} on {t}.", "There is no information about {t} in {s}.", "I find nothing on {t} in {s}.",
    "I found no mention of {t} in {s}.", "I see nothing in {s} that answers this.",
    "I could not find anything about {t} in {s}.",
    "{S} do not address {t}.", "{S} fail to mention {t}.", "{S} make no mention of {t}.", "{S} are silent on {t}.",
    "{S} never discuss {t}.", "{S} offer no answer.", "{S} lack information on {t}.", "{S} do not answer the question.",
    "No passage mentions {t}.", "No document in {s} covers {t}.", "None of {s} discusses {t}.", "Not one of {s} mentions {t}.",
    "No information about {t} was found in {s}.", "No mention of {t} is made in {s}.", "This is not covered by {s}.",
    "The answer is not to be found in {s}.", "The answer can't be found in {s}.", "The question isn't answered in {s}.",
    "This question can't be answered from {s}.", "It is not possible to answer this from {s}.",
    "The answer isn't given in {s}.",
    "It cannot be determined from {s}.", "That cannot be answered with {s}.", "It's not stated anywhere in {s}.",
    "Based on {s}, I cannot say.", "From {s} alone I can't tell.", "Given {s}, it is impossible to answer.",
    "I have nothing on {t}.", "I have no information on {t}.", "I don't have enough information about {t} to answer.",
    "I was not given any information about {t}.", "I have not been provided with information on {t}.",
    "I am not sure about {t}.",
    "I'm afraid I don't know about {t}.", "I do not know.", "I cannot answer that.", "I can't help with that.",
    "I am unable to answer.",
    "I can't process this request.", "I cannot help.", "Sorry, I can't assist with this.", "I'm unable to comment on {t}.",
    "I won't be able to answer this.", "I must decline to answer.", "That is not something I can answer.",
    "I'd rather not answer this.",
    "I lack the information to answer.", "I cannot give medical advice.", "This is beyond what I know.",
    "My knowledge does not cover {t}.",
    "There isn't enough information in {s} to answer.", "There is insufficient information about {t} in {s}.",
    "{S} don't have the answer. Please ask your doctor.", "I don't know; {s} don't cover {t}.",
    "Unfortunately, {s} do not cover {t}.",
    "As an AI, I cannot answer this. Please consult a physician.", "Sorry, but nothing relevant to {t} appears in {s}.",
    "{S} provide no details on {t}, so I cannot answer.", "I have looked through {s} and found nothing about {t}.",
    "I do not see {t} mentioned in {s}.", "I can find no answer in {s}.", "There's no answer to this in {s}.",
)  # fmt: skip
_FACTS = (
    "Ibuprofen can be taken with food twice a day", "Antibiotics do not help against viruses",
    "Scabies spreads by skin contact",
    "The rash usually fades within two weeks", "Colchicine is given at 0.6 mg once or twice a day",
    "Zyrtec and Benadryl add up in drowsiness",
    "Call your doctor if the fever lasts more than three days", "Lexapro takes several weeks until its full effect is felt",
)  # fmt: skip
_ANSWERING = (
    "{f}. There is nothing in {s} about {t}.", "{f}, though {s} do not mention {t}.", "{S} say nothing about {t}, but {f2}.",
    "I don't know whether it suits you, but {f2}.", "{f}. I can't diagnose you. Please see a doctor.",
    "I'm sorry you feel unwell. {f}.",
    "{f}. I do not know of any interaction.", "No, I don't know of any harm. {f}.", "There is no cure, but {f2}.",
    "It is not known whether it is safe; {f2}.", "{f}. The cause is unknown.", "{f}. {f}. I have no information on {t}.",
    "While {s} do not cover {t}, {f2}.", "{S} state that {f2}, and nothing more.", "According to {s}, {f2}.",
    "Based on {s}: {f2}.",
    "Nothing in the label forbids it.", "There is no evidence that it is harmful.", "There is no data on its use in pregnancy.",
    "No interaction is described on the label. {f}.", "You will find nothing better than rest. {f}.",
    "No information leaflet replaces "
    "your doctor. {f}.", "As an AI, I can tell you that {f2}.", "I cannot recommend taking both.",
    "I can't say that it is safe.",
    "The test does not answer every question. {f}.", "Your doctor may not know about it unless you tell them.",
    "Nothing helps as fast as cold water. {f}.", "The leaflet does not mention alcohol because {f2}.",
    "You can't catch it again.",
    "There is nothing to worry about.", "There is nothing in milk that would harm you.", "No passage of the airway is blocked.",
    "The context of the pain matters: {f2}.", "References to addiction do not apply here. {f}.",
    "It cannot be determined by touch.",
    "The answer is yes. {f}.", "The documents you need are a card and a referral.",
    "Text messages do not replace a visit. {f}.",
    "This is not covered by most insurers.", "That cannot be treated with antibiotics.", "I found that {f2}.",
)  # fmt: skip


def _answers(forms: tuple[str, ...], seed: int, each: int) -> list[str]:
    draw = random.Random(seed)
    found = []
    for form in forms:
        for _ in range(each):
            source, topic, fact = draw.choice(_SOURCES), draw.choice(_TOPICS), draw.choice(_FACTS)
            found.append(
                form.format(s=source, S=source[0].upper() + source[1:], t=topic, f=fact, f2=fact[0].lower() + fact[1:])
            )
    return found


def abstaining() -> list[str]:
    """Texts in which nothing is said but that there is no answer."""
    return _answers(_ABSTAINING, seed=1, each=8)


def answering() -> list[str]:
    """Texts that say something, each with words of an abstention or of the sources."""
    return _answers(_ANSWERING, seed=2, each=13)
