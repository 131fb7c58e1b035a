"""Abstentions by rule: our own wordings, after the forms that the paper's prompts ask for and models give."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.benchmarks.kqa.abstention import ANSWER_WORDS, LONGEST, abstention
from tests.benchmarks.kqa.abstention_families import abstaining, answering
from tests.support import SHARED, needs_shared

LEXAPRO = (
    "Escitalopram belongs to the SSRI antidepressants. It is taken once a day for depression and anxiety disorders. Common side "
    "effects are nausea, headache, sleepiness, insomnia and sexual problems. It takes several weeks until the full effect is "
    "felt, and it should not be stopped abruptly, because dizziness and irritability may follow. Young adults need to be watched "
    "for thoughts of suicide in the first weeks."
)

SURE = [
    "",
    "   \n\t ",
    "...",
    "I don't know",
    "I don't know.",
    "I don’t know.",
    "I don`t know",
    "i dont know",
    "“I don’t know.”",
    "« I don't know »",
    "‹I don’t know›",
    "**I don't know**",
    "> *I don't know.*",
    "`I don't know`",
    "### Answer\nI don't know.",
    "Answer: I don't know.",
    "A: I don't know.",
    "I do not know the answer to this question.",
    "I really don't know whether that is safe.",
    "Unknown",
    "N/A",
    "No idea.",
    "I'm not sure.",
    "Sorry, I don't know.",
    "Idk, sorry!",
    "<answer>I don't know</answer>",
    "That information is not available.",
    "I'm sorry, but I don't know the answer to that.",
    "I’m sorry, but I can’t help with that request.",
    "I apologize, but I am unable to answer your question.",
    "Unfortunately, I don't have enough information to answer this question.",
    "I have no information about this medication.",
    "As an AI language model, I cannot give medical advice. Please consult a doctor or a pharmacist.",
    "I'm just an AI and I'm not a doctor, so I can't answer that. I'd recommend talking to your healthcare provider.",
    "I cannot provide a diagnosis. You should see a physician.",
    "I don't know, but you should ask your doctor about it.",
    "The answer is not in our sources.",
    "The answer to your question is not included in the verified sources.",
    "Our sources do not mention this interaction. I don't know.",
    "The provided context does not contain information about Robaxin.",
    "Based on the sources provided, I cannot answer this question.",
    "According to our verified sources, I don't know.",
    "There is no information about this drug in the sources.",
    "There is not enough information to answer the question.",
    "This question cannot be answered from the documents.",
    "It is impossible for me to say without more details.",
    "I can't say.",
    "That is beyond the scope of what I can offer.",
    "I don't know. Is there anything else I can help you with?",
    "I'm not able to diagnose your rash. Could you describe it to your doctor? Feel free to ask me something else.",
    "I don't know.\n\n" * 400,
    "None of the provided sources mention this medication.",
    "Nothing in the sources answers this question.",
    "I lack the information needed to answer.",
    "I must refrain from giving medical advice.",
    "My training data does not cover this drug.",
    "I wouldn't know, I am not a doctor.",
    "I do not believe I can answer that.",
    "Unable to answer based on the given context.",
    "Insufficient information to answer the question.",
    "I'm sorry, but as an AI language model I am unable to diagnose medical conditions. Please see a doctor.",
    "I'm sorry that you're feeling unwell, but I can't diagnose conditions.",
    "I can't help with that. If you have any other questions or need general information, feel free to ask!",
    "I'm sorry, but I couldn't find any information about the side effects of this drug in the sources.",
    "We don't know the answer.",
    "Je ne sais pas.",
    "我不知道。",
    "¡No sé!",
]

NONE = [
    LEXAPRO,
    "Yes.",
    "A.",
    "No, they are different infections.",
    "It is not known whether this drug passes into breast milk.",
    "There is no data on its use in pregnancy.",
    "I cannot recommend taking both at the same time.",
    "I'm sorry to hear that you are in pain. Ibuprofen can help.",
    "Sorry to hear about your migraine! Triptans stop many attacks if taken early.",
    "Unfortunately there is no cure for herpes, but antivirals shorten outbreaks.",
    "Many people don't know that scabies spreads by skin contact.",
    "You don't know your HPV status without a test.",
    "No, I don't know of any interaction between the two.",
    "Your doctor may not know about it unless you tell them.",
    "The cause is unknown, although genes play a part.",
    "See a doctor at once if the pain moves to the right lower belly.",
    "Do not take it if you are not sure what it contains.",
    "As an AI, I can tell you that ibuprofen and naproxen should not be combined.",
    "Information on the label tells you the dose.",
    "None.",
    "I can't say that it is safe.",
    "This is outside the normal range.",
    "It is impossible to say how long the rash will last.",
    "The information provided on the label does not replace your doctor's.",
    "I am sorry, I can't examine you. " + LEXAPRO,
    "While I cannot give medical advice, here is what is known. " + LEXAPRO,
    LEXAPRO + " I don't know whether it suits you; please talk to your doctor.",
    "Nein.",
    "We don't know exactly what causes psoriasis.",
    "We do not know whether it is safe in pregnancy.",
    "We should refrain from giving antibiotics.",
    "Insufficient data to determine whether it is safe in pregnancy.",
    "For the prevention of gout attacks, adults take 0.6 mg of colchicine once or twice a day.",
    "Seek immediate medical attention for weakness in both legs.",
    "I would be careful with both together.",
    "As an AI model I recommend ibuprofen.",
]

UNSURE = [
    "I don't know the cause, but it may be gastritis.",
    "I'm not sure, it may be gastritis.",
    "I am not a doctor, but I can't see why it would be unsafe. I don't know about alcohol, though.",
    "I'm sorry, I can't give medical advice. Ibuprofen is usually fine with antibiotics.",
    "While I can't diagnose you, your symptoms fit strep throat.",
    "Our sources do not mention Zyrtec. Antihistamines in general should not be combined.",
    "The sources don't cover this; in general two sedating drugs should not be taken together.",
    "Please consult your doctor.",
    "I'm sorry.",
    "As an AI language model, I recommend speaking with a pharmacist.",
    # what is found, or not given, may be all there is to say
    "I could not find any interaction between amoxicillin and acetaminophen.",
    "There are no interactions in the references.",
    "The sources do not say that it is dangerous.",
    "The sources do not mention any interaction between the two.",
    "We cannot give antibiotics for viruses.",
    "I will not prescribe antibiotics for a cold.",
    "I can't find fault with taking it at night.",
    "We don't have enough data on its use in pregnancy.",
    "There is not enough information to determine whether bupropion is safe in pregnancy.",
    # a refusal with advice
    "I don't know the exact dose. For the prevention of gout, adults take 0.6 mg of colchicine once a day.",
    "I can't diagnose you. I would be careful with ibuprofen when taking blood thinners.",
    "I can't say what it is. If you have trouble breathing, seek emergency help.",
    "I cannot diagnose this. Seek immediate medical attention.",
    "I don't know what this is. See a doctor today.",
    "I don't know. Take care to keep the wound dry.",
    "I don't know what the matter is with " + "the red and itching spots and weals on " * 8 + "your arm",
]


def test_the_table_is_long_enough() -> None:
    assert len({*SURE, *NONE, *UNSURE}) == len(SURE) + len(NONE) + len(UNSURE) >= 75


@pytest.mark.parametrize("text", SURE, ids=lambda text: repr(text[:50]))
def test_sure(text: str) -> None:
    assert abstention(text) == "sure"


@pytest.mark.parametrize("text", NONE, ids=lambda text: repr(text[:50]))
def test_an_answer(text: str) -> None:
    assert abstention(text) == "none"


@pytest.mark.parametrize("text", UNSURE, ids=lambda text: repr(text[:50]))
def test_left_to_a_judge(text: str) -> None:
    assert abstention(text) == "unsure"


def test_abstentions_of_many_forms_are_sure() -> None:
    texts = abstaining()
    assert len(texts) >= 500
    missed = [text for text in texts if abstention(text) != "sure"]
    assert len(missed) <= len(texts) * 0.03, missed


def test_answers_with_such_wordings_in_passing_are_no_abstentions() -> None:
    texts = answering()
    assert len(texts) >= 500
    taken = [text for text in texts if abstention(text) == "sure"]
    assert len(taken) <= len(texts) * 0.01, taken


def test_a_long_refusal_is_not_sure() -> None:
    refusals = [f"I cannot answer question number {word} of yours." for word in map(str, range(40))]
    assert len(" ".join(refusals).split()) > LONGEST
    assert abstention(" ".join(refusals)) == "unsure"


def test_enough_words_that_say_something_make_an_answer() -> None:
    filling = "Ibuprofen " + "helps " * (ANSWER_WORDS - 1)
    assert abstention(f"I don't know. {filling}") == "none"
    assert abstention(f"I don't know. {filling.removesuffix('helps ')}") == "unsure"


@given(
    st.sampled_from([*SURE, *NONE, *UNSURE]), st.sampled_from(["**{}**", "\n\n{}\n", "“{}”", "« {} »", "- {}", "> {}"])
)
@settings(deadline=None, max_examples=150)
def test_dress_makes_no_difference(text: str, dress: str) -> None:
    assert abstention(dress.format(text)) == abstention(text)


@given(st.text(max_size=300))
@settings(deadline=None, max_examples=200)
def test_any_text_is_read(text: str) -> None:
    verdict = abstention(text)
    assert verdict in ("sure", "unsure", "none")
    if not any(sign.isalnum() for sign in text):
        assert verdict == "sure"


@pytest.mark.parametrize(
    "piece",
    ["i don't ", "the ", "i do not have any ", "in the provided ", "a, ", "please see ", "-", " - ", "i am so sorry "],
)
def test_no_pattern_runs_away(piece: str) -> None:
    # A pattern that tried again from every place would take minutes here; the suite's time limit would end it.
    assert abstention(piece * 4000) in ("sure", "unsure", "none")


@pytest.mark.upstream
@needs_shared
def test_physicians_never_abstain() -> None:
    with (SHARED / "data" / "kqa" / "questions_w_answers.jsonl").open(encoding="utf-8") as lines:
        answers = [json.loads(line)["Free_form_answer"] for line in lines]
    assert len(answers) == 201
    assert [answer for answer in answers if abstention(answer) != "none"] == []


@pytest.mark.upstream
@needs_shared
def test_recorded_answers_of_a_model() -> None:
    """The authors' example file: 48 answers of GPT-3.5, none of which abstains."""
    results = json.loads((SHARED / "data" / "kqa" / "dummy_res.json").read_text(encoding="utf-8"))
    assert len(results) == 48
    assert [one["result"] for one in results if abstention(one["result"]) == "sure"] == []
