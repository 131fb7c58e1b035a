"""Answers by the thousand: forms that take a choice, and tempting ones that take none or another.

`{l}` and `{t}` are the letter and the text of the choice that a form speaks of first, `{m}` and `{u}` those of another one, `{n}`
and `{v}` of a third.
"""

from __future__ import annotations

import random
import string
from collections.abc import Iterator, Sequence

__all__ = ["CHOICES", "RIGHT", "WRONG", "right_answers", "wrong_answers"]

CHOICES = (
    ("Warfarin was held and restarted on the third day", "Apixaban was started", "Heparin drip with bridging to warfarin",
     "No anticoagulation was given because of bleeding", "Aspirin and clopidogrel together"),
    ("Acute kidney injury from dehydration", "Urinary tract infection", "Congestive heart failure exacerbation",
     "Upper gastrointestinal bleeding", "Community acquired pneumonia of the left lower lobe"),
    ("Discharged home with visiting nurses", "Transferred to a rehabilitation hospital", "Left against medical advice",
     "A nursing home placement was arranged", "Died in the intensive care unit"),
)  # fmt: skip

RIGHT = (
    # the letter alone, and with its text
    "{l}", "({l})", "{l}.", "{l})", "[{l}]", "**{l}**", "**({l})**", "`{l}`", "Option {l}", "option {s}", "{l}: {t}", "{l}. {t}",
    "({l}) {t}.", "{l} - {t}", "**{l}. {t}**", "{t}", "{t}.", "{t} ({l})", "{t} (option {l}).", "\n\n{l}\n\n", "# {l}", "> {l}",
    # circled, fullwidth and other letters
    "{circled}", "The answer is {circled}.", "{ring}", "{square}", "{solid} {t}", "Answer: {wide}", "{mathbold}", "{paren}",
    # named as the answer
    "The answer is {l}.", "the correct answer is {l}", "Answer: {l}", "answer = {l}", "Answer – {l}", "Final answer: **{l}**",
    "The best answer is ({l}) {t}.", "My answer is {l}, because the second note says so.", "The answer would be {l}.",
    "The right choice here is option {l}.", "The answer to the question is {l}.", "Correct option: {l}", "Selected choice: {l}",
    "The option that fits the notes best is {l}.", "The only answer supported by the notes is {l}.", "Solution: {l}", "Choice: {l}",
    "The correct answer, therefore, is {l}.", "The correct one is {l}.", "My final choice is {l}: {t}.", "The best is {l}.",
    # chosen and called correct
    "I would choose {l}.", "I'd go with {l}.", "I pick {l}, {t}.", "We select option {l}.", "I choose ({l}).", "Going with {l}.",
    "Option {l} is correct.", "{l} is the correct answer.", "{l} is my answer.", "{l} is the best choice.", "Only {l} is correct.",
    "Choice {l} ({t}) is the right answer.", "{l} is the most likely answer.", "{l} makes the most sense.",
    "I believe {l} is right.",
    # concluded
    "Therefore, {l}.", "So the answer is {l}.", "Hence option {l} is correct.", "In conclusion, the answer is {l}.",
    "By elimination, {l}.", "The note of the second stay says it plainly.\n\nAnswer: {l}",
    "The list has it, so {l}.", "It must be {l}.",
    "The notes say so on the last page.\n{l}", "This corresponds to option {l}.", "That leaves {l}.",
    # compared, and others set aside
    "I would choose {l} over {m}.", "{l} rather than {m}.", "{l}, not {m}.", "The answer is {l} instead of {m}.",
    "Not {m} but {l}.",
    "{l} is better than {m}.", "I prefer {l} to {m}.", "The answer is not {m}; it is {l}.", "{m} is wrong. {l} is right.",
    "It is {l} and not {m}.", "Between {l} and {m}, I would choose {l}.", "Of {m} and {l}, the better one is {l}.",
    "Options {m} and {n} are wrong, so the answer is {l}.", "{m} was ruled out. The answer is {l}.",
    "Out of the options A, B, C, D and E, the best is {l}.", "Among choices A, B, C, D, and E, the correct answer is {l}.",
    "Considering options A through E, I choose {l}.", "Of the five choices (A, B, C, D, E) the right one is {l}.",
    "If it were {m}, the notes would say so. They do not. The answer is {l}.", "Some might say {m}. The answer is {l}.",
    # asked and answered
    "Is it {l}? Yes.", "Is the answer {m}? No. The answer is {l}.", "Is it {m} or {l}? It is {l}.", "{m}? No. {l}? Yes.",
    "Which one fits? {l}.", "Could it be {l}? Yes, the notes say so.",
    # corrected
    "{m}. No, wait: {l}", "{m}... no, {l}.", "The answer is {m}. Actually, the answer is {l}.", "{m}. Correction: {l}.",
    "The answer is {m}, or rather {l}.", "Answer: {m}\nWait, that is wrong. The answer is {l}.", "~~{m}~~ {l}",
    "The answer is {m}. Sorry, I mean {l}.", "Final answer: {m}. On second thought, it is {l}.",
    # machine forms
    '{{"answer": "{l}"}}', '{{"answer": "{l}. {t}", "confidence": 0.9}}', '{{"reason": "{u}: no", "answer": "{l}"}}',
    '```json\n{{"answer": "{l}"}}\n```', '{{"final_answer": "({l})"}}', '{{"choice": "{l}", "why": "It is in the notes."}}',
    '{{"options": ["A", "B", "C", "D", "E"], "answer": "{l}"}}', '{{"answer": ["{l}"]}}', '{{"rejected": "{m}", "answer": "{l}"}}',
    "\\boxed{{{l}}}", "The answer is $\\boxed{{\\text{{{l}}}}}$.",
    "\\[\\boxed{{\\mathbf{{{l}. }} \\text{{{t}}}}}\\]", "$$\\boxed{{({l})}}$$",
    "<answer>{l}</answer>", "<answer>\n{l}. {t}\n</answer>", "<b>{l}</b>", "<final_answer>{l}</final_answer>",
    # reasoning before it
    "<think>It may be {m}. The answer is {m}.</think>{l}", "<thinking>{m}?</thinking>\nThe answer is {l}.",
    "{m} fits</think>{l}. {t}",
    "<reasoning>The answer is {m}.</reasoning> {l}", "[THINK]{m}[/THINK]{l}", "◁think▷{m}◁/think▷{l}",
    "<seed:think>{m}</seed:think>{l}",
    "<|channel|>analysis<|message|>{m}<|end|><|start|>assistant<|channel|>final<|message|>{l}. {t}<|return|>",
    # the text instead of a letter
    "The answer is: {t}.", "According to the notes: {t}.", "The notes do not say that {u}. They say: {t}.", "I would choose: {t}.",
    "**Answer:** {t}", "\"{t}\" is the correct answer.", "Final answer: {t}", "<answer>{t}</answer>", '{{"answer": "{t}"}}',
    # more of all these
    "{l} it is.", "I'm going with {l}.", "My pick: {l}", "Let's go with {l}.", "{l}, final answer.",
    "I am confident that the answer is {l}.", "After reviewing the notes, I conclude that {l} is the correct answer.",
    "Based on the discharge summary, {l}.", "The evidence points to option {l}.", "The evidence supports {l}.", "Clearly {l}.",
    "{l}!", "{l} :)", "Answer is {l}", "ans: {s}", "Answer choice: {l}", "Answer: Option {l}", "The answer is choice ({l}).",
    "Of all the options, {l} is the best supported.", "{l} seems to be the best answer.", "{l} appears correct.",
    "{l} would be the best choice.", "I'd say {l}.", "Neither {m} nor {n} fits, so {l}.",
    "I was torn between {m} and {l}, but {l} is better supported. Answer: {l}",
    "The answer is {l}.\n\nExplanation: if the patient had bled, {m} would be right.",
    "{l}\n\n{m} is not supported. {n} is not supported.", "{l}. Return to the hospital if fever occurs.",
    "The answer is {l} because the patient was told to return if he bleeds.",
    "The answer is {l}, since the note says to hold it if bleeding occurs.", "Even if {m} were true, {l} is the answer.",
    "Although {m} could be argued, the answer is {l}.", "While {m} might seem right, {l} is the correct answer.",
    "It might seem to be {m}, but it is {l}.", "One might think {m}, but the answer is {l}.",
    "Initially I thought {m}, but the answer is {l}.", "Is it {m}? No, it's {l}.", "{m} - no wait - {l}", "{m}, no, {l}",
    "{m} (no, {l})", "The answer is {m}. Hmm, no. It is {l}.", "{m}. Let me reconsider. The answer is {l}.",
    "Answer: {m}. I made a mistake. Answer: {l}.", "I first chose {m}. Correction: the answer is {l}.",
    "The answer is {m}... I mean {l}.", "Apologies, the correct answer is {l}.",
    "The answer is {m}.\n\nCorrection: The answer is {l}.", "Updated answer: {l}", "Revised answer: {l}",
    "Without doubt, {l}.", "There is no question that it is {l}.", "I have no doubt the answer is {l}.",
    "The answer is undoubtedly {l}.", "It can only be {l}.", "It has to be {l}.", "{l} is the one.", "{l} is true.",
    "Statement {l} is correct.", "If I had to choose, I would choose {l}.", "If forced to pick, {l}.",
    "I am not certain, but the answer is {l}.", "I'm not sure, but I'd choose {l}.",
    "The correct answer is ({l}) {t}, not ({m}) {u}.", "{t}, so the answer is {l}.", "The notes say that {t}.", '"{t}"',
    "{t}. {u} is incorrect.", "Answer:{l}", "ANSWER:({l})", "**Answer**: **{l}**", "*{l}*", "<b>{l}.</b> {t}", "- **{l}**",
    "1. {l}", "Response: {l}", "Correct: {l}", "✅ {l}", "{l} ✅", '{{"answer":"{l}"}}', "{{'answer': '{l}'}}",
    '{{"answer": "Option {l}"}}', '{{"answer": {{"letter": "{l}", "text": "{t}"}}}}', '{{"letter": "{l}"}}',
    '{{"selected_option": "{l}"}}',
    '{{"correct_answer": "{l}", "explanation": "{m} is not supported because warfarin was not used."}}',
    '{{"explanation": "The answer could be {m}, but the notes say otherwise.", "answer": "{l}"}}',
    '{{"prediction": "{l}", "probability": 0.8}}', "${l}$", "$\\boxed{{{l}}}$", "\\boxed{{{l}. {t}}}",
    "\\boxed{{\\text{{Option {l}}}}}", "\\textbf{{{l}}}", "\\({l}\\)", "\\boxed{{\\mathrm{{{l}}}}}",
    "The final answer is $\\boxed{{{l}}}$. I hope it is correct.", "Answer to the question: {l}",
    "The answer to this question would be option {l}: {t}.", "choice {s}", "({s}) {t}", "{s}. {t}", "{s}",
    "The patient was started on a new drug; hence, {l} is correct.", "{l} because the note says so", "{l} – the note says so",
    "{l}; the note says so", "{l}, as the note says so", "{l} = {t}", "Letter: {l}",
    "Both {m} and {n} are wrong; {l} is correct.", "I can rule out {m} and {n}. {l} is correct.",
    "The best supported option is {l}", "Most likely {l}.", "The most appropriate answer is {l}.",
    "The most accurate choice: {l}", "Best answer: {l}", "I choose option {l} over options {m} and {n}.", "{l} beats {m}.",
    "{l} over {m}", "I favour {l} over {m}.", "Option {l} fits better than option {m}.", "{l} fits better than {m}.",
    "{l} is more accurate than {m}.", "{l} is preferable to {m}.", "As opposed to {m}, {l} is correct.",
    "Unlike {m}, {l} is supported by the notes.", "What is the answer? {l}", "The answer is none other than {l}.",
    "{l}, of course.", "Certainly {l}", "Sure, {l}.", "Yes. {l}.", "Okay, the answer is {l}.", "Hi! {l}",
    "Thank you. The answer is {l}. Let me know if you have questions.", "The answer is {l}. Is there anything else?",
    "{l}. Would you like an explanation?",
    "After weighing everything, my answer would have to be {l}.", "{l} seems the most plausible option.", "I'll take {l}.",
    "Put me down for {l}.", "My vote goes to {l}.", "{l}, no doubt.", "{l} for sure.", "It's definitely {l}.",
    "It looks like {l} is correct.", "It appears that the answer is {l}.", "The answer, I believe, is {l}.",
    "Answer is: **{l}**", "Answer\n\n({l})", "The letter of the correct answer is {l}.", "{l} is what the notes support.",
    "The notes support {l}.", "{l} is supported by the discharge summary.", "{l} is consistent with the notes.",
    "{l} matches the notes.", "{l} best describes this.", "Among the options, {l} fits best.",
    "Of the options given, {l} is correct.", "Only option {l} fits the notes.",
    "Is it {m}? No. Is it {n}? No. Is it {l}? Yes!", "Is {m} correct? No. Is {l} correct? Yes.",
    "My first thought was {m}, but {l} is right.", "I initially picked {m}; after rereading I choose {l}.",
    "{m}? Hmm, no, {l}.", "{m}. Wait, no. {l}.", "Answer: {m} (correction: {l})", "Answer: {m}. Edit: {l}",
    "Answer: {m}. Oops, {l}.", "{m} → no, {l}", "I said {m}, but I meant {l}.",
    "The answer is {m}. Scratch that, it's {l}.", "The answer is {m}. On reflection, {l} is correct.",
    "The answer is {m}. Correction: {l} is the correct answer.", "**Final Answer:** \\(\\boxed{{{l}}}\\)", "\\fbox{{{l}}}",
    '{{"answer":"{l}","explanation":"If he had bled, {m} would be right."}}', '{{"thought":"{m} or {l}?","answer":"{l}"}}',
    '{{"answer_letter":"{l}"}}', '{{\n  "Answer": "({l})"\n}}', '[{{"answer": "{l}"}}]', 'answer: "{l}"', '"answer": "{l}"',
    "<ANSWER>{l}</ANSWER>", "<response>{l}</response>", "I prefer {l} over {m}.", "{l} is preferable to {m} and {n}.",
    "{l}, rather than {m}, is correct.", "{l} instead of {m} or {n}.", "{l} as opposed to {m}.",
    "Instead of {m}, I choose {l}.", "Rather than {m}, the answer is {l}.", "Compared to {m}, {l} is better supported.",
    "While {m} is possible, {l} is more likely.", "{l} is more likely than {m}.",
    "If I understand the notes correctly, the answer is {l}.", "{l}, given the notes.", "{l} (although {n} is mentioned).",
    "{l}, even though {m} is mentioned.", "The correct answer is not {m} but {l}.",
    "Neither {m} nor {n}; the answer is {l}.",
    "{l}\n\nReasoning: {m} is not supported by the notes, {n} could be true but is not documented.",
    "{l}. {m} would be correct if he had been vaccinated.", "Answer: {l}\nConfidence: 90%", "{l} (90%)", "{l}: 0.9",
    "Answer: {l}.\n\nWhy not {m}? Because it was not advised.", "So, {l}.", "Thus {l}", "Ergo {l}.",
    "Therefore the best choice: {l}", "In summary, option {l}.", "Overall, {l} is the best answer.",
    "I am going to go with {l}.", "I have to go with {l}.", "Gotta be {l}.", "Must be {l}.", "That would be {l}.",
    "That's {l}.", "This is {l}.", "It'd be {l}.",
    "The correct choice: {l}.", "I would opt for {l}.", "I'd settle on {l}.", "My choice: ({l})", "{l} looks right.",
    "{l} is accurate.", "{l} is the accurate statement.", "The statement that matches the notes is {l}.",
    "The option supported by the documentation is {l}.", "What the notes describe is option {l}.",
    "Per the discharge summary, {l}.", "According to note 2, the answer is {l}.", "The notes clearly indicate {l}.",
    "This makes {l} the correct answer.", "which makes {l} correct.", "Which means the answer is {l}.",
    "This points to {l}.", "All of this supports option {l}.", "{l} remains the best answer.",
    "{l} stands out as the best option.", "{l} alone is correct.", "The answer must be {l}.", "It should be {l}.",
    "The right option is clearly {l}.", "Solution: ({l})", "Result: {l}", "{l} - correct", "{l}: correct",
    "Correct answer - {l}", "{m} can be ruled out, and so can {n}. The answer is {l}.", "Could it be {m}? No. So {l}.",
    "First I considered {m}. However, {l} is correct.", "I thought {m} at first; now I choose {l}.",
    "{m} seemed right but {l} is the answer.", "The answer is {m}. Wait, let me check again. The answer is {l}.",
    "Answer: {m}\n\nActually, on closer reading, the answer is {l}.", "{m}. Sorry, {l}.", "I mean {l}, not {m}.",
    "not {m} but {l}", "{l} (not {m})", "{l}, and not {m}.", "Answer: {l} (not {m})", '{{"final":"{l}"}}',
    '{{"selected": "{l}", "reason": "because"}}', '{{"answer": "{l}", "alternatives": ["{m}", "{n}"]}}',
    '{{"analysis": "{m} is wrong; {n} is wrong", "final_answer": "{l}"}}', "```\n{l}\n```",
    '```json\n{{"answer":"{l}"}}\n```\nI hope this helps!', "***{l}***", "<u>{l}</u>", "\\text{{{l}}}", "$\\text{{{l}}}$",
    "\\boxed{{{l}}}.", "Final answer: \\boxed{{\\text{{{l}}}}}", "**The answer is {l}.**", "### Final Answer: {l}", "{l}\n",
    # names with letters around it
    "Despite hepatitis B and low vitamin D, the answer is {l}.", "E. coli grew in stage C disease. Answer: {l}",
    "{l}. {t}\n\nWhy not the others: they are not in the notes of a patient with vitamin B12 deficiency.",
)  # fmt: skip

WRONG = (
    # supposed
    "If the potassium were high, the answer would be {l}.", "If X were high, {l} would be correct.",
    "{l} would be correct if he had stayed.",
    "The answer would be {l} if the note said so.", "Had the note said so, the answer would be {l}.",
    "Unless it was omitted, it is {l}.",
    "Were the culture positive, I would choose {l}.", "Assuming a typing error, the answer is {l}.",
    "The answer is {l} only if he bled.",
    "With a higher dose, the answer would be {l}.", "{l}, if the second note is wrong.", "Otherwise the answer would be {l}.",
    "In the absence of bleeding, {l} would be the answer.",
    "Suppose the answer is {l}; then the notes would say so.", "If {t}, then {l}.",
    "Should the date be wrong, {l} is the correct answer.", "If the answer is {l}, the notes are incomplete.",
    # denied
    "The answer is not {l}.", "It is not {l}.", "{l} is wrong.", "{l} is not correct.", "I would not choose {l}.",
    "Option {l} was ruled out.",
    "{l}: incorrect", "The answer cannot be {l}.", "The answer can't be {l}.", "I don't think it is {l}.",
    "{l} is the wrong answer.",
    "{l} is unlikely to be correct.", "Neither {l} nor {m} is correct.", "The answer is anything but {l}.", "{l}. No.", "Not {l}.",
    "It would be wrong to choose {l}.", "{l} is the least likely answer.", "The answer is never {l}.", "I reject option {l}.",
    "There is no evidence that the answer is {l}.", "I doubt it is {l}.", "{l} can be excluded.", "{l} is incorrect because {u}.",
    "{l} seems wrong.", "The wrong answer is {l}.", "The option that does not fit is {l}.", "{{\"wrong_answer\": \"{l}\"}}",
    # denied texts
    "{t} was not documented.", "{t}: not documented.", "{t} is not mentioned in any note.", "There is no mention of this: {t}? No.",
    "It is not true that {t}.", "No note says: {t}? It does not.", "{t} is incorrect.", "{t} was never done.",
    "{t} - this is false.",
    "It cannot be said that {t}.", "{t} is contradicted by the notes.", "If {t}, the notes would say so.", "{t}, which is wrong.",
    "I would not say {t}.", "{t} has been ruled out.", "Neither {t} nor {u} is documented.", "The notes never state \"{t}\".",
    # alternatives and lists
    "{l} or {m}", "Either {l} or {m}.", "The answer is {l} or {m}.", "{l}/{m}", "{l} and {m}", "Both {l} and {m} are correct.",
    "The answer is {l}, or possibly {m}.", "{l} (or {m})", "I choose {l} and {m}.", "{l}, {m}", "Answer: {l}, {m}, {n}",
    "The answer is {l}. It could also be {m}.", "The answer is {l} if he bled, {m} otherwise.",
    "{{\"answer\": [\"{l}\", \"{m}\"]}}",
    "A, B, C, D, E", "Options {l} and {m} are both right.", "{t} or {u}", "{t} and {u}.", "The answer is {t} or {u}.", "{l} vs {m}",
    "Final answer: {l}. Final answer: {m}.", "\\boxed{{{l}}} or \\boxed{{{m}}}", "{l}. {u}", "The answer is {l}: {u}.",
    "The choices are A, B, C, D and E.", "A. {t}\nB. {u}\nC. {v}", "Between {l} and {m} I cannot decide.",
    "It is one of {l}, {m} and {n}.",
    # asked and hedged
    "Is it {l}?", "Is {l} the answer?", "Could the answer be {l}?", "The answer is {l}, right?", "Would you choose {l}?", "{l}?",
    "The answer could be {l}.", "It might be {l}.", "Maybe {l}, maybe not.", "Perhaps the answer is {l}.", "Is it {l}? No.", "{t}?",
    "Why is the answer {l}?", "Whether the answer is {l} is unclear.",
    # refused
    "I cannot determine this from the notes.", "I'm sorry, but I can't answer {l} or any other option.", "I don't know.", "",
    "None of the above.", "The notes do not contain enough information to choose {l}.", "I refuse to choose between {l} and {m}.",
    "Cannot be determined; with a normal weight it would be {l}.", "There is not enough information to say that {l} is correct.",
    "I can't help with medical questions.", "N/A", "{{\"answer\": null}}", "As an AI, I do not pick {l} or {m}.",
    # others' and former opinions
    "Some say the answer is {l}.", "A student might choose {l}.", "One might think the answer is {l}.",
    "At first the answer seems {l}.",
    "It is tempting to choose {l}.", "Many people would pick {l}.", "You may think it is {l}.",
    # taken back
    "The answer is {l}. No, wait.", "The answer is {l}. Wait, that's wrong.", "{l}. Actually, that is incorrect.",
    "~~{l}~~", "{l}, no.",
    # unfinished reasoning
    "<think>The answer is {l}.", "<thinking>{l}. {t}", "<reasoning>So the answer is {l}", "[THINK]The answer is {l}.", "◁think▷{l}",
    "<seed:think>Answer: {l}", "<|channel|>analysis<|message|>The answer is {l}.", "analysisThe answer is {l}.", "<Think>\n{l}",
    "<scratchpad>{l}</think", "<|begin_of_thought|>Final answer: {l}", "<unused94>thought\nThe answer is {l}.",
    # names
    "The answer is vitamin {l}.", "Answer: hepatitis {l}", "Group {l} strep was found.",
    "Stage {l} disease is the correct diagnosis.",
    "Vitamin {l} is the correct answer to low levels.", "{l} cells were low.", "Plan {l} is correct.", "Type {l} dissection.",
    "Answer: {l}-line placed", "The answer is {l}1c of 9.", "Child-Pugh {l}.", "The patient received {l}5W.",
    # more of all these
    "I cannot choose between {m} and {l}.", "It depends: {m} if he bled, {l} if not.", "{m} or {l}, I am not sure.",
    "Could be {m}; could be {l}.", "{l} is one possible answer.", "{l} is plausible.", "{l} is tempting.",
    "Option {l} looks attractive, but it is wrong.", "{l} may be correct.", "{l} might be right.", "{l} could be the answer.",
    "{l} is possibly correct.", "{l} is partially correct.", "{l} is almost correct.", "{l} is not entirely correct.",
    "{l} is no longer the best answer.", "{l} is far from correct.", "{l} is hardly the best answer.",
    "{l} is the second best answer.", "{l} would have been correct had he bled.", "The answer would have been {l}.",
    "I would have chosen {l} if he had bled.", "I'd choose {l} if the dose were higher.", "I would never choose {l}.",
    "I wouldn't say {l}.", "I refuse to say {l}.", "Don't choose {l}.", "Do not pick {l}.", "Avoid option {l}.",
    "You should not select {l}.", "Exclude {l}.", "Eliminate {l}.", "Rule out {l}.", "Cross out {l}.", "{l} can be ruled out.",
    "{l} has been eliminated.", "{l} does not fit.", "{l} doesn't match the notes.", "{l} lacks support.",
    "{l} contradicts the notes.", "{l}: no", "{l} - wrong", "{l} ❌", "❌ {l}", "{l}: false", "The answer isn't {l}.",
    "It's not {l}.", "Not {l}", "No, not {l}.", "Anything but {l}.", "All except {l}.", "Everything but {l} is correct.",
    "None of them, not even {l}.", "The incorrect answer is {l}.", "The worst choice is {l}.",
    "The least supported option is {l}.", "Wrong answer: {l}", "Incorrect option: {l}", "My previous answer was {l}.",
    "The previous answer was {l}.", "He thought the answer was {l}.", "The resident chose {l}.", "The doctor said {l}.",
    "Others would answer {l}.", "GPT said {l}.", "The student's answer is {l}.", "The answer key may say {l}.",
    "Is {l} correct?", "Which is it, {l}?", "Shall I choose {l}?", "{l}, isn't it?", "{l} or {n}?", "{m}, {l}?",
    "The options are {m} and {l}.", "{m}. {u}\n{l}. {t}", "It was not documented that {t}.", "{t}? No.", "{t}: wrong.",
    "No evidence that {t}.", "If {t}, the notes would mention it.", "It is unclear whether {t}.",
    "The claim that {t} is false.", "The notes deny that {t}.", '"{t}" is not what the notes say.',
    "{t} does not appear in the notes.", "{t} isn't supported.", "Some might say {t}.", "It may be that {t}.",
    "Nothing says that {t}.", "I see no proof that {t}.", "{l}. {v}",
    "{l}: {v}", "The answer is {l} ({v}).", '{{"answer": "not {l}"}}', '{{"answer": "{m} or {l}"}}', '{{"answer": "{l}?"}}',
    '{{"incorrect": "{l}"}}', '{{"answer": ""}}', '{{"answer": "unknown", "runner_up": "{l}"}}', '{{"{m}": true, "{l}": true}}',
    "\\boxed{{{m}, {l}}}", "\\boxed{{\\text{{not {l}}}}}", "<answer>{m} or {l}</answer>", "<answer></answer> {l}?",
    "<think>{l}", "{l} <- not this one", "The answer is ~~{l}~~.", "If {m} is false, then {l}.", "{l} if and only if he bled.",
    "{l}, provided that he bled.", "{l} unless he bled.", "Suppose it's {l}.", "Let's assume {l}.", "Assume the answer is {l}.",
    "In case of bleeding, {l}.", "When the patient bleeds, the answer is {l}.",
    "For patients who bleed, the answer would be {l}.", "With bleeding, {l} would be right.",
    "Without the second note, the answer is {l}.", "The answer depends on {l}.", "I considered {l}.", "I looked at {l} first.",
    "Consider option {l}.", "Option {l} says apixaban.", "Option {l}, which names apixaban.", "Let's look at option {l}.",
    "{l} states that {t}.", "Regarding {l}, the notes are silent.", "{l} cell lymphoma", "hepatitis {l}",
    "The patient has hepatitis {l}.", "The diagnosis is hepatitis {l}.", "The answer is hepatitis {l}.", "Vitamin {l} is best.",
    "Group {l} is correct.", "Blood group {l}.", "Stage {l}", "Grade {l} is the right grade.",
    "Type {l} aortic dissection is the answer.", "Protocol {l}", "Factor {l}", "Influenza {l} is correct.", "So hepatitis {l}.",
    "It is hepatitis {l}.", "I choose vitamin {l}.", "A patient", "A nurse called.", "A good question.",
    "{m} is for apple? No.", "I", "{n}. diff", "{m}&O x3", "{m} and O", "{n}/O pain",
    "If so, {l}.", "If not, {l}.", "Were it otherwise, {l} would be my answer.", "{l} would be right in a younger patient.",
    "In a younger patient, the answer would be {l}.", "{l} might have been right.", "{l} used to be the answer.",
    "{l} was my first guess.", "I would have said {l} yesterday.", "My guess was {l}, but I no longer think so.",
    "I used to think {l}.", "{l}? I doubt it.", "{l} is doubtful.", "{l} is questionable.", "{l} is unlikely.",
    "{l} seems unlikely.", "{l} appears incorrect.", "{l} is out.", "{l} is off the table.", "{l} is not an option.",
    "{l} is not the answer.", "{l} isn't it.", "{l} ain't right.", "{l} is neither right nor wrong.",
    "It can't possibly be {l}.", "It is hard to say whether it is {l}.", "No reason to choose {l}.",
    "There's no support for {l}.", "Nothing supports {l}.", "The notes do not support {l}.", "The notes contradict {l}.",
    "The notes argue against {l}.", "{l} is contradicted by the notes.", "{l} is refuted.",
    "Everything speaks against {l}.", "I'd avoid {l}.", "I'd rule out {l}.", "I would eliminate {l}.",
    "Let's eliminate {l}.", "First, {l} can be eliminated.", "{l}: not supported", "{l}: ruled out", "{l}: eliminated",
    "{l} = wrong", "{l} (wrong)", "{l} (incorrect)", "[{l}] is wrong", "{l} is a distractor.", "{l} is a trap.",
    "The distractor is {l}.", "Option {l} is a tempting but wrong answer.", "Beware of {l}.", "{m} or {l}, hard to say.",
    "Toss-up between {m} and {l}.", "{m} and {l} are equally good.", "It's {m} or {l}.", "Either would do: {m}, {l}.",
    "{l} and possibly {m}.", "Possibly {l}.", "{l}, possibly.", "{l}, maybe.", "{l}, perhaps?",
    "I can't decide between {l} and {m}.", "I would need more data to choose {l}.",
    "The data are insufficient to select {l}.", "I'm unable to choose {l}.", "I won't pick {l}.", "I will not answer {l}.",
    "What does {l} mean?", "<thinking>{l}", "<Thinking>{l} is right.", "<reasoning>{l}</reason", "[THINKING] {l}",
    "<think>{m}</think><think>{l}", "<analysis>The answer is {l}.", "<|channel|>commentary<|message|>The answer is {l}.",
    "The answer is {l}. <- no, that is wrong", "Answer: {l}. This is incorrect.", "Answer: {l}. That was a mistake.",
    "{l}. I take that back.", "{l}. Never mind.", "~~The answer is {l}.~~", "The answer is {l} or {n}, I cannot tell.",
    "Answer: {l}/{n}", "Answer: {l} & {n}", "Answer: {l}+{n}", "Answers: {l}, {n}", "{l},{n}", "{l};{n}", "{l} {n}",
    "Both {l} and {n}", "{l} as well as {n}", "{l} along with {n}", "{l} in combination with {n}", "{l} plus {n}",
    "not {l}", "NOT {l}", "Not option {l}.", "anything but {l}", "All but {l}.", "everything except {l}",
    "Provided the list is complete, {l} is correct.", "On the assumption that he took it, the answer is {l}.",
    "{l} in that case.", "In that case, the answer would be {l}.", "Then again, it may be {l}.", "{l} might apply.",
    "{l} could fit.", "{l} may fit, but so may {n}.", "I'm torn between {l} and {n}.", "{l} and {n} both fit.",
    "Both {l} and {n} match the notes.", "The answer is {l} and/or {n}.", "Answer: {l}, possibly {n}.",
    "Either option {l} or option {n} would be right.", "{l}, {n}", "{l}? {n}?", "Is it {l} or {n}?", "Should I say {l}?",
    "Would {l} be right?", "So is it {l}?", "I don't believe {l} is correct.", "I do not think that the answer is {l}.",
    "I would hesitate to choose {l}.", "I am reluctant to pick {l}.", "It would be a mistake to pick {l}.",
    "Picking {l} would be wrong.", "Choosing {l} is not justified.", "{l} has no support.",
    "{l} has no basis in the notes.", "{l} was not done.", "{l} did not happen.", "{l} is nowhere in the notes.",
    "There is nothing to support {l}.", "{l} fails.", "{l} is excluded by the notes.", "We can discard {l}.",
    "The notes rule out {l}.", "That rules out {l}.", "This excludes {l}.", "Not the answer: {l}",
    "{l} is the wrong choice.", "The only wrong option is {l}.", "Which option is wrong? {l} is wrong.",
    "The previous model answered {l}.", "The key says {l}, but I disagree.", "The nurse thought it was {l}.",
    "<think>{l} is right. The answer is {l}", "<reasoning>\n{l}", "[THINK]\nAnswer: {l}", "◁think▷ The answer is {l}.",
    "<seed:think>{l}", "<|channel|>analysis<|message|>{l} is correct",
)  # fmt: skip

_SIGNS = {
    "circled": 0x24B6,
    "ring": 0x24D0,
    "square": 0x1F130,
    "solid": 0x1F150,
    "wide": 0xFF21,
    "mathbold": 0x1D400,
    "paren": 0x249C,
}


def _answers(forms: Sequence[str], *, seed: int, each: int) -> Iterator[tuple[str, str, tuple[str, ...], str]]:
    draw = random.Random(seed)
    for form in forms:
        for _ in range(each):
            choices = tuple(draw.sample(draw.choice(CHOICES), 5))
            first, second, third = draw.sample(range(5), 3)
            letter = string.ascii_uppercase[first]
            signs = {name: chr(start + first) for name, start in _SIGNS.items()}
            text = form.format(
                l=letter, s=letter.lower(), t=choices[first], m="ABCDE"[second], u=choices[second], n="ABCDE"[third],
                v=choices[third], **signs,
            )  # fmt: skip
            yield form, text, choices, letter


def right_answers(each: int = 5) -> list[tuple[str, str, tuple[str, ...], str]]:
    """Form, answer, choices, and the letter that the answer takes."""
    return list(_answers(RIGHT, seed=1, each=each))


def wrong_answers(each: int = 5) -> list[tuple[str, str, tuple[str, ...], str]]:
    """Form, answer, choices, and the letter that it seems to take and does not."""
    return list(_answers(WRONG, seed=2, each=each))
