"""A checkout of the authors' repository as MedCalc-Bench's prompts are read from it: of its structure, in words of our own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["EXAMPLES", "write_tree"]

RUN = r'''
import json
import nowhere_to_be_found


def zero_shot(note, question):
    system_msg = 'Think, then give {"answer": x}.'
    user_temp = f'Note:\n{note}\nTask:\n{question}\nGive {{"answer": x}}:'
    return system_msg, user_temp


def direct_answer(note, question):
    """Only the answer."""
    system_msg = "Give {" "}."
    user_temp = f'{note}|{question}'
    return system_msg, user_temp


def one_shot(note, question, one_shot_question, example_note, example_output):
    system_msg = 'Doubled {{braces}} here.'
    system_msg += f'Such as:\n\n{example_note}'
    system_msg += f'\n\nAsked:\n\n{one_shot_question}'
    system_msg += f'\n\nIt is {{"answer": y}}:\n\n{json.dumps(example_output)}'
    user_temp = f'Now:\n\n{note}\n\n{question}'
    return system_msg, user_temp


def zero_shot_other(note, question):
    return note.upper(), question


if __name__ == "__main__":
    prompt_style = "zero_shot"
    with open("one_shot_finalized_explanation.json", "r") as file:
        one_shot_json = json.load(file)
    for row in rows:
        patient_note = row["Patient Note"]
        question = row["Question"]
        calculator_id = str(row["Calculator ID"])
        if prompt_style == "zero_shot":
            system, user = zero_shot(patient_note, question)
        elif prompt_style == "one_shot":
            if calculator_id == "24":
                one_shot_question = "Another question?"
            else:
                one_shot_question = question
            example = one_shot_json[calculator_id]
            system, user = one_shot(
                patient_note,
                question,
                one_shot_question,
                example["Patient Note"],
                {
                    "step_by_step_thinking": example["Response"]["step_by_step_thinking"],
                    "answer": example["Response"]["answer"],
                },
            )
        elif prompt_style == "direct_answer":
            system, user = direct_answer(patient_note, question)
        messages = [
            {"role": "system", "content": system},
            {"role": "user", "content": user}
        ]
'''

CODE = r'''
import nowhere_to_be_found


def extract_python_code(text):
    pattern = r"```python\n(.*?)```"
    return re.findall(pattern, text)


def apply_calc(question, patient_note, model_name):
    system = f"Write code for: {question}.\n"
    system += "Say <answer> x <\\answer>. "
    prompt = "Note:\n\n"
    prompt += patient_note + "\n\n"
    prompt += "Asked:\n\n" + question
    messages = [
        {"role": "system", "content": system},
        {"role": "user", "content": prompt},
    ]
    n = 0
    while True:
        output = ask(messages)
        n += 1
        messages.append({"role": "assistant", "content": output})
        if "<answer>" in output and "<\\answer>" in output:
            return output
        else:
            message_code = extract_python_code(output)
            if "```python" not in output:
                new_output = f"No code in {output}!"
                messages.append({"role": "user", "content": new_output})
            elif "print" not in message_code:
                new_output = f"No print in {output}!"
                messages.append({"role": "user", "content": new_output})
            elif "input(" in message_code:
                return "N/A", messages
            else:
                console_output = capture_exec_output_and_errors(message_code)
                new_output = f"""It wrote
                {console_output}
                and {{that}} is all."""
                messages.append({"role": "user", "content": new_output})
        if n >= 20:
            return None, messages


def process_row(row, model_name):
    return apply_calc(row["Question"], row["Patient Note"], model_name)
'''

EXAMPLES: Mapping[str, Any] = {
    key: {
        "input_parameters": {},
        "Patient Note": f"example {key} \u00b5 {{x}}",
        "Response": {"step_by_step_thinking": f"steps \u00b5 of {key}", "answer": "1"},
    }
    for key in map(str, range(1, 70))
}


def write_tree(folder: Path, *, run: str = RUN, code: str = CODE, examples: Any = EXAMPLES) -> Path:
    """Writes the three files where the authors have them; returns the folder."""
    place = folder / "evaluation"
    place.mkdir(parents=True, exist_ok=True)
    (place / "run.py").write_text(run, encoding="utf-8")
    (place / "generate_code_prompt.py").write_text(code, encoding="utf-8")
    text = examples if isinstance(examples, str) else json.dumps(examples)
    (place / "one_shot_finalized_explanation.json").write_text(text, encoding="utf-8")
    return folder
