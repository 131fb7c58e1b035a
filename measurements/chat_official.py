"""EHRNote-ChatQA: the nine figures of the authors' unchanged script, beside ours, on the same answers.

    python -m measurements.chat_official CHECKOUT [--python PYTHON] [--sets 200] [--write FILE]

CHECKOUT is a checkout of ji-youn-kim/EHRNote-ChatQA, of which
`scoring/multiturn_qa_scoring.py` and what it imports are run by PYTHON, which has
pandas. The patients are those of the demo of `examples/medical_chat`, written as the
two tables that the authors release, from which ours builds `full`. The answers are
invented and untidy: so many sets of letters in all forms that the script reads, and of
grades that a judge gives open answers. Their letters are also compared one by one.
`--write` writes the first set of each form with the script's figures, as
`tests/golden/medical_chat.json` has it.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import io
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

import medical_tasks.plugins as plugins
from medical_tasks.cli import main as medical_tasks
from medical_tasks.runs.results import read_results
from tests.fault_server import Call, FaultServer

EXAMPLE: Final = Path(__file__).parents[1] / "examples" / "medical_chat"
ROWS: Final = json.loads(
    (EXAMPLE / "medical_chat" / "demo.json").read_text(encoding="utf-8")
)
LETTERS: Final = "ABCDE"
THEIR_NAMES: Final = {
    f"{kind}{ours}": f"{level}_acc_{theirs}{ending}"
    for kind, theirs in {
        "content": "content_individual",
        "source": "source_individual",
        "pair": "paired",
    }.items()
    for ours, level, ending in (
        ("", "qa", ""),
        ("_patient", "sample", "_mean"),
        ("_all", "sample", ""),
    )
}
"""Our names of the nine figures, and theirs."""
SAYS: Final = (
    "{}", "{}", "{}", "{}.", "**{}**", "{}1", "{}: it says so", "{}) so", "Answer: {}", "The correct answer is ({}).",
    "Option {} fits; option A does not.", "\\boxed{{{}}}", "<think>B? No, A: this</think>\n{}", "Based on the notes",
    "The correct answer is:\n\n{}: Note #1", "I see.\n {}: Note #2 Headers: Course", "*conclusion*: [{}]", "answer is `{}`",
    "answer - {} or answer: C", "", " ", "None of these", "lower: {}", "Definitely {}", "correct answer is **{}**\nanswer: A",
)  # fmt: skip
DRIVER: Final = """
import json, sys
from functools import partial
from pathlib import Path
sys.path.insert(0, str(Path(sys.argv[1]) / "scoring"))
import multiturn_qa_scoring as theirs
folder, out = Path(sys.argv[2]), {}
gold = {each["subject_id"]: each["qas"] for each in theirs.load_release_samples(folder / "notes.csv", folder / "questions.csv")}
for path in sorted(folder.glob("answers_*.csv")):
    score = theirs.evaluate_single_csv_generate if path.stem.endswith("_generate") else theirs.evaluate_single_csv
    figures = score(path, gold)
    assert not figures.get("has_invalid_eval"), path
    out[path.stem] = {name: value for name, value in figures.items() if "_acc_" in name}
replies = json.loads((folder / "replies.json").read_text(encoding="utf-8"))
out["letters"] = [theirs.extract_answer_letter(reply) or "" for reply in replies]
(folder / "figures.json").write_text(json.dumps(out), encoding="utf-8")
"""


def write_table(path: Path, rows: Sequence[Mapping[str, object]]) -> None:
    """Writes a CSV file."""
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def write_release(folder: Path) -> None:
    """Writes the demo as the two tables, their rows out of order."""
    notes, questions = [], []
    for row in ROWS:
        notes += [
            {"subject_id": row["id"], "note_num": number, "text": text}
            for number, text in enumerate(row["notes"], start=1)
        ]
        for order, turn in enumerate(row["turns"], start=1):
            index, _, source = turn["key"].partition("-")
            about: dict[str, object] = {
                "subject_id": row["id"],
                "qa_category": row["category"],
            }
            about |= {"turn_order": order, "turn_index": index}
            about |= {
                "turn_type": "source" if source else "content",
                "question": turn["question"],
            }
            named = zip(LETTERS.lower(), turn["choices"], strict=True)
            about |= {f"option_{letter}": text for letter, text in named}
            questions.append(about | {"correct_answer": turn["answer"]})
    write_table(folder / "notes.csv", notes[::-1])
    write_table(folder / "questions.csv", questions[::-1])


def untidy_reply(chance: random.Random, right: str) -> str:
    """Draws a reply of a model: mostly the right letter, in some form."""
    letter = right if chance.random() < 0.6 else chance.choice(LETTERS)
    return chance.choice(SAYS).format(letter)


def answers_of(seed: int) -> dict[str, dict[str, str]]:
    """Draws a set of answers, by patient and turn; some turns have none."""
    chance = random.Random(seed)
    return {
        row["id"]: {
            turn["key"]: untidy_reply(chance, turn["answer"])
            for turn in row["turns"]
            if chance.random() < 0.97
        }
        for row in ROWS
    }


def grades_of(seed: int) -> dict[str, dict[str, int]]:
    """Draws the grades of a judge, by patient and turn."""
    chance = random.Random(-seed - 1)
    return {
        row["id"]: {
            turn["key"]: chance.choice((0, 1, 2, 2, 2)) for turn in row["turns"]
        }
        for row in ROWS
    }


def judge_reply(grades: Mapping[str, Mapping[str, int]], call: Call) -> str:
    """Returns the judge's reply about one patient in one of its passes."""
    (row,) = (row for row in ROWS if row["notes"][0] in call.prompt)
    is_source = f"Q{row['turns'][1]['key']}:" in call.prompt
    keys = [turn["key"] for turn in row["turns"] if ("-" in turn["key"]) == is_source]
    return "\n\n".join(
        f"Reasoning{key}: in a word.\nScore{key}: {grades[row['id']][key]}"
        for key in keys
    )


def our_figures(task: str, answers: Path, judge: str = "") -> dict[str, float]:
    """Scores an answer file by `medical-tasks score`."""
    out = answers.with_name(f"ours_{task}_{answers.stem}")
    words = [
        "score",
        task,
        "--responses",
        str(answers),
        "--config",
        "full",
        "--out",
        str(out),
    ]
    words += ["--judge", f"openai-api/judging/{judge}"] if judge else []
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        code = medical_tasks(words)
    assert code == 0, output.getvalue()
    metrics = read_results(out)["tasks"][task]["metrics"]
    return {name: figure["value"] or 0.0 for name, figure in metrics.items()}


def measure(checkout: Path, python: str, sets: int, folder: Path) -> dict[str, object]:
    """Compares all sets; returns the first one with the script's figures."""
    write_release(folder)
    assert (
        medical_tasks(
            ["build", "medical_chat", "--config", "full", "--source", str(folder)]
        )
        == 0
    )
    ours: dict[str, dict[str, float]] = {}
    for seed in range(sets):
        answers, grades = answers_of(seed), grades_of(seed)
        rows = [
            {
                "subject_id": name,
                "qa_category": "any",
                "model_answer": json.dumps(texts),
            }
            for name, texts in answers.items()
        ]
        path = folder / f"answers_{seed}.csv"
        write_table(path, rows)
        ours[path.stem] = our_figures("medical_chat_choice", path)
        with FaultServer(answer=partial(judge_reply, grades)) as server:
            os.environ["JUDGING_BASE_URL"] = server.base_url
            ours[f"{path.stem}_generate"] = our_figures(
                "medical_chat_open", path, f"judge-{seed}"
            )
            evals: dict[str, list[str]] = {row["id"]: [] for row in ROWS}
            for call in server.calls:
                (row,) = (row for row in ROWS if row["notes"][0] in call.prompt)
                evals[row["id"]].append(judge_reply(grades, call))
        judged = [
            row | {"gpt_eval": "\n\n".join(evals[row["subject_id"]])} for row in rows
        ]
        write_table(folder / f"{path.stem}_generate.csv", judged)
    chance = random.Random(0)
    replies = [
        "".join(chance.choices(PARTS, k=chance.randint(1, 7))) for _ in range(20_000)
    ]
    (folder / "replies.json").write_text(json.dumps(replies), encoding="utf-8")
    command = [python, "-c", DRIVER, str(checkout), str(folder)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    theirs = json.loads((folder / "figures.json").read_text(encoding="utf-8"))
    letters = theirs.pop("letters")
    assert theirs.keys() == ours.keys()
    apart = [
        (stem, name)
        for stem, figures in ours.items()
        for name, value in figures.items()
        if abs(value - theirs[stem][THEIR_NAMES[name]]) > 1e-12
    ]
    from medical_chat.scoring import letter_of

    other = sum(
        letter_of(reply) != letter
        for reply, letter in zip(replies, letters, strict=True)
    )
    print(f"figures: {9 * len(ours)} compared, {len(apart)} differ {apart[:5]}")
    print(
        f"letters: {len(replies)} replies, {sum(map(bool, letters))} with a letter, {other} differ"
    )

    def golden(stem: str) -> dict[str, float]:
        return {name: theirs[stem][there] for name, there in THEIR_NAMES.items()}

    return {
        "source": "measurements/chat_official.py, scoring/multiturn_qa_scoring.py of 825aed2",
        "choice": {"answers": answers_of(0), "figures": golden("answers_0")},
        "open": {"grades": grades_of(0), "figures": golden("answers_0_generate")},
    }


PARTS: Final = (
    "A", "B", "c", "E", "F", " ", "\n", "*", "**", ":", ": ", ".", ")", "(", "[", '"', "-", "1", "answer", "Answer", " is ",
    "the correct answer", "conclusion", "option ", "Option\n", "\\boxed{", "}", "</think>", "Note", "Based on", "\t", "\u00a0", "é",
)  # fmt: skip


def main() -> None:
    """Runs the comparison in a temporary folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--sets", type=int, default=200)
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, plugins.using([str(EXAMPLE)]):
        folder = Path(name)
        os.environ |= {
            "MEDICAL_TASKS_HOME": str(folder / "home"),
            "MEDICAL_TASKS_DATA": str(folder / "data"),
            "JUDGING_API_KEY": "none",
        }
        figures = measure(
            options.checkout.resolve(), options.python, options.sets, folder
        )
    if options.write:
        text = json.dumps(figures, indent=1, ensure_ascii=False)
        options.write.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
