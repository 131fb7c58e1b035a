"""`launch`: the script and the Job that it prints work, with stand-ins for the cluster."""

from __future__ import annotations

import os
import shlex
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from medical_tasks.cli.entry import main
from tests.case_tables import json_of
from tests.warm_process import WarmProcess

RUN = "run --tasks medcalc --model baseline/random --config demo --out".split()


def printed(
    kind: str, words: list[str], capsys: pytest.CaptureFixture[str], *more: str
) -> str:
    assert main(["launch", "--print", kind, "--shards", "2", *more, "--", *words]) == 0
    return capsys.readouterr().out


def stand_in(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


@pytest.fixture
def cluster(here: Path, demo_home: None, warm_verbs: WarmProcess) -> dict[str, str]:
    """An environment in which `sbatch` runs its jobs immediately, and `medical-tasks` is this version."""
    asking = shlex.join([sys.executable, *warm_verbs.asking])
    stand_in(here / "bin" / "medical-tasks", f'exec {asking} -m medical_tasks "$@"')
    job = 'for each in 1 2; do SLURM_ARRAY_TASK_ID=$each bash "$2" >&2 || exit; done; echo "77;cluster"'
    merge = 'test "$1" = --dependency=afterany:77 && sh -c "${3#--wrap=}"'
    stand_in(
        here / "bin" / "sbatch",
        f'if [ "$1" = --parsable ]; then {job}; else {merge}; fi',
    )
    return os.environ | {"PATH": f"{here / 'bin'}:{os.environ['PATH']}"}


def test_the_slurm_script_runs_the_parts_and_merges_them(
    here: Path, cluster: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    out = here / "a run; it's $HOME"
    script = here / "job.sh"
    script.write_text(printed("slurm", [*RUN, str(out)], capsys, "--gpus", "2"))
    assert (
        "\n#SBATCH --array=1-2\n#SBATCH --gpus=2\nset -euo pipefail\n"
        in script.read_text()
    )
    subprocess.run(["bash", str(script)], env=cluster, check=True, capture_output=True)
    assert main([*RUN, str(here / "whole")]) == 0
    assert (out / "results.json").read_bytes() == (
        here / "whole" / "results.json"
    ).read_bytes()


def test_the_kubernetes_job_runs_its_part(
    here: Path, cluster: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    out = here / "run"
    job = yaml.safe_load(
        printed(
            "k8s", [*RUN, str(out)], capsys, "--gpus", "1", "--image", "here/image:1"
        )
    )
    assert (job["apiVersion"], job["kind"]) == ("batch/v1", "Job")
    assert job["metadata"]["name"] == "medical-tasks-run"
    spec = job["spec"]
    assert spec["completionMode"] == "Indexed"
    assert (spec["completions"], spec["parallelism"]) == (2, 2)
    pod = spec["template"]["spec"]
    (container,) = pod["containers"]
    assert pod["restartPolicy"] == "Never"
    assert container["image"] == "here/image:1"
    assert container["workingDir"] == str(here)
    assert container["resources"]["limits"] == {"nvidia.com/gpu": 1}
    command = [word.replace("$$", "$") for word in container["command"]]
    subprocess.run(
        command,
        env=cluster | {"JOB_COMPLETION_INDEX": "1"},
        check=True,
        capture_output=True,
    )
    assert json_of(here / "run.parts" / "2-of-2" / "run.json")["shard"] == "2/2"


def test_merge_uses_the_judge_of_the_run_and_local_models_a_process_per_gpu(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = (
        "run --tasks kqa --model hf/m --judge openai-api/h/j --votes 3 --out d "
        "--allow-remote h --attest-zero-retention"
    ).split()
    text = printed("slurm", words, capsys, "--gpus", "4")
    assert (
        "--wrap='medical-tasks merge d.parts/*-of-2 --out d --judge openai-api/h/j --votes 3 --allow-remote h --attest"
        in text
    )
    assert (
        "exec torchrun --standalone --nproc_per_node=4 -m medical_tasks run --tasks kqa"
        in text
    )
