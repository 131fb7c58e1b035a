"""A checkout of the authors' repository as MedCalc-Bench's prompts are read from it: of its structure, in words of our own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

RUN, CODE = (
    Path(__file__).with_name(f"official_{name}.txt").read_text(encoding="utf-8")
    for name in ("run", "code")
)

EXAMPLES: Mapping[str, Any] = {
    key: {
        "input_parameters": {},
        "Patient Note": f"example {key} \u00b5 {{x}}",
        "Response": {"step_by_step_thinking": f"steps \u00b5 of {key}", "answer": "1"},
    }
    for key in map(str, range(1, 70))
}


def write_tree(
    folder: Path, *, run: str = RUN, code: str = CODE, examples: Any = EXAMPLES
) -> Path:
    """Writes the three files where the authors have them; returns the folder."""
    evaluation = folder / "evaluation"
    evaluation.mkdir(parents=True, exist_ok=True)
    (evaluation / "run.py").write_text(run, encoding="utf-8")
    (evaluation / "generate_code_prompt.py").write_text(code, encoding="utf-8")
    text = examples if isinstance(examples, str) else json.dumps(examples)
    (evaluation / "one_shot_finalized_explanation.json").write_text(
        text, encoding="utf-8"
    )
    return folder
