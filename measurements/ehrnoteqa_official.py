"""EHRNoteQA: what the authors' scripts ask the model and the judge, beside `run` and `score` with `--prompts official`.

    python -m measurements.ehrnoteqa_official CHECKOUT --python PYTHON [--questions 40]

CHECKOUT is a checkout of ji-youn-kim/EHRNoteQA; PYTHON has what its scripts import but
torch and transformers, which no GPT model needs (pandas 1.4.3, openai 1.12.0 with httpx
below 0.28, fire). Patients and notes are invented (`measurements.ehrnoteqa_twin`), some
choices with white space, braces and other scripts. Their preprocess.py, generate.py and
evaluate.py run one after the other; ours builds the dataset, runs both levels, and
scores their CSV files. A server on this machine answers all: as the model with untidy
answers (blank, long, several lines, planted verdicts), as the judge with its two forms,
the same to the same request.
"""

from __future__ import annotations

import csv
import hashlib
import json
import random
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from measurements.ehrnoteqa_twin import QUESTIONS_FILE, write_twin
from measurements.recorded_requests import (
    commit_of,
    compare,
    first,
    official_options,
    parameters,
    recording,
    results_of,
    run_authors,
    run_ours,
)
from tests.fault_server import Call

METHODS: Final = {"open": "openended", "mc": "multichoice"}
MODEL: Final = "gpt-4"
ANSWER_PARTS: Final = [
    "He was well.", "B. ", "E", "\n", "\n\n- one\n- two", " ", "Nimm Wasser – viel.", "薬は要りません。", "{note} {0} }{",
    '"quoted", so', "Score: 1", "yes", "\u00a0", "5 < 6 & 7 > 3", "[note 1 end]", "é\u0301", "🩺", "word " * 900,
]  # fmt: skip
BLANK: Final = ("", " ", " \n ")
PADS: Final = (" {}", "{} ", "{{{}}}", "{} – ü 薬", "{}\n(see note)")
SCORE, CHOICE = (
    "you must score the answer as 0 or 1",
    'Respond solely with "yes" or "no"',
)


def reply(call: Call) -> str:
    """Returns the model's answer or the judge's verdict."""
    digest = hashlib.sha256(json.dumps(call.body["messages"]).encode()).hexdigest()
    chance = random.Random(digest)
    if SCORE in call.prompt:
        return f"Score: {chance.randint(0, 1)}\nReasoning: so it says."
    if CHOICE in call.prompt:
        return chance.choice(["yes", "no", "Yes", "No.\n"])
    if chance.random() < 0.15:
        return chance.choice(BLANK)
    return "".join(chance.choices(ANSWER_PARTS, k=chance.randint(1, 6)))


def untidy_choices(path: Path) -> None:
    """Changes some choices of a file of questions."""
    chance = random.Random(0)
    records = [
        json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()
    ]
    for record in records:
        letter = chance.choice("ABCDE")
        record[f"choice_{letter}"] = chance.choice(PADS).format(
            record[f"choice_{letter}"]
        )
    path.write_text(
        "".join(json.dumps(record) + "\n" for record in records), encoding="utf-8"
    )


def authors_requests(
    checkout: Path, python: Path, source: Path, folder: Path
) -> tuple[list[Call], dict[str, list[dict[str, str]]]]:
    """Runs the authors' scripts; returns what they sent, and their last CSV file by format."""
    scripts, rows = checkout / "src", {}
    with recording(reply) as server:
        azure = {"AZURE_OPENAI_ENDPOINT": server.base_url, "AZURE_OPENAI_KEY": "k"}
        azure |= {"AZURE_API_VERSION": "2024-02-01"}

        def run(script: str, **arguments: Path | str) -> None:
            words = [f"--{name}={value}" for name, value in arguments.items()]
            run_authors(
                python,
                scripts / script,
                *words,
                folder=folder,
                environment=azure,
                absent=("torch", "transformers"),
            )

        run(
            "preprocessing/preprocess.py",
            ehrnoteqa=source,
            mimiciv=source,
            output=folder,
        )
        for method in METHODS.values():
            name = f"ours_{method}_{MODEL}_EHRNoteQA_processed.csv"
            about: dict[str, Path | str] = {"model_name": MODEL, "eval_method": method}
            about["save_path"] = folder
            run(
                "generation/generate.py",
                ckpt_dir="",
                input_path=folder,
                file_name="EHRNoteQA_processed.jsonl",
                **about,
            )
            run(
                "evaluation/evaluate.py",
                gpt_type=MODEL,
                input_path=folder,
                file_name=name,
                **about,
            )
            with (folder / name).open(encoding="utf-8", newline="") as lines:
                rows[method] = list(csv.DictReader(lines))
        return list(server.calls), rows


def report(what: str, theirs: Sequence[Call], ours: Sequence[Call]) -> bool:
    """Compares the requests and prints the result."""
    comparison = compare(theirs, first(ours))
    print(f"{what}: {comparison}")
    return comparison.same


def is_judges(call: Call) -> bool:
    return SCORE in call.prompt or CHOICE in call.prompt


def accuracy(rows: Sequence[dict[str, str]], level: int) -> float:
    """The share of a level's answers that the authors' judge called right."""
    replies = [
        row[f"{MODEL}_gpt4_eval"].lower()
        for row in rows
        if row["category"] == f"Level{level}"
    ]
    return sum(reply.startswith(("score: 1", "yes")) for reply in replies) / len(
        replies
    )


def main() -> None:
    options = official_options(__doc__, questions=40)
    checkout = options.checkout
    print(f"EHRNoteQA at {commit_of(checkout)}, {options.questions} questions")
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        source = write_twin(
            work / "source",
            seed=1,
            questions=options.questions,
            scale=0.05,
            sums=False,
        )
        untidy_choices(source / QUESTIONS_FILE)
        theirs, rows = authors_requests(checkout, options.python, source, work)
        data = work / "data"
        run_ours(
            "build",
            "ehrnoteqa",
            "--source",
            source,
            "--partial",
            "--out",
            data / "ehrnoteqa",
            folder=work,
        )
        prompt_options = (
            "--prompts",
            "official",
            "--upstream",
            checkout,
            "--data",
            data,
        )
        judge = ["--judge", "openai-api/local/gpt-4", "--votes", "1"]
        judge += ["--judge-args", "temperature=0"]
        tasks = [
            f"ehrnoteqa_{form}_level{level}" for form in METHODS for level in (1, 2)
        ]
        with recording(reply) as server:
            run_ours(
                *(
                    "run",
                    "--tasks",
                    ",".join(tasks),
                    "--model",
                    "openai-api/local/gpt-4",
                ),
                *(*prompt_options, *judge, "--out", work / "run"),
                server=server,
                folder=work,
            )
            sent = list(server.calls)
        same = [
            report(
                f"run, requests to the {who}",
                [call for call in theirs if is_judges(call) is judges],
                [call for call in sent if is_judges(call) is judges],
            )
            for who, judges in (("model", False), ("judge", True))
        ]
        for task in tasks:
            form, level = task.split("_")[1], int(task[-1])
            figure = accuracy(rows[METHODS[form]], level)
            ours = results_of(work / "run", task)["accuracy"]["value"]
            same.append(figure == ours)
            print(f"{task}: {figure:.4f} by their judge's replies, {ours:.4f} ours")
        same.append(score_their_files(work, prompt_options, judge, theirs, rows))
        for who, calls in (("theirs", theirs), ("ours", sent)):
            for role, judges in (("model", False), ("judge", True)):
                values = parameters(call for call in calls if is_judges(call) is judges)
                print(f"parameters, {who}, {role}: {values}")
    if not all(same):
        raise SystemExit("not equal")


def score_their_files(
    folder: Path,
    prompt_options: Sequence[str | Path],
    judge: Sequence[str],
    theirs: Sequence[Call],
    rows: dict[str, list[dict[str, str]]],
) -> bool:
    """Scores the CSV files of their scripts; a blank cell, which may be a question not yet asked, is no answer here."""
    with recording(reply) as server:
        for form, method in METHODS.items():
            for level in (1, 2):
                file = folder / f"ours_{method}_{MODEL}_EHRNoteQA_processed.csv"
                run_ours(
                    *("score", f"ehrnoteqa_{form}_level{level}", "--responses", file),
                    *(
                        *prompt_options,
                        *judge,
                        "--out",
                        folder / f"score_{form}_{level}",
                    ),
                    server=server,
                    folder=folder,
                )
        comparison = compare(
            [call for call in theirs if is_judges(call)], first(server.calls)
        )
    blank = sum(
        not row[MODEL].strip() for method_rows in rows.values() for row in method_rows
    )
    print(
        f"score of their CSV files: {comparison.equal} requests of both, {len(comparison.only_theirs)} by theirs alone "
        f"({blank} cells are blank), {len(comparison.only_ours)} by ours alone"
    )
    return not comparison.only_ours and len(comparison.only_theirs) == blank


if __name__ == "__main__":
    main()
