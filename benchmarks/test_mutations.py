"""Which test files notice nothing: faults are put into the modules that a test file imports, one at a time, until it fails.

    python benchmarks/test_mutations.py [--tries 25] [--seed 1] [tests/runs/test_results.py ...]

A fault is a changed operator, constant, condition or returned value, drawn at random; the tree is copied first, and the copy is
what is changed. A file that fails at one of them tells faults; one that passes all tries is named, to be read by a person. Files
that import no module of the package, or only through commands, say so.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.Gt: ast.LtE, ast.LtE: ast.Gt, ast.In: ast.NotIn,
    ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div,
    ast.Div: ast.Mult, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip


def faults(tree: ast.Module) -> Iterator[ast.AST]:
    """The places of functions at which a fault can be put."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            for node in ast.walk(function):
                if isinstance(node, ast.Compare | ast.BinOp | ast.BoolOp | ast.If | ast.IfExp) or (
                    isinstance(node, ast.Return) and node.value is not None
                ):
                    yield node


def put(node: ast.AST) -> None:
    """Puts a fault at a place."""
    if isinstance(node, ast.Compare):
        node.ops = [_SWAPS[type(node.ops[0])](), *node.ops[1:]]  # type: ignore[list-item]
    elif isinstance(node, ast.BinOp | ast.BoolOp):
        node.op = _SWAPS.get(type(node.op), ast.Sub)()  # type: ignore[assignment]
    elif isinstance(node, ast.If | ast.IfExp):
        node.test = ast.UnaryOp(op=ast.Not(), operand=node.test)
    elif isinstance(node, ast.Return):
        node.value = ast.Constant(value=None)
    ast.fix_missing_locations(node)


def imported(test: Path, root: Path) -> list[Path]:
    """The modules of the package that a test file imports by name."""
    found: dict[Path, None] = {}
    for node in ast.walk(ast.parse(test.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("medical_tasks"):
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names if alias.name.startswith("medical_tasks")]
        else:
            continue
        found |= {path: None for name in names if (path := root / (name.replace(".", "/") + ".py")).is_file()}
    return list(found)


def passes(test: Path, root: Path) -> bool:
    """Whether a test file passes in a tree; a file that hangs notices the fault as well."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-n0", "-p", "no:cacheprovider", str(test.relative_to(root))]
    try:
        return (
            subprocess.run(
                command, cwd=root, env=os.environ | {"PYTHONPATH": str(root)}, capture_output=True, timeout=300
            ).returncode
            == 0
        )
    except subprocess.TimeoutExpired:
        return False


def judge(test: Path, root: Path, drawn: random.Random, tries: int) -> str:
    """Says after how many faults a test file failed."""
    modules = imported(test, root)
    if not passes(test, root):
        return "fails without a fault"
    if not modules:
        return "imports no module"
    for number in range(1, tries + 1):
        path = drawn.choice(modules)
        before = path.read_text(encoding="utf-8")
        tree = ast.parse(before)
        places = list(faults(tree))
        if not places:
            continue
        put(drawn.choice(places))
        path.write_text(ast.unparse(tree), encoding="utf-8")
        try:
            if not passes(test, root):
                return f"fault {number} noticed"
        finally:
            path.write_text(before, encoding="utf-8")
    return f"NONE of {tries} faults noticed"


def main() -> None:
    """Copies the tree and judges the test files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tests", nargs="*", type=Path, help="test files (default: all but those marked slow)")
    parser.add_argument("--tries", type=int, default=25)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    tests = [path.resolve() for path in arguments.tests] or [
        path
        for path in sorted((ROOT / "tests").rglob("test_*.py"))
        if "mark.slow" not in path.read_text(encoding="utf-8")
    ]
    with tempfile.TemporaryDirectory() as place:
        root = Path(place) / "tree"
        shutil.copytree(
            ROOT, root, ignore=shutil.ignore_patterns(".git", ".venv", "__pycache__", "space-store", "demo")
        )
        shared = ROOT.parent / "shared"
        if shared.is_dir():
            (root.parent / "shared").symlink_to(shared)
        for path in tests:
            drawn = random.Random(f"{arguments.seed} {path.name}")
            print(
                f"{path.relative_to(ROOT)}: {judge(root / path.relative_to(ROOT), root, drawn, arguments.tries)}",
                flush=True,
            )


if __name__ == "__main__":
    main()
