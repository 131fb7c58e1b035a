"""Which test files notice nothing: faults are put into the functions that a test file runs, one at a time, until it fails.

    python measurements/test_mutations.py [--tries 25] [--seed 1] [tests/runs/test_results.py ...]

The tree is copied, and the copy is what is changed. A first run of the file records
every function of the package that it calls, also in the processes it starts; a fault is
a changed operator, constant, condition or returned value at a random place of one of
them. A file that fails at one of the faults can tell them; one that passes all tries is
named, to be read by a person.
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
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.Gt: ast.LtE, ast.LtE: ast.Gt, ast.In: ast.NotIn,
    ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div,
    ast.Div: ast.Mult, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip


# Lies in the copy as sitecustomize.py: every Python process of a test run notes the
# functions of the package that it calls.
_TRACER = """
import atexit, os, sys, threading
place, root = os.environ.get("CALLED"), os.path.dirname(os.path.abspath(__file__)) + "/medical_tasks/"
if place:
    called = set()
    def note(frame, event, argument):
        code = frame.f_code
        if code.co_filename.startswith(root):
            called.add((code.co_filename, code.co_firstlineno))
    def write():
        sys.settrace(None)
        with open(place, "a") as file:
            file.writelines(f"{path}:{line}\\n" for path, line in list(called))
    atexit.register(write)
    threading.settrace(note)
    sys.settrace(note)
"""


def faults(tree: ast.Module, lines: set[int]) -> Iterator[ast.AST]:
    """The places, of functions that begin at these lines, at which a fault can be put."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            first = min(
                [
                    function.lineno,
                    *(decorator.lineno for decorator in function.decorator_list),
                ]
            )
            for node in ast.walk(function) if first in lines else ():
                if isinstance(
                    node, ast.Compare | ast.BinOp | ast.BoolOp | ast.If | ast.IfExp
                ) or (isinstance(node, ast.Return) and node.value is not None):
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


def passes(test: Path, root: Path, called: Path | None = None) -> bool:
    """Whether a test file passes in a tree; a file that hangs notices the fault as well."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-x",
        "-n0",
        "-p",
        "no:cacheprovider",
        str(test.relative_to(root)),
    ]
    environment = (
        os.environ
        | {"PYTHONPATH": str(root)}
        | ({"CALLED": str(called)} if called else {})
    )
    try:
        return (
            subprocess.run(
                command, cwd=root, env=environment, capture_output=True, timeout=300
            ).returncode
            == 0
        )
    except subprocess.TimeoutExpired:
        return False


def judge(test: Path, root: Path, drawn: random.Random, tries: int) -> str:
    """Says after how many faults a test file failed."""
    record = root.parent / "called"
    record.unlink(missing_ok=True)
    if not passes(test, root, record):
        return "fails without a fault"
    lines: dict[Path, set[int]] = defaultdict(set)
    for name, line in (
        entry.rsplit(":", 1)
        for entry in sorted(record.read_text(encoding="utf-8").splitlines())
    ):
        lines[Path(name)].add(int(line))
    places = []
    for path, starts in lines.items():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        places += [(path, number) for number, _ in enumerate(faults(tree, starts))]
    if not places:
        return "runs no function of the package"
    for number, (path, place) in enumerate(
        drawn.sample(places, min(tries, len(places))), 1
    ):
        before = path.read_text(encoding="utf-8")
        tree = ast.parse(before)
        put(list(faults(tree, lines[path]))[place])
        path.write_text(ast.unparse(tree), encoding="utf-8")
        try:
            if not passes(test, root):
                return f"fault {number} noticed"
        finally:
            path.write_text(before, encoding="utf-8")
    return f"NONE of {min(tries, len(places))} faults noticed"


def main() -> None:
    """Copies the tree and judges the test files."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "tests",
        nargs="*",
        type=Path,
        help="test files (default: all but those marked slow)",
    )
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
            ROOT,
            root,
            ignore=shutil.ignore_patterns(
                ".git", ".venv", "__pycache__", "space-store", "demo"
            ),
        )
        (root / "sitecustomize.py").write_text(_TRACER, encoding="utf-8")
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
