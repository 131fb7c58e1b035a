"""What a person who joins reads and runs: forms, workflow, hooks, owners, citation."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from medical_tasks.catalog import own_benchmarks
from tests.support import ROOT, setup_config
from tests.warm_process import HEAVY

FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
KINDS = {"markdown", "textarea", "input", "dropdown", "checkboxes"}


def _yaml(name: str) -> Any:
    return yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


def _targets() -> dict[str, str]:
    """The Makefile's targets, with what they need and do."""
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.findall(r"(?m)^([a-z][a-z-]*):(?!=)(.*\n(?:\t.*\n)*)", text)
    assert len(targets) > 20
    return dict(targets)


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_an_issue_form_asks_each_thing_once_and_warns_of_patients(path: Path) -> None:
    form = _yaml(str(path.relative_to(ROOT)))
    if path.stem == "config":
        assert form == {"blank_issues_enabled": True}
        return
    assert form["name"]
    assert form["description"]
    fields = form["body"]
    assert {field["type"] for field in fields} <= KINDS
    ids = [field["id"] for field in fields if field["type"] != "markdown"]
    assert len(ids) == len(set(ids)) >= 4
    assert all(field["attributes"]["label"] for field in fields if "id" in field)
    if path.stem != "new_benchmark":
        assert "Never paste text of patients" in fields[0]["attributes"]["value"]


def test_there_are_forms_for_a_bug_a_number_and_a_benchmark() -> None:
    assert {"bug", "wrong_number", "new_benchmark"} <= {path.stem for path in FORMS}


def test_the_workflow_runs_targets_of_the_makefile() -> None:
    ran: set[str] = set()
    for job in _yaml(".github/workflows/ci.yml")["jobs"].values():
        kinds = job.get("strategy", {}).get("matrix", {}).get("include", [{}])
        for step in job["steps"]:
            if "uses" in step:
                # pinned by hash: a tag can be moved
                assert re.fullmatch(r"actions/[a-z-]+@[0-9a-f]{40}", step["uses"])
                continue
            for kind in kinds:
                command = step["run"]
                for name, value in kind.items():
                    command = command.replace(f"${{{{ matrix.{name} }}}}", value)
                first, *targets, last = command.split()
                assert (first, last) == ("make", "PYTHON=python")
                ran.update(targets)
    assert ran == {
        "check",
        "examples",
        "tests",
        "check-core",
        "check-oldest",
        "check-newest",
    }
    assert ran <= set(_targets())


def test_the_workflow_tries_every_python_that_setup_cfg_names() -> None:
    classifiers = setup_config()["metadata"]["classifiers"]
    declared = re.findall(r"Programming Language :: Python :: (3\.\d+)", classifiers)
    jobs = _yaml(".github/workflows/ci.yml")["jobs"]
    assert jobs["tests"]["strategy"]["matrix"]["python"] == declared
    tried = {
        kind["versions"]: kind["python"]
        for kind in jobs["dependencies"]["strategy"]["matrix"]["include"]
    }
    assert tried == {"oldest": declared[0], "newest": declared[-1]}
    assert all("timeout-minutes" in job for job in jobs.values())


def test_hooks_are_local_and_the_tools_of_make_check() -> None:
    (repository,) = _yaml(".pre-commit-config.yaml")["repos"]
    assert repository["repo"] == "local"
    hooks = repository["hooks"]
    assert {hook["language"] for hook in hooks} == {"system"}
    targets = _targets()
    needed = targets["check"].split("##")[0].split()
    recipes = "".join(targets[name] for name in needed)
    tools = re.findall(r"(?m)^\t\$\(BIN\)/(\S+)(?: ([a-z]+))?", recipes)
    hooked = [
        re.match(r"\.venv/bin/(\S+)(?: ([a-z]+))?", hook["entry"]) for hook in hooks
    ]
    assert {match.groups(default="") for match in hooked if match} == set(tools)
    assert len(tools) == len(hooks)


def test_every_owned_path_exists() -> None:
    lines = (ROOT / ".github" / "CODEOWNERS").read_text(encoding="utf-8").splitlines()
    owned = [line.split() for line in lines if line and not line.startswith("#")]
    assert owned[0][0] == "*"
    assert all((ROOT / path.strip("/")).is_dir() for path, *_ in owned[1:])
    assert all(owner.startswith("@") for _, *owners in owned for owner in owners)


def test_packages_that_dependabot_ignores_are_pinned_and_documented() -> None:
    pips, actions = _yaml(".github/dependabot.yml")["updates"]
    assert actions["package-ecosystem"] == "github-actions"
    pinned = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    page = (ROOT / "docs" / "installing.md").read_text(encoding="utf-8")
    names = [entry["dependency-name"] for entry in pips["ignore"]]
    assert [name for name in names if f"\n{name}==" not in pinned] == []
    assert [name for name in names if f"`{name}" not in page] == []
    excluded = [name.removesuffix("/**") for name in pips["exclude-paths"]]
    assert all((ROOT / name).exists() for name in excluded)


def test_the_citation_names_the_papers_of_the_benchmarks() -> None:
    citation = _yaml("CITATION.cff")
    assert citation["title"] == "medical-tasks"
    assert citation["license"] == setup_config()["metadata"]["license"]
    listed = {reference["url"] for reference in citation["references"]}
    papers = {benchmark.paper for benchmark in own_benchmarks()}
    assert len(papers) >= 5
    assert papers - listed == set()


def test_required_packages_have_a_lower_bound() -> None:
    needed = setup_config()["options"]["install_requires"].split()
    assert len(needed) > 10
    assert [name for name in needed if ">=" not in name] == []


def test_pyproject_leaves_the_version_to_one_file() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert "project" not in settings


def test_files_that_start_the_warm_process_share_a_worker() -> None:
    assert [name for name in HEAVY if not (ROOT / name).exists()] == []
    texts = {
        path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted((ROOT / "tests").rglob("test_*.py"))
    }
    using = [
        name
        for name, text in texts.items()
        if re.search(r"\bwarm:\sWarmProcess", text) and "warm_process(" not in text
    ]
    assert using
    assert [name for name in using if not name.startswith(HEAVY)] == []
