"""Holds the package to its budgets: `python scripts/budgets.py`, part of `make check`.

The budgets stand in `pyproject.toml` under `[tool.medical-tasks.budgets]`. A change that needs a larger one says why in an ADR;
whoever makes the house smaller lowers them.
"""

from __future__ import annotations

import ast
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "medical_tasks"
_DATA_LINES = 10  # a literal of so many lines that is assigned to a name is data
_LISTS = ("benchmarks/catalog.py", "benchmarks/manifest.py", "_registry.py", "lighteval_tasks.py")


def imported(tree: ast.Module) -> Iterator[str]:
    """The modules that a module may import, under every name that an import can mean."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def data_lines(tree: ast.Module) -> int:
    """Lines of long literals."""
    spans = (
        node.end_lineno - node.lineno + 1
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign | ast.AnnAssign)
        and isinstance(
            node.value, ast.List | ast.Dict | ast.Tuple | ast.Set | ast.Constant | ast.Call
        )
        and node.end_lineno is not None
    )
    return sum(span for span in spans if span > _DATA_LINES)


def words(paths: Iterator[Path]) -> int:
    """Words of texts."""
    return sum(len(path.read_text(encoding="utf-8").split()) for path in paths)


def lines(paths: Iterator[Path]) -> int:
    """Lines of texts."""
    return sum(path.read_text(encoding="utf-8").count("\n") for path in paths)


def figures() -> dict[str, int]:
    """Measures the house."""
    paths = sorted(PACKAGE.rglob("*.py"))
    trees = {
        path.relative_to(PACKAGE).as_posix(): ast.parse(path.read_text(encoding="utf-8"))
        for path in paths
    }
    names = {
        "medical_tasks." + name[:-3].replace("/", "."): name
        for name in trees
        if not name.endswith("__init__.py")
    }
    users: dict[str, set[str]] = {module: set() for module in names}
    foreign = set()
    for name, tree in trees.items():
        for module in imported(tree):
            if module in names and names[module] != name:
                users[module].add(name)
            parts = module.split(".")
            if (
                parts[:2] == ["medical_tasks", "benchmarks"]
                and len(parts) > 2
                and name not in _LISTS
            ):
                folder = PACKAGE / "benchmarks" / parts[2]
                if folder.is_dir() and not name.startswith(f"benchmarks/{parts[2]}/"):
                    foreign.add((name, parts[2]))
    return {
        "root modules": sum("/" not in name for name in trees),
        "rooms": len({name.partition("/")[0] for name in trees if "/" in name}),
        "modules": len(names),
        "modules with one importer": sum(len(each) == 1 for each in users.values()),
        "imports of a benchmark from outside": len(foreign),
        "package lines without data": lines(iter(paths)) - sum(map(data_lines, trees.values())),
        "test lines": lines((ROOT / "tests").rglob("*.py")),
        "words of docs": words((ROOT / "docs").rglob("*.md")) + words(iter([ROOT / "README.md"])),
    }


def main() -> int:
    """Prints the figures beside their budgets; 1 where one is above."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        budgets: dict[str, int] = tomllib.load(file)["tool"]["medical-tasks"]["budgets"]
    measured = figures()
    if measured.keys() != budgets.keys():
        print(f"budgets are set for {sorted(budgets)}, and measured are {sorted(measured)}")
        return 1
    for name, value in measured.items():
        over = (
            ""
            if value <= budgets[name]
            else "   above the budget: make it smaller, or say why in docs/adr/"
        )
        print(f"{name:36}{value:>8,} of {budgets[name]:>7,}{over}")
    return int(any(value > budgets[name] for name, value in measured.items()))


if __name__ == "__main__":
    sys.exit(main())
