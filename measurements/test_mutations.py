"""Which test files notice nothing: faults are planted in the code that a test file runs, one at a time, until it fails.

    python measurements/test_mutations.py [--tries 25] [--seed 1] [--jobs 1] [tests/runs/test_results.py ...]

The faults are planted in a copy of the tree, one copy for each job. A first run of a
test file records every function of the package that its tests call, also in the
processes they start. What runs while tests are collected is left out: a fault in it
breaks the import of any test file, and shows nothing about the tests. A fault is a
changed operator, condition or returned value at a random place in one of the other
functions. A file that fails at one of the faults notices faults; one that passes all
tries is named at the end, for a person to read.

The exit status is 1 if a file noticed none of its faults, or fails without any. A file
whose tests run no function of the package (tests of scripts, say) is named, and no more.
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
from collections.abc import Iterator, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

ROOT = Path(__file__).resolve().parents[1]
NOT_COPIED = (
    ".git",
    ".venv*",
    ".env-*",
    ".*_cache",
    "__pycache__",
    "build",
    "demo",
    "space-store",
)
LONGEST_RUN = 300.0
"""Seconds after which a run of a test file counts as failed."""
_OPPOSITES: dict[type[ast.AST], type[ast.AST]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.GtE,
    ast.GtE: ast.Lt,
    ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.And: ast.Or,
    ast.Or: ast.And,
}

# Lies in the copy as sitecustomize.py, so every Python process of a test run records
# the functions of the package that it calls.
_TRACER = """
import atexit, os, resource, sys, threading

calls_file = os.environ.get("CALLS_FILE")
package = os.path.join(os.path.dirname(os.path.abspath(__file__)), "medical_tasks", "")

if calls_file:
    calls = set()

    def trace(frame, event, argument):
        code = frame.f_code
        path = code.co_filename
        if path.startswith(package) and path.endswith(".py"):  # a template is HTML
            calls.add((path, code.co_firstlineno))

    def write():
        sys.settrace(None)
        # A test of full disks limits the size of files: half a line may be no path.
        if resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY:
            with open(calls_file, "a") as file:
                file.writelines(f"{path}:{line}\\n" for path, line in list(calls))

    atexit.register(write)
    threading.settrace(trace)
    sys.settrace(trace)
"""

Functions = Mapping[Path, Set[int]]
"""First lines of functions, by the file that has them."""


@dataclass(frozen=True)
class Fault:
    """A place for a fault: the number of a node among those of a file that can be changed."""

    path: Path
    node_number: int


@dataclass(frozen=True)
class Outcome:
    """What a test file did with its faults.

    Attributes:
        test: the file's path in the project.
        passes: whether it passes without a fault.
        faults: how many were tried; 0 if its tests run no function of the package.
        noticed: whether it failed at the last of them.
    """

    test: Path
    passes: bool = True
    faults: int = 0
    noticed: bool = False

    @property
    def is_blind(self) -> bool:
        """Whether faults were tried and none was noticed."""
        return self.faults > 0 and not self.noticed

    @property
    def runs_nothing(self) -> bool:
        """Whether its tests run no function of the package."""
        return self.passes and not self.faults

    def __str__(self) -> str:
        if not self.passes:
            return f"{self.test}: fails without a fault"
        if self.runs_nothing:
            return f"{self.test}: runs no function of the package"
        if self.noticed:
            return f"{self.test}: fault {self.faults} noticed"
        return f"{self.test}: NONE of {self.faults} faults noticed"


# --- Faults


def changeable_nodes(tree: ast.Module, first_lines: Set[int]) -> Iterator[ast.AST]:
    """Yields the nodes that a fault can change, of the functions that begin at these lines."""
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        decorators = [decorator.lineno for decorator in function.decorator_list]
        if min([function.lineno, *decorators]) in first_lines:
            yield from filter(_is_changeable, ast.walk(function))


def _is_changeable(node: ast.AST) -> bool:
    if isinstance(node, ast.Return):
        return node.value is not None
    return isinstance(node, ast.Compare | ast.BinOp | ast.BoolOp | ast.If | ast.IfExp)


def change(node: ast.AST) -> None:
    """Makes a node wrong: the opposite operator or condition, or None as returned value."""
    if isinstance(node, ast.Compare):
        node.ops = [_OPPOSITES[type(node.ops[0])](), *node.ops[1:]]  # type: ignore[list-item]
    elif isinstance(node, ast.BinOp | ast.BoolOp):
        node.op = _OPPOSITES.get(type(node.op), ast.Sub)()  # type: ignore[assignment]
    elif isinstance(node, ast.If | ast.IfExp):
        node.test = ast.UnaryOp(op=ast.Not(), operand=node.test)
    elif isinstance(node, ast.Return):
        node.value = ast.Constant(value=None)
    ast.fix_missing_locations(node)


def possible_faults(functions: Functions) -> list[Fault]:
    """Lists every fault that can be planted in some functions."""
    faults = []
    for path, first_lines in functions.items():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        count = sum(1 for _ in changeable_nodes(tree, first_lines))
        faults += [Fault(path, number) for number in range(count)]

    return faults


def with_fault(text: str, first_lines: Set[int], node_number: int) -> str:
    """Returns the text of a module with one node changed."""
    tree = ast.parse(text)
    change(list(changeable_nodes(tree, first_lines))[node_number])
    return ast.unparse(tree)


# --- Runs of a test file


def copy_tree(folder: Path) -> Path:
    """Copies the project into a folder, beside a link to the upstream files if there are any."""
    tree = folder / "tree"
    shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(*NOT_COPIED))
    (tree / "sitecustomize.py").write_text(_TRACER, encoding="utf-8")

    shared = ROOT.parent / "shared"
    if shared.is_dir():
        (folder / "shared").symlink_to(shared)

    return tree


def passes(
    test: Path, tree: Path, *options: str, calls_file: Path | None = None
) -> bool:
    """Runs a test file in a copy of the project, and records its calls if there is a file for them.

    A run that takes too long has failed: a fault can make a loop endless.
    """
    pytest = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-x",
        "-n0",
        "-p",
        "no:cacheprovider",
    ]
    environment = os.environ | {"PYTHONPATH": str(tree)}
    if calls_file is not None:
        calls_file.unlink(missing_ok=True)
        environment["CALLS_FILE"] = str(calls_file)

    try:
        done = subprocess.run(
            [*pytest, *options, str(test)],
            cwd=tree,
            env=environment,
            capture_output=True,
            timeout=LONGEST_RUN,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def tested_functions(test: Path, tree: Path) -> Functions | None:
    """The functions that tests call, without those that run while they are collected; None if a test fails."""
    calls_file = tree.parent / "calls"
    if not passes(test, tree, "--collect-only", calls_file=calls_file):
        return None
    collected = read_calls(calls_file)

    if not passes(test, tree, calls_file=calls_file):
        return None
    return {
        path: first_lines - collected.get(path, set())
        for path, first_lines in read_calls(calls_file).items()
    }


def read_calls(calls_file: Path) -> Functions:
    """Reads the functions that a run recorded, in the order of their files and lines."""
    functions: dict[Path, set[int]] = defaultdict(set)
    for entry in sorted(calls_file.read_text(encoding="utf-8").splitlines()):
        path, _, line = entry.rpartition(":")
        functions[Path(path)].add(int(line))

    return functions


def try_faults(test: Path, tree: Path, tries: int, rng: random.Random) -> Outcome:
    """Runs a test file with one random fault after another, until it fails."""
    functions = tested_functions(test, tree)
    if functions is None:
        return Outcome(test, passes=False)

    possible = possible_faults(functions)
    faults = rng.sample(possible, min(tries, len(possible)))

    for count, fault in enumerate(faults, start=1):
        sound = fault.path.read_text(encoding="utf-8")
        faulty = with_fault(sound, functions[fault.path], fault.node_number)
        fault.path.write_text(faulty, encoding="utf-8")
        try:
            if not passes(test, tree):
                return Outcome(test, faults=count, noticed=True)
        finally:
            fault.path.write_text(sound, encoding="utf-8")

    return Outcome(test, faults=len(faults))


def outcomes(
    tests: Sequence[Path], *, tries: int, seed: int, jobs: int
) -> Iterator[Outcome]:
    """Tries faults on test files, several at once, and yields the outcomes in the order of the files."""
    free_trees: SimpleQueue[Path] = SimpleQueue()

    def outcome(test: Path) -> Outcome:
        tree = free_trees.get()
        try:
            return try_faults(test, tree, tries, random.Random(f"{seed} {test.name}"))
        finally:
            free_trees.put(tree)

    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(jobs) as pool:
        for job in range(jobs):
            free_trees.put(copy_tree(Path(scratch) / str(job)))
        yield from pool.map(outcome, tests)


# --- The command


def summary(results: Sequence[Outcome]) -> str:
    """Counts the files, and names those that noticed nothing."""
    at_first = sum(result.noticed and result.faults == 1 for result in results)
    later = sum(result.noticed and result.faults > 1 for result in results)
    groups = {
        "noticed none": [result for result in results if result.is_blind],
        "ran no function": [result for result in results if result.runs_nothing],
        "failed without a fault": [result for result in results if not result.passes],
    }
    names = [
        f"{title}: {', '.join(str(result.test) for result in group) or 'no file'}"
        for title, group in groups.items()
    ]
    counts = [
        f"files: {len(results)}",
        f"failed at the first fault: {at_first}",
        f"at a later one: {later}",
    ]
    return "; ".join(counts + names)


def main() -> int:
    """Tries faults on the test files; 1 if one of them notices none, or fails without any."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "tests",
        nargs="*",
        type=Path,
        help="test files (default: all but those marked slow)",
    )
    parser.add_argument("--tries", type=int, default=25, help="faults a file")
    parser.add_argument("--seed", type=int, default=1, help="of the random faults")
    parser.add_argument("--jobs", type=int, default=1, help="files at once")
    options = parser.parse_args()

    paths = [path.resolve() for path in options.tests] or [
        path
        for path in sorted((ROOT / "tests").rglob("test_*.py"))
        if "mark.slow" not in path.read_text(encoding="utf-8")
    ]
    tests = [path.relative_to(ROOT) for path in paths]

    results = []
    for outcome in outcomes(
        tests, tries=options.tries, seed=options.seed, jobs=options.jobs
    ):
        print(outcome, flush=True)
        results.append(outcome)

    print(summary(results))
    return int(any(result.is_blind or not result.passes for result in results))


if __name__ == "__main__":
    sys.exit(main())
