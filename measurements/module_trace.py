"""Which modules of the package one command enters: those in which a function ran, and those that were only imported.

    python measurements/module_trace.py score kqa --responses answers.jsonl --config demo --data DIR --out DIR

Without arguments it scores one ready answer to a demo question of K-QA, in a folder of
its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from types import FrameType
from typing import Any

PACKAGE = str(Path(__file__).resolve().parents[1] / "medical_tasks") + os.sep


def trace(words: list[str]) -> tuple[int, list[str], list[str]]:
    """Runs a command; returns its exit code, the modules entered, and the others imported."""
    entered: set[str] = set()

    importing = 0

    def note(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal importing
        code = frame.f_code
        if code.co_name == "<module>":
            importing += (event == "call") - (event == "return")
        # What runs while modules are imported is no step of the command.
        elif event == "call" and not importing and code.co_filename.startswith(PACKAGE):
            entered.add(code.co_filename)

    sys.setprofile(note)
    from medical_tasks.cli.entry import main

    try:
        code = main(words)
    finally:
        sys.setprofile(None)
    paths = [
        str(getattr(module, "__file__", "") or "") for module in sys.modules.values()
    ]
    imported = {path for path in paths if path.startswith(PACKAGE)} - entered
    shown = [
        sorted(path.removeprefix(PACKAGE) for path in files)
        for files in (entered, imported)
    ]
    return code, shown[0], shown[1]


def main() -> int:
    """Prints the modules."""
    words = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        if not words:
            data, answers = f"{folder}/kqa", Path(folder) / "answers.jsonl"
            build = [
                sys.executable,
                "-m",
                "medical_tasks",
                "build",
                "kqa",
                "--config",
                "demo",
                "--out",
                data,
            ]
            subprocess.run(build, check=True, capture_output=True)
            row = json.loads(
                subprocess.run(
                    [sys.executable, "-c", _FIRST, data],
                    check=True,
                    capture_output=True,
                    text=True,
                ).stdout
            )
            answers.write_text(
                json.dumps({"id": row["id"], "response": row["answer"]}) + "\n",
                encoding="utf-8",
            )
            words = [
                "score",
                "kqa",
                "--responses",
                str(answers),
                "--config",
                "demo",
                "--data",
                data,
            ]
            words += ["--out", f"{folder}/out"]
        code, entered, imported = trace(words)
    print(f"\n{len(entered)} modules entered:\n  " + "\n  ".join(entered))
    print(f"{len(imported)} more imported:\n  " + "\n  ".join(imported))
    return code


_FIRST = """\
import json, sys
from pathlib import Path
import pyarrow.parquet as pq
print(json.dumps(pq.read_table(next(Path(sys.argv[1]).rglob("*.parquet"))).to_pylist()[0]))
"""

if __name__ == "__main__":
    sys.exit(main())
