"""Whether the golden cases notice every constant of the calculators: each number changed alone must make one fail.

    python -m measurements.calculator_mutations              prints the survivors and the counts
    python -m measurements.calculator_mutations --write      and puts the counts into docs/calculators.md

Every number in the rules, in the factors between units, in the constants of the
substances, and in what `catalog.json` says of classes, missing values and published
ranges is changed by 3 % up and down, and a whole number also by one up and down, one
change at a time; the package is imported anew with the one changed file, and the cases
of `tests/golden` are calculated. Numbers that only shape what is printed, ids, and the
limits of what a patient can have are no part of a rule. Changes that cannot move an
answer stand in `tests/golden/equivalent_mutants.json`, each with its reason; a change
that survives and is not listed there, or is listed and does not survive, fails the run
(exit code 1).
"""

from __future__ import annotations

import argparse
import ast
import importlib
import importlib.abc
import importlib.util
import json
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from tests.calculators.test_golden import (
    cases,
    conversion_difference,
    conversions,
    difference,
)

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "medical_tasks.calculators"
FOLDER = ROOT / "medical_tasks" / "calculators"
EQUIVALENT = ROOT / "tests" / "golden" / "equivalent_mutants.json"
DOCUMENT = ROOT / "docs" / "calculators.md"
BEGIN, END = "<!-- mutations: begin -->", "<!-- mutations: end -->"

# Modules that read inputs or print, and hold no constant of a rule.
NO_RULES = frozenset(
    {"__init__", "base", "index", "inputs", "measures", "shared_inputs", "steps"}
)
FACTORS = frozenset({"units"})
"""The module whose numbers stand in texts, from which exact fractions are made."""
NO_RULE_KEYWORDS = frozenset({"id", "maxsize"})
LIMITS = frozenset({"Measure", "within", "lru_cache", "range"})
"""Calls whose numbers say what is possible, not what the rule is."""
CATALOG = "catalog"
"""The data file that is changed as the modules are."""
NO_RULE_KEYS = frozenset({"id", "possible"})
_NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[+-]?\d+)?")


@dataclass(frozen=True, slots=True)
class Mutant:
    """One changed number: its place, its old value and its new one."""

    module: str
    definition: str
    number: int
    was: str
    now: str
    line: int

    @property
    def key(self) -> str:
        """Its name in the list of equivalent mutants, which does not depend on line numbers."""
        return (
            f"{self.module}.{self.definition}[{self.number}] {self.was} -> {self.now}"
        )


class _Numbers(ast.NodeVisitor):
    """The constants of a module that belong to rules, with the function or table that holds each."""

    def __init__(self, *, texts: bool) -> None:
        self.found: list[tuple[str, ast.Constant]] = []
        self._texts = texts
        self._place: list[str] = []

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._inside(node.name, node)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._inside(node.name, node)

    def visit_Assign(self, node: ast.Assign) -> None:
        self._inside(ast.unparse(node.targets[0]), node.value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self._inside(ast.unparse(node.target), node.value)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Skips text that is only printed."""

    def visit_Subscript(self, node: ast.Subscript) -> None:
        self.visit(node.value)  # an index is a place, not a quantity
        if not isinstance(node.slice, ast.Constant | ast.Slice):
            self.visit(node.slice)

    def visit_Call(self, node: ast.Call) -> None:
        name = (
            node.func.attr
            if isinstance(node.func, ast.Attribute)
            else getattr(node.func, "id", "")
        )
        if name not in LIMITS:
            self.generic_visit(node)

    def visit_keyword(self, node: ast.keyword) -> None:
        if node.arg not in NO_RULE_KEYWORDS:
            self.visit(node.value)

    def visit_Constant(self, node: ast.Constant) -> None:
        text = (
            self._texts
            and isinstance(node.value, str)
            and _NUMBER.fullmatch(node.value)
        )
        if text or (
            isinstance(node.value, int | float) and not isinstance(node.value, bool)
        ):
            self.found.append((self._place[0] if self._place else "", node))

    def _inside(self, name: str, node: ast.AST) -> None:
        self._place.append(name)
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            self.generic_visit(node)
        else:
            self.visit(node)
        self._place.pop()


def changes(value: object) -> Iterator[object]:
    """Yields a number changed by 3 % up and down, and a whole number also by one; a text stays a text."""
    number = float(value)  # type: ignore[arg-type]
    numbers: list[float] = [number * 1.03, number * 0.97] if number else []
    if number.is_integer():
        numbers += [number + 1, number - 1]
    for new in numbers:
        exact = float(f"{new:.12g}")
        if isinstance(value, str):
            yield f"{exact:.12g}"
        else:
            yield int(exact) if isinstance(value, int) and exact.is_integer() else exact


def _entries(container: Any) -> Iterator[tuple[Any, Any]]:
    """Yields container and key of every number of a rule below a container of the catalog."""
    for key, value in [
        *(container.items() if isinstance(container, dict) else enumerate(container))
    ]:
        if isinstance(value, dict | list) and key not in NO_RULE_KEYS:
            yield from _entries(value)
        elif (
            isinstance(value, int | float)
            and not isinstance(value, bool)
            and key not in NO_RULE_KEYS
        ):
            yield container, key


def catalog_mutants(only: str = "") -> Iterator[tuple[Mutant, Any]]:
    """Yields all mutants of the catalog, or of its entry for one calculator."""
    catalog = json.loads((FOLDER / f"{CATALOG}.json").read_text(encoding="utf-8"))
    for slug, entry in catalog.items():
        for number, (container, key) in enumerate(_entries(entry)):
            was = container[key]
            for now in changes(was) if only in ("", slug) else ():
                container[key] = now
                yield Mutant(CATALOG, slug, number, str(was), str(now), 0), catalog
            container[key] = was


def mutants(module: str, only: str = "") -> Iterator[tuple[Mutant, Any]]:
    """Yields all mutants of a module, or of one function or table of it, with their code."""
    if module == CATALOG:
        yield from catalog_mutants(only)
        return
    path = FOLDER / f"{module}.py"
    tree = ast.parse(path.read_text(encoding="utf-8"))
    numbers = _Numbers(texts=module in FACTORS)
    numbers.visit(tree)
    seen: Counter[str] = Counter()
    for definition, node in numbers.found:
        if only and definition != only:
            continue
        number, was = seen[definition], node.value
        seen[definition] += 1
        for now in changes(was):
            node.value = now  # type: ignore[assignment]
            yield (
                Mutant(module, definition, number, str(was), str(now), node.lineno),
                compile(tree, str(path), "exec"),
            )
        node.value = was


class _Importer(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports the package from code in memory, one module of it changed."""

    def __init__(self) -> None:
        self.changed: dict[str, Any] = {}
        self._code: dict[str, tuple[ModuleSpec, CodeType]] = {}

    def find_spec(
        self, fullname: str, path: object = None, target: object = None
    ) -> ModuleSpec | None:
        if fullname != PACKAGE and not fullname.startswith(f"{PACKAGE}."):
            return None
        if fullname not in self._code:
            name = fullname.removeprefix(PACKAGE).lstrip(".").replace(".", "/")
            file = (
                FOLDER / name / "__init__.py"
                if (FOLDER / name).is_dir()
                else FOLDER / f"{name}.py"
            )
            source = file.read_bytes()
            spec = ModuleSpec(
                fullname, self, origin=str(file), is_package=file.name == "__init__.py"
            )
            spec.has_location = True  # modules find their data beside their file
            self._code[fullname] = spec, compile(source, str(file), "exec")
        return self._code[fullname][0]

    def create_module(self, spec: ModuleSpec) -> None:
        """Creates the module in the default way."""

    def exec_module(self, module: ModuleType) -> None:
        exec(
            self.changed.get(module.__name__) or self._code[module.__name__][1],
            module.__dict__,
        )
        if (
            module.__name__ == f"{PACKAGE}.base"
            and f"{PACKAGE}.{CATALOG}" in self.changed
        ):
            module.__dict__["_CATALOG"] = self.changed[f"{PACKAGE}.{CATALOG}"]


def unnoticed(importer: _Importer, changed: dict[str, Any]) -> bool:
    """Whether every golden case passes; a package that cannot be imported any more passes none."""
    for name in [
        name
        for name in sys.modules
        if name == PACKAGE or name.startswith(f"{PACKAGE}.")
    ]:
        del sys.modules[name]
    parent, _, child = PACKAGE.rpartition(".")
    # else `import a.b.c as c` finds the one before
    vars(sys.modules[parent]).pop(child, None)
    importer.changed = changed
    try:
        calculators = importlib.import_module(PACKAGE)
    except (ValueError, ArithmeticError, TypeError, KeyError):
        return False
    return all(
        difference(slug, case, calculators) is None for slug, case in cases()
    ) and all(
        conversion_difference(case, calculators) is None for case in conversions()
    )


def equivalent() -> dict[str, str]:
    """Reads the changes that cannot change an answer, each with its reason."""
    listed: dict[str, str] = {}
    for entry in json.loads(EQUIVALENT.read_text(encoding="utf-8")):
        for key in entry["mutants"]:
            listed[key] = entry["reason"]
    return listed


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs all mutants; 1 if one survives that should not, or the list of equivalent ones is out of date."""
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0] if __doc__ else None
    )
    parser.add_argument(
        "modules",
        nargs="*",
        help="modules to change, or MODULE.FUNCTION; all when none is given",
    )
    parser.add_argument(
        "--write", action="store_true", help=f"put the counts into {DOCUMENT.name}"
    )
    options = parser.parse_args(arguments)
    every = [
        CATALOG,
        *sorted(path.stem for path in FOLDER.glob("*.py") if path.stem not in NO_RULES),
    ]
    chosen = options.modules or every
    listed = equivalent()
    importer = _Importer()
    sys.meta_path.insert(0, importer)
    if not unnoticed(importer, {}):
        print(
            "the golden cases fail without any change: pytest tests/calculators/test_golden.py says which"
        )
        return 1
    begun = time.process_time()
    counts: Counter[str] = Counter()
    alive: set[str] = set()
    for module, _, definition in (name.partition(".") for name in chosen):
        for mutant, code in mutants(module, definition):
            counts[module] += 1
            if unnoticed(importer, {f"{PACKAGE}.{module}": code}):
                alive.add(mutant.key)
                if mutant.key not in listed:
                    print(f"{module}:{mutant.line}: {mutant.key}", flush=True)
    new = alive - set(listed)
    stale = {
        key for key in listed if {key.split(".")[0], key.split("[")[0]} & set(chosen)
    } - alive
    for key in sorted(stale):
        print(f"listed as equivalent, and noticed or gone: {key}")
    total = sum(counts.values())
    line = (
        f"{total:,} changes of {len(counts)} files: {total - len(alive):,} noticed, {len(alive) - len(new)} equivalent, "
        f"{len(new)} survive"
    )
    print(f"{line} ({time.process_time() - begun:.0f} s of processor time)")
    if options.write:
        head, rest = DOCUMENT.read_text(encoding="utf-8").split(BEGIN)
        DOCUMENT.write_text(
            f"{head}{BEGIN}\n{line}.\n{END}{rest.split(END)[1]}", encoding="utf-8"
        )
    return 1 if new or stale else 0


if __name__ == "__main__":
    sys.exit(main())
