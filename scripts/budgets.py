"""Holds the project to its budgets of size, density and structure; part of `make check`.

    python scripts/budgets.py            the table; exit status 1 if a figure is worse than its ratchet
    python scripts/budgets.py --places   also the files and lines that some of the figures count
    python scripts/budgets.py --write    also lowers the ratchets of the figures that have improved

Size is counted in nodes of the syntax tree, never in lines: a node is what a reader has
to take in, and neither longer lines nor fewer docstrings make it go away
(docs/adr/0016-nodes-not-lines.md).

`pyproject.toml` holds the numbers. `[tool.medical-tasks.budgets]` has the ratchet of
each figure, the best value so far, and `[tool.medical-tasks.goals]` the value it should
reach. A figure may be worse than its ratchet by the share called `air` in
`[tool.medical-tasks]`.
"""

from __future__ import annotations

import argparse
import ast
import gc
import re
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "medical_tasks"
BENCHMARKS = f"{PACKAGE}/benchmarks"
SCRIPT_FOLDERS = ("examples", "measurements", "scripts")
ABOUT_BENCHMARKS = frozenset({"benchmarks", "construct", "lab"})
USES = PurePosixPath(PACKAGE, "site", "uses")
"""What a hospital uses a model for: each makes notes into the rows of one benchmark."""
VAGUE_NAMES = frozenset(
    "asked each found given known made one part place said told wanted".split()
)
"""Names that say that something was done, and not what the value is."""
GENERATED_DOCS = PurePosixPath("docs", "reference")
"""Pages generated from docstrings, whose words nobody writes (docs/adr/0032-generated-reference.md)."""
LONG_LINE = 100
MANY_BRANCHES = 15

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Branching = (
    ast.If
    | ast.IfExp
    | ast.For
    | ast.AsyncFor
    | ast.While
    | ast.ExceptHandler
    | ast.match_case
)


class BudgetsError(Exception):
    """The figures cannot be measured or compared; the message is for the user."""


# --- What is measured


@dataclass(frozen=True)
class Module:
    """A Python file: its path from the project's root, its text and its syntax tree."""

    path: PurePosixPath
    text: str
    tree: ast.Module

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """All nodes of the syntax tree."""
        return tuple(ast.walk(self.tree))

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """All lines, blank ones included."""
        return tuple(self.text.splitlines())

    @cached_property
    def functions(self) -> tuple[_Function, ...]:
        """Functions and methods, nested ones included."""
        return tuple(node for node in self.nodes if isinstance(node, _Function))

    @property
    def name(self) -> str:
        """The name that imports use: `medical_tasks/io/__init__.py` is `medical_tasks.io`."""
        return ".".join(self.path.with_suffix("").parts).removesuffix(".__init__")

    @property
    def room(self) -> str:
        """The folder below the package; empty for the package's own modules."""
        return self.path.parts[1] if len(self.path.parts) > 2 else ""


@dataclass(frozen=True)
class Settings:
    """The settings of `[tool.medical-tasks]` in `pyproject.toml`."""

    air: float
    wings: frozenset[str]
    benchmarks: frozenset[str]
    ratchets: Mapping[str, float]
    goals: Mapping[str, float]


@dataclass(frozen=True)
class Project:
    """The files that count, without the benchmarks that others have added."""

    package: tuple[Module, ...]
    tests: tuple[Module, ...]
    scripts: tuple[Module, ...]
    docs: tuple[str, ...]
    readme: str
    wings: frozenset[str]
    benchmark_names: frozenset[str]

    @property
    def core(self) -> list[Module]:
        """The package without its optional wings."""
        return [module for module in self.package if module.room not in self.wings]


def read_modules(root: Path, folder: str) -> tuple[Module, ...]:
    """Reads the Python files below a folder, in the order of their paths."""
    return tuple(
        _read_module(root, path) for path in sorted((root / folder).rglob("*.py"))
    )


def _read_module(root: Path, path: Path) -> Module:
    text = path.read_text(encoding="utf-8")
    relative = PurePosixPath(path.relative_to(root).as_posix())
    try:
        return Module(relative, text, ast.parse(text))
    except SyntaxError as error:
        raise BudgetsError(
            f"{relative}:{error.lineno}: {error.msg}. Correct the syntax."
        ) from None


def read_project(root: Path, settings: Settings) -> Project:
    """Reads the files that count; a benchmark that `settings` does not list is not counted."""
    folders = {path.parent.name for path in (root / BENCHMARKS).glob("*/__init__.py")}
    others = folders - settings.benchmarks

    def counted(folder: str) -> tuple[Module, ...]:
        modules = tuple(
            module
            for module in read_modules(root, folder)
            if not _belongs_to(module, others)
        )
        if not modules:
            raise BudgetsError(
                f"no Python file below {root / folder}: check the project's folder."
            )
        return modules

    docs = sorted(
        path
        for path in (root / "docs").rglob("*.md")
        if path.parent != root / GENERATED_DOCS
    )
    return Project(
        package=counted(PACKAGE),
        tests=counted("tests"),
        scripts=tuple(
            module for folder in SCRIPT_FOLDERS for module in counted(folder)
        ),
        docs=tuple(path.read_text(encoding="utf-8") for path in docs),
        readme=(root / "README.md").read_text(encoding="utf-8"),
        wings=settings.wings,
        benchmark_names=frozenset(folders) | settings.benchmarks,
    )


def _belongs_to(module: Module, benchmarks: Iterable[str]) -> bool:
    """Whether a module is in the folder of one of the benchmarks, in the package or in the tests."""
    room, _, rest = str(module.path).partition("/benchmarks/")
    return room in (PACKAGE, "tests") and rest.partition("/")[0] in benchmarks


# --- Size and density


def count_nodes(modules: Iterable[Module]) -> int:
    """Counts nodes of the syntax trees.

    >>> count_nodes([Module(PurePosixPath("a.py"), "x = 1", ast.parse("x = 1"))])
    5

    They are the module, the assignment, the name, its role (stored) and the constant.
    """
    return sum(len(module.nodes) for module in modules)


def count_branches(nodes: Iterable[ast.AST]) -> int:
    """Counts the decisions among nodes.

    >>> count_branches(ast.walk(ast.parse("[x for x in xs if x and x.y]")))
    3

    They are the loop, its condition and the `and`.
    """
    return sum(map(_branches_of, nodes))


def _branches_of(node: ast.AST) -> int:
    if isinstance(node, _Branching):
        return 1
    if isinstance(node, ast.comprehension):
        return 1 + len(node.ifs)
    if isinstance(node, ast.BoolOp):
        return len(node.values) - 1
    return 0


def docstring_lines(module: Module) -> int:
    """Counts the lines of the docstrings of a module, its classes and its functions."""
    statements = filter(None, map(_docstring, module.nodes))
    return sum(_line_span(statement) for statement in statements)


def _docstring(node: ast.AST) -> ast.Expr | None:
    if not isinstance(node, ast.Module | ast.ClassDef | _Function) or not node.body:
        return None
    first = node.body[0]
    if not isinstance(first, ast.Expr) or not isinstance(first.value, ast.Constant):
        return None
    return first if isinstance(first.value.value, str) else None


def _line_span(node: ast.stmt) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def code_lines(modules: Iterable[Module]) -> int:
    """Counts lines, blank ones included, without docstrings: what nodes are spread over."""
    return sum(len(module.lines) - docstring_lines(module) for module in modules)


def nodes_per_line(project: Project) -> float:
    """Nodes for each line of code."""
    return count_nodes(project.package) / code_lines(project.package)


def branches_per_100_lines(project: Project) -> float:
    """Decisions for 100 lines of code."""
    branches = sum(count_branches(module.nodes) for module in project.package)
    return 100 * branches / code_lines(project.package)


def line_length_p90(project: Project) -> int:
    """The length that one line in ten reaches; blank lines are left out."""
    lengths = sorted(_line_lengths(project))
    return lengths[int(0.9 * len(lengths))]


def long_lines_percent(project: Project) -> float:
    """The share of lines over the formatter's limit; blank lines are left out."""
    lengths = list(_line_lengths(project))
    return 100 * sum(length > LONG_LINE for length in lengths) / len(lengths)


def _line_lengths(project: Project) -> Iterator[int]:
    for module in project.package:
        yield from (len(line) for line in module.lines if line.strip())


def comments_percent(project: Project) -> float:
    """The share of lines that are a comment or part of a docstring."""
    lines = sum(len(module.lines) for module in project.package)
    explaining = sum(
        docstring_lines(module)
        + sum(line.lstrip().startswith("#") for line in module.lines)
        for module in project.package
    )
    return 100 * explaining / lines


def count_words(texts: Iterable[str]) -> int:
    """Counts words as `wc -w` does."""
    return sum(len(text.split()) for text in texts)


# --- Structure: figures that count places


def branchy_functions(project: Project) -> list[str]:
    """Functions with too many decisions, those of nested functions included."""
    return [
        f"{_location(module, function)} {function.name}"
        for module in project.package
        for function in module.functions
        if count_branches(ast.walk(function)) > MANY_BRANCHES
    ]


def namespace_functions(project: Project) -> list[str]:
    """Functions outside `cli/` whose signature names argparse's Namespace."""
    return [
        f"{_location(module, function)} {function.name}"
        for module in project.package
        for function in module.functions
        if module.room != "cli" and "Namespace" in ast.unparse(function.args)
    ]


def lines_with_any(project: Project) -> list[str]:
    """Lines that mention `Any`."""
    return [
        f"{module.path}:{number}"
        for module in project.package
        for number, line in enumerate(module.lines, 1)
        if re.search(r"\bAny\b", line)
    ]


def vague_names(modules: Iterable[Module]) -> list[str]:
    """Parameters, fields, variables and functions with a name of `VAGUE_NAMES`.

    >>> code = "def told(found): place = found"
    >>> vague_names([Module(PurePosixPath("package/a.py"), code, ast.parse(code))])
    ['package/a.py:1 told', 'package/a.py:1 found', 'package/a.py:1 place']
    """
    return [
        f"{_location(module, node)} {name}"
        for module in modules
        for node in module.nodes
        if (name := _new_name(node)).strip("_") in VAGUE_NAMES
    ]


def _new_name(node: ast.AST) -> str:
    """The name that a node introduces; empty where it introduces none."""
    if isinstance(node, _Function):
        return node.name
    if isinstance(node, ast.arg):
        return node.arg
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        return node.id
    return ""


def modules_in_circles(project: Project) -> list[str]:
    """Modules that import themselves through others, imports inside functions included."""
    graph = import_graph(project.package)
    return [name for name in graph if name in _reachable(graph, name)]


def import_graph(modules: Sequence[Module]) -> dict[str, set[str]]:
    """Maps each module to those of the package that it imports when it runs."""
    names = {module.name for module in modules}
    return {
        module.name: {
            target
            for node in _run_time_nodes(module)
            for target in imported_names(node)
            if target in names and target != module.name
        }
        for module in modules
    }


def imported_names(node: ast.AST) -> list[str]:
    """Lists every module that an absolute import may mean.

    >>> imported_names(ast.parse("from package import part").body[0])
    ['package', 'package.part']
    """
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if not isinstance(node, ast.ImportFrom) or not node.module or node.level:
        return []
    return [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]


def _run_time_nodes(module: Module) -> Iterator[ast.AST]:
    """Nodes outside the `if TYPE_CHECKING:` blocks of a module, which never run."""
    typing_only = {
        id(node)
        for block in module.tree.body
        if isinstance(block, ast.If) and "TYPE_CHECKING" in ast.unparse(block.test)
        for statement in block.body
        for node in ast.walk(statement)
    }
    return (node for node in module.nodes if id(node) not in typing_only)


def _reachable(graph: Mapping[str, set[str]], start: str) -> set[str]:
    """Modules that one imports, directly or through others."""
    reached: set[str] = set()
    waiting = list(graph[start])

    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting.extend(graph[name])

    return reached


def benchmarks_in_generic_code(project: Project) -> list[str]:
    """Imports of one benchmark by generic code, and benchmarks named in its strings.

    The command line and the Python API may name benchmarks: their options do. A wing
    about benchmarks is not generic: making notes of EHRNoteQA's kind, auditing
    MedCalc-Bench's labels, and a hospital's use of one know whose they are.
    """
    names = project.benchmark_names
    folders = tuple(f"{PACKAGE}.benchmarks.{name}." for name in names)
    generic = [
        module
        for module in project.package
        if module.room not in ABOUT_BENCHMARKS and USES not in module.path.parents
    ]
    imports = [
        (module, node)
        for module in generic
        for node in module.nodes
        if _imports_from(node, folders)
    ]
    strings = [
        (module, node)
        for module in generic
        if module.room not in ("api", "cli")
        for node in module.nodes
        if _names_benchmark(node, names)
    ]
    return [
        f"{_location(module, node)} {ast.unparse(node)}"
        for module, node in imports + strings
    ]


def _imports_from(node: ast.AST, folders: tuple[str, ...]) -> bool:
    """Whether a node imports from packages, which end in a dot."""
    return any(f"{name}.".startswith(folders) for name in imported_names(node))


def _names_benchmark(node: ast.AST, benchmarks: Iterable[str]) -> bool:
    """Whether a node is a string such as `kqa` or `kqa_rag`."""
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        return False
    value = node.value
    return any(
        value == name or re.fullmatch(f"{name}_[a-z]+", value) for name in benchmarks
    )


def _location(module: Module, node: ast.AST) -> str:
    return f"{module.path}:{getattr(node, 'lineno', 0)}"


# --- The figures


@dataclass(frozen=True)
class Figure:
    """A figure with a budget: its name in `pyproject.toml` and how it is measured."""

    name: str
    measure: Callable[[Project], float]
    digits: int = 0
    more_is_better: bool = False
    places: Callable[[Project], list[str]] | None = None

    def text(self, value: float) -> str:
        """Writes a value for readers: `554,754` or `7.74`."""
        return f"{value:,.{self.digits}f}"

    def limit(self, ratchet: float, air: float) -> float:
        """The worst value that is accepted."""
        return ratchet * (1 - air) if self.more_is_better else ratchet * (1 + air)

    def is_worse(self, value: float, limit: float) -> bool:
        """Compares a value with the worst that is accepted."""
        return value < limit if self.more_is_better else value > limit

    def lowered(self, ratchet: float, value: float, goal: float) -> float:
        """The ratchet after an improvement: no further than the goal, and never a looser one.

        >>> Figure("words", measure=len).lowered(ratchet=900, value=700, goal=800)
        800
        """
        if self.more_is_better:
            return max(ratchet, min(value, goal))
        return min(ratchet, max(value, goal))


def _count(name: str, places: Callable[[Project], list[str]]) -> Figure:
    return Figure(name, lambda project: len(places(project)), places=places)


FIGURES = (
    Figure("core nodes", lambda project: count_nodes(project.core)),
    Figure("package nodes", lambda project: count_nodes(project.package)),
    Figure("nodes per line", nodes_per_line, digits=2),
    Figure("branches per 100 lines", branches_per_100_lines, digits=1),
    Figure("line length, 90th percentile", line_length_p90),
    Figure("lines over 100 characters, %", long_lines_percent, digits=1),
    Figure(
        "comments and docstrings, %", comments_percent, digits=1, more_is_better=True
    ),
    _count("functions over 15 branches", branchy_functions),
    _count("functions taking a Namespace", namespace_functions),
    _count("lines with Any", lines_with_any),
    _count("vague names", lambda project: vague_names(project.package)),
    _count(
        "vague names in tests and scripts",
        lambda project: vague_names(project.tests + project.scripts),
    ),
    _count("modules in import circles", modules_in_circles),
    _count("benchmarks in generic code", benchmarks_in_generic_code),
    Figure("test nodes", lambda project: count_nodes(project.tests)),
    Figure("words of docs", lambda project: count_words(project.docs)),
    Figure("words of README", lambda project: count_words([project.readme])),
)


def measure(project: Project) -> dict[str, float]:
    """Measures every figure, rounded to the digits that are shown."""
    return {
        figure.name: round(figure.measure(project), figure.digits) for figure in FIGURES
    }


# --- The numbers in pyproject.toml


def read_settings(pyproject: str) -> Settings:
    """Reads the text of `pyproject.toml`.

    Raises:
        BudgetsError: A table or a number is missing, unknown or of the wrong kind.
    """
    try:
        table = tomllib.loads(pyproject)["tool"]["medical-tasks"]
        return Settings(
            air=_share(table["air"]),
            wings=_names("wings", table["wings"]),
            benchmarks=_names("benchmarks", table["benchmarks"]),
            ratchets=_numbers("budgets", table["budgets"]),
            goals=_numbers("goals", table["goals"]),
        )
    except KeyError as error:
        raise BudgetsError(
            f"pyproject.toml: [tool.medical-tasks] needs {error}."
        ) from None
    except tomllib.TOMLDecodeError as error:
        raise BudgetsError(f"pyproject.toml: {error}.") from None


def _share(value: object) -> float:
    if isinstance(value, int | float) and 0 <= value < 1:
        return value
    raise BudgetsError(
        f"pyproject.toml: air is a share from 0 to below 1, such as 0.01: {value!r}"
    )


def _names(key: str, value: object) -> frozenset[str]:
    if isinstance(value, list) and all(isinstance(name, str) for name in value):
        return frozenset(value)
    raise BudgetsError(
        f"pyproject.toml: {key} is a list of folder names, not {value!r}."
    )


def _numbers(key: str, value: object) -> dict[str, float]:
    """Checks that a table has a number for every figure, and nothing else."""
    header = f"pyproject.toml: [tool.medical-tasks.{key}]"
    if not isinstance(value, dict):
        raise BudgetsError(f"{header} is a table, not {value!r}.")

    names = [figure.name for figure in FIGURES]
    for name in names:
        number = value.get(name)
        if isinstance(number, bool) or not isinstance(number, int | float):
            raise BudgetsError(
                f"{header} needs a number for {name!r}, and has {number!r}."
            )

    unknown = sorted(value.keys() - set(names))
    if unknown:
        raise BudgetsError(
            f"{header} has {unknown[0]!r}. The figures are: {'; '.join(names)}."
        )
    return value


def lower_ratchets(
    settings: Settings, measured: Mapping[str, float]
) -> dict[str, float]:
    """Returns the ratchets that should change, by figure."""
    lowered = {
        figure.name: figure.lowered(
            settings.ratchets[figure.name],
            measured[figure.name],
            settings.goals[figure.name],
        )
        for figure in FIGURES
    }
    return {
        name: value
        for name, value in lowered.items()
        if value != settings.ratchets[name]
    }


def with_ratchets(pyproject: str, ratchets: Mapping[str, float]) -> str:
    """Writes ratchets into the text of `pyproject.toml` and leaves all other text as it is.

    Raises:
        BudgetsError: A number does not follow its name on one line of the table.
    """
    before, header, rest = pyproject.partition("[tool.medical-tasks.budgets]\n")
    table, following, after = rest.partition("\n[")

    for name, value in ratchets.items():
        line = re.compile(rf'^("{re.escape(name)}" *= *)[0-9._]+', re.MULTILINE)
        table, replaced = line.subn(rf"\g<1>{value:_}", table)
        if replaced != 1:
            raise BudgetsError(
                f'pyproject.toml: write the ratchet as one line `"{name}" = NUMBER`.'
            )

    return before + header + table + following + after


# --- The command


def table_lines(settings: Settings, measured: Mapping[str, float]) -> list[str]:
    """Lists the figures with their ratchets and goals, a line each."""
    lines = [f"{'':34}{'today':>10}{'ratchet':>10}{'goal':>10}"]
    for figure in FIGURES:
        numbers = (
            measured[figure.name],
            settings.ratchets[figure.name],
            settings.goals[figure.name],
        )
        columns = "".join(f"{figure.text(number):>10}" for number in numbers)
        lines.append(f"{figure.name:34}{columns}")

    return lines


def failure_lines(settings: Settings, measured: Mapping[str, float]) -> list[str]:
    """Lists the figures that are worse than their ratchets allow, a line each."""
    lines = []
    for figure in FIGURES:
        value, ratchet = measured[figure.name], settings.ratchets[figure.name]
        limit = figure.limit(ratchet, settings.air)
        if not figure.is_worse(value, limit):
            continue

        bound = "at least" if figure.more_is_better else "at most"
        lines.append(
            f"{figure.name}: {figure.text(value)} is worse than the ratchet of "
            f"{figure.text(ratchet)}; {bound} {limit:,.{figure.digits + 1}f} is accepted."
        )

    return lines


def _print_places(project: Project) -> None:
    for figure in FIGURES:
        if figure.places is not None:
            print(f"\n{figure.name}:")
            print(*figure.places(project), sep="\n")


def _lower_in_file(
    path: Path, settings: Settings, measured: Mapping[str, float]
) -> None:
    lowered = lower_ratchets(settings, measured)
    path.write_text(
        with_ratchets(path.read_text(encoding="utf-8"), lowered),
        encoding="utf-8",
        newline="\n",
    )
    for name, value in lowered.items():
        print(
            f"The ratchet of {name} is now {value:,} ({settings.ratchets[name]:,} before)."
        )


def run(root: Path, *, write: bool = False, places: bool = False) -> int:
    """Measures a project and prints the table; returns the exit status."""
    pyproject = root / "pyproject.toml"
    settings = read_settings(pyproject.read_text(encoding="utf-8"))
    project = read_project(root, settings)
    measured = measure(project)

    print(*table_lines(settings, measured), sep="\n")
    if places:
        _print_places(project)
    if write:
        _lower_in_file(pyproject, settings, measured)
    elif lower_ratchets(settings, measured):
        print(
            "Figures have improved: `python scripts/budgets.py --write` lowers their ratchets."
        )

    failures = failure_lines(settings, measured)
    if not failures:
        return 0

    print(*failures, sep="\n")
    print(
        "Make the code simpler, or raise the number in pyproject.toml and say why in docs/adr/."
    )
    return 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; 0 is within budget, 1 is not, 2 is a mistake in the settings."""
    parser = argparse.ArgumentParser(
        description="Measures the project against its budgets."
    )
    parser.add_argument(
        "--write", action="store_true", help="lower ratchets that have improved"
    )
    parser.add_argument(
        "--places", action="store_true", help="list what the figures count"
    )
    options = parser.parse_args(arguments)

    try:
        return run(ROOT, write=options.write, places=options.places)
    except (BudgetsError, OSError) as error:
        print(error, file=sys.stderr)
        return 2


if __name__ == "__main__":
    # The syntax trees stay to the end: searching millions of nodes for garbage takes longer
    # than all the counting.
    gc.disable()
    sys.exit(main())
