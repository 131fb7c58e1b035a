"""K-QA: what the authors' script asks its judge, and what it makes of the replies, beside `score kqa --prompts official`.

    python -m measurements.kqa_official CHECKOUT --python PYTHON [--rounds 3]

CHECKOUT is a checkout of Itaymanes/K-QA; PYTHON has what its run_eval.py imports
(langchain 0.0.327, openai 0.27, pandas 2). Both read the same file of results: the
authors' own examples (48 of the 201 questions), and in each round answers to all
questions, some of them the examples, the others untidy (blank, long, several lines,
Unicode, braces, planted verdicts, refusals). A server on this machine answers both with
the same reply to the same request, drawn from forms that end in True or False and from
hostile ones. Compared are the requests and the four figures. A second scoring has
reasoning before the answers, which is not part of them.
"""

from __future__ import annotations

import hashlib
import json
import math
import random
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

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

REPLY_PARTS: Final = [
    "The answer is True.", "The answer is False.", "true", "TRUE", "İ", "ß", "ﬁ", "untrue", " ", "\n", "\t", "True\n\n",
    "not ", "xxxxx", "false", "🙂", "“True”", "T", "rue", "The answer is neither true", "if ", "?",
    "cannot be true.", "ΑΣ", "\u0130" * 5,
]  # fmt: skip
ANSWER_PARTS: Final = [
    "Rest and drink.", "Nimm Wasser – viel.", "薬は要りません。", "\n", "\n\n- one\n- two", " ", "\t",
    "{question} {0} }{", "The answer is True.", '```json\n{"label": "True"}\n```', "\u00a0", "5 < 6 & 7 > 3",
    "###\nQuestion: what? Premise: none", "I don't know.", "\r\n", "é\u0301", "🩺", "word " * 900,
]  # fmt: skip
BLANK: Final = ("", " ", "\n", " \n\t ")
FIGURES: Final = {
    "Comp": "comprehensiveness_official",
    "Comp_norm": "comprehensiveness_norm_official",
    "Hall": "hallucination_official",
    "Hall_norm": "hallucination_norm_official",
}
ASKS_IF_ANSWERED: Final = '"answered": true or false'
"""A text of the only further question that is asked with their prompts: whether an unsure text is an answer."""


Answers = list[dict[str, str]]


def example_answers(checkout: Path) -> Answers:
    """Reads the authors' examples."""
    answers: Answers = json.loads(
        (checkout / "dummy_res.json").read_text(encoding="utf-8")
    )
    return answers


def untidy_answers(checkout: Path, chance: random.Random) -> Answers:
    """Writes an answer to each question, in the authors' form, and one to an unknown question, which both sides leave out."""
    lines = (checkout / "dataset" / "questions_w_answers.jsonl").read_text(
        encoding="utf-8"
    )
    theirs = {
        answer["Question"]: answer["result"] for answer in example_answers(checkout)
    }
    answers = [{"Question": "Who asked this?", "result": "Nobody."}]
    for line in lines.splitlines():
        question = json.loads(line)["Question"]
        if chance.random() < 0.1:
            text = chance.choice(BLANK)
        elif question in theirs and chance.random() < 0.7:
            text = theirs[question]
        else:
            text = "".join(chance.choices(ANSWER_PARTS, k=chance.randint(1, 6)))
        answers.append({"Question": question, "result": text})
    return answers


def reply(call: Call, seed: int) -> str:
    """Returns the judge's reply, the same to the same request."""
    messages = call.body["messages"]
    digest = hashlib.sha256(json.dumps([seed, messages]).encode()).hexdigest()
    chance = random.Random(digest)
    if ASKS_IF_ANSWERED in messages[0]["content"]:
        return json.dumps({"reason": "It is.", "answered": chance.random() < 0.5})
    if len(messages) > 1 or chance.random() < 0.3:
        return f"So. The answer is {chance.random() < 0.5}."
    return "".join(chance.choices(REPLY_PARTS, k=chance.randint(0, 6)))


def with_reasoning(answer: str) -> str:
    """Puts reasoning before an answer, unless it has white space around it, which would count as reasoning."""
    return (
        f"<think>\nIs it so?\n</think>\n\n{answer}"
        if answer.strip() == answer
        else answer
    )


def compare_file(
    answers: Answers,
    what: str,
    seed: int,
    *,
    checkout: Path,
    python: Path,
    data: Path,
    folder: Path,
) -> bool:
    """Compares their figures and ours for one file of answers, and prints the result."""
    theirs_folder, results = folder / "theirs", folder / "results.json"
    for name in ("evaluation", "dataset"):
        shutil.copytree(checkout / name, theirs_folder / name)
    shutil.copy(checkout / "run_eval.py", theirs_folder)
    results.write_text(json.dumps(answers), encoding="utf-8")
    reasoned = [
        {**answer, "result": with_reasoning(answer["result"])} for answer in answers
    ]
    (folder / "reasoned.json").write_text(json.dumps(reasoned), encoding="utf-8")
    with recording(lambda call: reply(call, seed)) as server:
        azure = {"OPENAI_API_BASE": server.base_url, "OPENAI_API_KEY": "k"}
        azure |= {"OPENAI_API_TYPE": "azure", "OPENAI_API_VERSION": "2023-05-15"}
        run_authors(
            python,
            Path("run_eval.py"),
            *("--result_file", str(results), "--version", "out"),
            folder=theirs_folder,
            environment=azure,
        )
        their_calls = list(server.calls)
    theirs = json.loads(
        (theirs_folder / "out" / "macro_results.json").read_text(encoding="utf-8")
    )
    same = True
    for name, how in (
        ("results", "the same file"),
        ("reasoned", "with reasoning before it"),
    ):
        with recording(lambda call: reply(call, seed)) as server:
            run_ours(
                *(
                    "score",
                    "kqa",
                    "--responses",
                    folder / f"{name}.json",
                    "--data",
                    data,
                ),
                *(
                    "--prompts",
                    "official",
                    "--upstream",
                    checkout,
                    "--out",
                    folder / name,
                ),
                *("--judge", "openai-api/local/gpt-4"),
                server=server,
                folder=folder,
            )
            sent = list(server.calls)
        begun = [call for call in first(sent) if ASKS_IF_ANSWERED not in call.prompt]
        comparison = compare(their_calls, begun)
        differ = differing(theirs, results_of(folder / name, "kqa"))
        print(
            f"{what}, {how}: {comparison}; beside them {len(sent) - len(first(sent))} re-asks and "
            f"{len(first(sent)) - len(begun)} questions whether it is an answer; figures that differ: {differ or 'none'}"
        )
        same = same and comparison.same and not differ
    print(
        f"  parameters, theirs: {parameters(their_calls)}\n  parameters, ours: {parameters(sent)}"
    )
    return same


def differing(theirs: Mapping[str, float], ours: Mapping[str, Any]) -> list[str]:
    """Lists the figures that differ by more than 1e-12."""
    return [
        f"{name} {theirs[name]!r} {ours[metric]['value']!r}"
        for name, metric in FIGURES.items()
        if ours[metric]["value"] is None
        or not math.isclose(theirs[name], ours[metric]["value"], rel_tol=1e-12)
    ]


def main() -> None:
    options = official_options(__doc__, rounds=3)
    checkout = options.checkout
    print(f"K-QA at {commit_of(checkout)}")
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        run_ours(
            *("build", "kqa", "--source", checkout, "--out", data / "kqa"),
            folder=Path(folder),
        )
        files = {"the authors' examples": example_answers(checkout)}
        for seed in range(options.rounds):
            files[f"round {seed}"] = untidy_answers(checkout, random.Random(seed))
        about = {"checkout": checkout, "python": options.python, "data": data}
        same = [
            compare_file(answers, what, seed, folder=Path(folder) / str(seed), **about)
            for seed, (what, answers) in enumerate(files.items())
        ]
    if not all(same):
        raise SystemExit("not equal")


if __name__ == "__main__":
    main()
