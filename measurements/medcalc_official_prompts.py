"""Whether `--prompts official` sends what MedCalc-Bench's own scripts send, and `accuracy_official` decides as they do.

    python -m measurements.medcalc_official_prompts CHECKOUT --source test_data.csv --python PYTHON

CHECKOUT is a checkout of ncbi-nlp/MedCalc-Bench, test_data.csv the file of version 1.0,
PYTHON has openai 0.27, pandas and numpy. On all 1,047 rows the authors' `run.py`
(zero_shot, direct_answer, one_shot) and `generate_code_prompt.py` are run as they are,
with stand-ins for what they import and do not need here (torch, transformers ...), and
then `medical-tasks run`, against a server on this machine that keeps every request.
Both sides get the same replies: golds and other answers in several forms, and for code
one of eight dialogues. Equal means: the messages of a request are the same text, and
the decision about an item is the same. (Rows that ask the same question share a request
here.) Of a traceback the line is left out that names the file which ran the program.
Their code script runs programs in its own process, so that these are harmless ones.
"""

from __future__ import annotations

import argparse
import csv
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from measurements.recorded_requests import (
    commit_of,
    compare,
    parameters,
    recording,
    run_authors,
    run_ours,
)
from tests.fault_server import Call

TASKS = {
    "medcalc": "zero_shot",
    "medcalc_direct": "direct_answer",
    "medcalc_one_shot": "one_shot",
    "medcalc_code": "code",
}
FORMS: tuple[Callable[[str], str], ...] = (
    lambda gold: json.dumps({"step_by_step_thinking": "so", "answer": gold}),
    lambda gold: json.dumps({"step_by_step_thinking": "so", "answer": gold}, indent=2),
    lambda gold: f'```json\n{{"answer":\n  "{gold}"\n}}\n```',
    lambda gold: f"The answer is {gold}.",
    lambda gold: json.dumps({"answer": f"{gold} units"}),
    lambda gold: json.dumps({"answer": "7"}),
    lambda gold: "",
)
GOOD = "Here:\n```python\nimport math\nprint('x =', math.sqrt(2))\nprint('µ', 7)\n```"
TAGGED = "<answer> {gold} <\\answer>"
DIALOGUES: tuple[tuple[str, ...], ...] = (
    (GOOD, TAGGED),
    (
        "I compute it.",
        "```python\nx = 1\n```",
        GOOD,
        "It is <answer>{gold}<\\answer>, or <answer>3<\\answer>.",
    ),
    (
        "```python\nprint('a')\n1/0\n```",
        "```python\nprint(\n```",
        "```python\nimport nowhere\nprint(1)\n```",
        TAGGED,
    ),
    ("```python\nx = input('weight? ')\nprint(x)\n```",),
    ("<answer> {gold} mg <\\answer>",),
    (
        "```python\nx = 3\n```\nand\n```python\nprint(x)\n```",
        "<answer>\n{gold}\n<\\answer>",
        TAGGED,
    ),
    (GOOD,) * 25,
    (
        "```python\nimport sys\nif __name__ == '__main__':\n    print(1)\nprint('e', file=sys.stderr)\nprint(2)\n```",
        TAGGED,
    ),
)

ABSENT = ("torch", "transformers", "tiktoken", "huggingface_hub", "tqdm")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--python", type=Path, required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        shutil.copy(options.source, work / "test_data.csv")
        with options.source.open(encoding="utf-8", newline="") as lines:
            rows = list(csv.DictReader(lines))
        built = work / "data" / "medcalc_bench"
        source = options.source.absolute()
        run_ours(
            *(
                "build",
                "medcalc_bench",
                "--config",
                "v1.0",
                "--source",
                source,
                "--out",
                built,
            ),
            folder=work,
        )
        checkout = options.checkout.resolve()
        print(f"MedCalc-Bench at {commit_of(checkout)}")
        wrong = [
            task
            for task in TASKS
            if not compared(task, checkout, options.python.absolute(), work, rows)
        ]
    if wrong:
        raise SystemExit(f"not equal: {', '.join(wrong)}")


def replies_of(task: str, rows: Sequence[Mapping[str, str]]) -> list[list[str]]:
    """Returns the model's replies about each row, turn by turn."""
    replies = []
    for number, row in enumerate(rows):
        gold = row["Ground Truth Answer"]
        if task == "medcalc_code":
            replies.append(
                [
                    reply.replace("{gold}", gold)
                    for reply in DIALOGUES[number % len(DIALOGUES)]
                ]
            )
        else:
            replies.append([FORMS[number % len(FORMS)](gold)])
    return replies


def compared(
    task: str,
    checkout: Path,
    python: Path,
    folder: Path,
    rows: Sequence[Mapping[str, str]],
) -> bool:
    """Runs a task on both sides and prints the comparison."""
    replies = replies_of(task, rows)
    theirs, decided = run_theirs(task, checkout, python, folder, replies)
    ours, scored = run_task(task, checkout, folder, replies, openings(theirs))
    comparison = compare(theirs, ours, by=texts)
    same = sum(decided[name] == scored[name] for name in decided)
    begun = sum(len(call.body["messages"]) == 2 for call in theirs)
    print(
        f"{task}: {len(theirs)} requests of theirs, {begun} of them first ones: {comparison}; {same} of {len(decided)} decisions "
        f"equal, {sum(decided.values())} of them right\n"
        f"  parameters, theirs: {parameters(theirs)}\n  parameters, ours: {parameters(ours)}"
    )
    return comparison.same and begun == same == len(decided) == len(rows)


def openings(calls: Sequence[Call]) -> dict[str, int]:
    """Maps the first request of each row to the row's index."""
    numbers: dict[str, int] = {}
    first = [call for call in calls if len(call.body["messages"]) == 2]
    for number, call in enumerate(first):
        numbers.setdefault(opening(call), number)
    return numbers


def opening(call: Call) -> str:
    return json.dumps(call.body["messages"][:2])


def answered_turns(call: Call) -> int:
    """Counts the replies of the model in a chat."""
    return sum(message["role"] == "assistant" for message in call.body["messages"])


def texts(call: Call) -> bytes:
    """Returns the compared text of a request, without the line of a traceback that names the file which ran the program."""
    runs = ", in capture_exec_output_and_errors"
    return json.dumps(
        [
            (
                message["role"],
                [
                    line
                    for line in message["content"].split("\n")
                    if not line.endswith(runs)
                ],
            )
            for message in call.body["messages"]
        ]
    ).encode()


def run_theirs(
    task: str,
    checkout: Path,
    python: Path,
    folder: Path,
    replies: Sequence[Sequence[str]],
) -> tuple[list[Call], dict[str, bool]]:
    """Runs one of the authors' scripts, and returns what it sent and decided."""
    style, here = TASKS[task], folder / task / "evaluation"
    shutil.copytree(checkout / "evaluation", here)
    (folder / task / "dataset").mkdir()
    shutil.copy(folder / "test_data.csv", folder / task / "dataset")
    (here / "outputs").mkdir()
    left, script_of = iter(replies), dict[str, Sequence[str]]()

    def answer(call: Call) -> str:
        # Rows come in order; a row with the same question as another gets the same reply.
        fresh = next(left) if not answered_turns(call) else ()
        return script_of.setdefault(opening(call), fresh)[answered_turns(call)]

    script, arguments = "run.py", ["--model", "OpenAI/gpt-4", "--prompt", style]
    if style == "code":
        script, arguments = "generate_code_prompt.py", ["--gpt", "4"]
    with recording(answer) as server:
        run_authors(
            python,
            here / script,
            *arguments,
            folder=here,
            environment={"OPENAI_API_BASE": server.base_url, "OPENAI_API_KEY": "k"},
            absent=ABSENT,
        )
        sent = list(server.calls)
    decided = {}
    for path in (here / "outputs").glob("*.jsonl"):
        for line in path.read_text(encoding="utf-8").splitlines():
            entry = json.loads(line)
            decided[str(entry["Row Number"])] = entry["Result"] == "Correct"
    return sent, decided


def run_task(
    task: str,
    checkout: Path,
    folder: Path,
    replies: Sequence[Sequence[str]],
    numbers: Mapping[str, int],
) -> tuple[list[Call], dict[str, bool]]:
    """Runs `medical-tasks run`, and returns what it sent and decided."""

    def answer(call: Call) -> str:
        number = numbers.get(opening(call))
        return (
            "an opening that the authors did not send"
            if number is None
            else replies[number][answered_turns(call)]
        )

    with recording(answer) as server:
        run_ours(
            *(
                "run",
                "--tasks",
                task,
                "--model",
                "openai-api/local/m",
                "--prompts",
                "official",
            ),
            *("--upstream", checkout, "--data", folder / "data", "--config", "v1.0"),
            *("--out", folder / f"run_{task}"),
            server=server,
            folder=folder,
        )
        sent = list(server.calls)
    return sent, dict(decisions(folder / f"run_{task}"))


def decisions(folder: Path) -> Iterator[tuple[str, bool]]:
    from medical_tasks.runs.results import read_items

    for row in read_items(folder):
        yield row["id"], bool(row["accuracy_official"])


if __name__ == "__main__":
    main()
