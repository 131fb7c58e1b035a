"""Density and structure of this package beside codebases that others read with ease.

    python -m measurements.house [FOLDER ...]

FOLDER is the package folder of any other codebase, such as a checkout's
sacrebleu/sacrebleu. lighteval, inspect_ai and evaluate are measured as they are
installed beside this package. Figures are those of scripts/budgets.py. Packages differ
in size, so only density can be compared.
"""

from __future__ import annotations

import ast
import sys
import warnings
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import Final

from scripts.budgets import (
    MANY_BRANCHES,
    Module,
    code_lines,
    count_branches,
    count_nodes,
    docstring_lines,
)

INSTALLED: Final = ("lighteval", "inspect_ai", "evaluate")
LONG_LINE: Final = 100
Modules = Sequence[Module]


def nodes_per_line(modules: Modules) -> float:
    """Nodes of the syntax tree for each line of code, docstrings apart."""
    return count_nodes(modules) / code_lines(modules)


def branches_per_100_lines(modules: Modules) -> float:
    """Decisions for 100 lines of code."""
    return (
        100
        * sum(count_branches(module.nodes) for module in modules)
        / code_lines(modules)
    )


def long_lines(modules: Modules) -> float:
    """Share of lines over 100 characters, in percent; blank lines are left out."""
    lengths = [len(line) for module in modules for line in module.lines if line.strip()]
    return 100 * sum(length > LONG_LINE for length in lengths) / len(lengths)


def explaining_lines(modules: Modules) -> float:
    """Share of lines that are a comment or part of a docstring, in percent."""
    comments = sum(
        line.lstrip().startswith("#") for module in modules for line in module.lines
    )
    docstrings = sum(docstring_lines(module) for module in modules)
    return 100 * (comments + docstrings) / sum(len(module.lines) for module in modules)


def branchy_functions(modules: Modules) -> float:
    """Share of functions with over 15 decisions, in percent."""
    functions = [function for module in modules for function in module.functions]
    branchy = sum(
        count_branches(ast.walk(function)) > MANY_BRANCHES for function in functions
    )
    return 100 * branchy / len(functions)


FIGURES: Final[tuple[tuple[str, Callable[[Modules], float], str], ...]] = (
    ("nodes", count_nodes, ",.0f"),
    ("nodes a line", nodes_per_line, ".2f"),
    ("branches/100", branches_per_100_lines, ".1f"),
    ("long lines %", long_lines, ".1f"),
    ("explaining %", explaining_lines, ".1f"),
    ("branchy %", branchy_functions, ".1f"),
)


def read_package(folder: Path) -> list[Module]:
    """Reads the modules below a folder; files that this Python cannot parse (templates) are left out."""
    modules = []
    for path in sorted(folder.rglob("*.py")):
        text = path.read_text(encoding="utf-8", errors="replace")
        try:
            with warnings.catch_warnings(action="ignore"):
                tree = ast.parse(text)
        except SyntaxError:
            continue
        modules.append(
            Module(PurePosixPath(path.relative_to(folder.parent)), text, tree)
        )
    return modules


def installed_folder(name: str) -> Path | None:
    """The folder of an installed package; None where it is not there."""
    spec = find_spec(name)
    return None if spec is None or spec.origin is None else Path(spec.origin).parent


def main(folders: Sequence[str]) -> int:
    """Prints a row for each codebase; returns the exit code."""
    others = [
        folder for name in INSTALLED if (folder := installed_folder(name)) is not None
    ]
    own = Path(__file__).resolve().parents[1] / "medical_tasks"
    print(f"{'':16}" + "".join(f"{name:>14}" for name, _, _ in FIGURES))
    for folder in (own, *others, *map(Path, folders)):
        modules = read_package(folder)
        if not modules:
            print(
                f"{folder}: no Python file below it. Give a package's folder.",
                file=sys.stderr,
            )
            return 2
        cells = "".join(
            f"{format(measure(modules), form):>14}" for _, measure, form in FIGURES
        )
        print(f"{folder.name:16}{cells}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
