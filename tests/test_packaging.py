"""What a plain `pip install` brings: the wheel is built, unpacked elsewhere and used."""

from __future__ import annotations

import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.support import PLAIN_INSTALL, ROOT, run_python

pytestmark = pytest.mark.slow


def _build(kind: str, source: Path, out: Path) -> None:
    """Builds without the network, from the environment's own setuptools."""
    code = f"import sys; from setuptools import build_meta; build_meta.build_{kind}(sys.argv[1])"
    out.mkdir(exist_ok=True)
    run_python("-c", code, str(out), cwd=source)


def _contents(wheel: Path) -> dict[str, int]:
    with zipfile.ZipFile(wheel) as packed:
        return {member.filename: member.CRC for member in packed.infolist()}


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The unpacked wheel of the sdist, which is that of the checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    files = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if files.returncode != 0:
        pytest.skip("not a git checkout")
    for name in filter(None, files.stdout.split("\n")):
        if (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes((ROOT / name).read_bytes())
    _build("sdist", source, folder)
    (sdist,) = folder.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    unpacked_sdist = folder / sdist.name.removesuffix(".tar.gz")
    assert (unpacked_sdist / "CHANGELOG.md").is_file()
    assert not (unpacked_sdist / "tests").exists()
    _build("wheel", unpacked_sdist, folder)
    _build("wheel", source, folder / "direct")
    (wheel,) = folder.glob("*.whl")
    assert _contents(wheel) == _contents(folder / "direct" / wheel.name)
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(folder / "site")
    return folder / "site"


def _run(code: str, site: Path, cwd: Path) -> str:
    environment = {
        "PYTHONPATH": str(site),
        "HF_HUB_OFFLINE": "1",
        "HF_HOME": str(cwd / "hf"),
    }
    # -P keeps the working directory out of the path; PYTHONPATH comes before the
    # editable install's finder.
    return run_python("-P", "-c", code, cwd=cwd, environment=environment)


def test_the_wheel_holds_the_package_and_the_hub_folders_alone(unpacked: Path) -> None:
    top = {
        path.name for path in unpacked.iterdir() if not path.name.endswith(".dist-info")
    }
    assert top == {"medical_tasks"}
    assert (unpacked / "medical_tasks" / "py.typed").is_file()
    assert (
        unpacked / "medical_tasks" / "construct" / "skeleton" / "benchmark.yaml"
    ).is_file()
    for name in ("build.py", "README.md", "croissant.json"):
        assert (
            unpacked / "medical_tasks" / "hub_datasets" / "medcalc_bench" / name
        ).is_file()
    for name in ("medcalc.py", "README.md", "requirements.txt", "app.py"):
        assert (unpacked / "medical_tasks" / "hub_metrics" / "medcalc" / name).is_file()


def test_the_wheel_builds_scores_and_serves_evaluate_from_any_folder(
    unpacked: Path, tmp_path: Path
) -> None:
    code = (
        "import medical_tasks\n"
        "from medical_tasks.cli.entry import main\n"
        "print(medical_tasks.__file__)\n"
        "assert main(['build', 'medcalc_bench', '--config', 'demo', '--out', 'data']) == 0\n"
        "words = ['run', '--tasks', 'medcalc', '--config', 'demo', '--data', 'data', '--model', 'baseline/reference']\n"
        "assert main(words) == 0\n"
    )
    output = _run(code, unpacked, tmp_path)
    assert output.splitlines()[0] == str(unpacked / "medical_tasks" / "__init__.py")
    assert "100.0" in output
    code = "import evaluate\nimport medical_tasks\nprint(evaluate.load(medical_tasks.metric_path('medcalc')).name)"
    assert "medcalc" in _run(PLAIN_INSTALL + code, unpacked, tmp_path)
