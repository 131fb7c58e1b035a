"""F1-RadGraph by a stand-in for radgraph 0.1.18 in its own process; the real one needs weights of 400 MB.

The stand-in has the interface of that release: `RadGraph(model_type=,
model_cache_dir=)`, called with a list of texts, returns annotations by "0", "1", ...; it
prints, and a text that it cannot read is missing in the result.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.errors import MissingError, UsageError
from medical_tasks.models.radgraph import (
    f1_radgraph,
    find_radgraph,
    radgraph_annotate,
    radgraph_identity,
    staged,
)
from tests.case_tables import json_of
from tests.models.tiny_embedder import make_bert, write_json
from tests.support import ROOT

PACKAGE = """
import json, os, sys, warnings
from pathlib import Path
import transformers

warnings.simplefilter("default", category=DeprecationWarning)

class RadGraph:
    def __init__(self, batch_size=1, cuda=None, model_type=None, temp_dir=None, model_cache_dir=None):
        print("Using device: cpu")
        assert model_type in ["radgraph", "radgraph-xl", "echograph", "modern-radgraph-xl"]
        folder = Path(model_cache_dir) / model_type
        config = json.loads((folder / "config.json").read_text())
        (folder / "vocabulary" / ".lock").write_text("")
        if (folder / "weights.th").read_bytes() != b"weights":
            raise RuntimeError("Error(s) in loading state_dict")
        names = [config["dataset_reader"]["token_indexers"]["bert"]["model_name"],
                 config["model"]["embedder"]["token_embedders"]["bert"]["model_name"]]
        assert names[0] == names[1]
        self.tokenizer = transformers.PreTrainedTokenizerFast.from_pretrained(names[0])

    def __call__(self, texts):
        print(texts)
        print(texts, file=sys.stderr)
        assert isinstance(texts, list) and all(texts)
        if "crash" in texts[0]:
            raise RuntimeError(texts[0])
        if "lost" in texts[0]:
            return {}
        self.tokenizer.encode_plus("a", "b", add_special_tokens=True, return_special_tokens_mask=True)
        whole = self.tokenizer.build_inputs_with_special_tokens([7, 8])
        assert whole == [2, 7, 8, 3], whole
        entities = {}
        for number, word in enumerate(texts[0].split(), start=1):
            relations = [["modify", str(number - 1)]] if number > 1 else []
            entities[str(number)] = {"tokens": word, "label": "OBS", "start_ix": number, "end_ix": number, "relations": relations}
        return {"0": {"text": texts[0], "entities": entities}}
"""

CONFIG = {
    "dataset_reader": {
        "max_span_width": 8,
        "token_indexers": {"bert": {"model_name": "some/encoder", "max_length": 512}},
    },
    "model": {
        "embedder": {
            "token_embedders": {
                "bert": {"model_name": "some/encoder", "max_length": 512}
            }
        }
    },
}


def make_radgraph(folder: Path, *, kind: str = "radgraph-xl") -> Path:
    write_json(folder / "config.json", CONFIG)
    (folder / "weights.th").write_bytes(b"weights")
    (folder / "vocabulary").mkdir()
    (folder / "vocabulary" / f"{kind}__ner_labels.txt").write_text("\nOBS")
    make_bert(folder / "encoder")
    for weights in (folder / "encoder").glob("*.safetensors"):
        weights.unlink()
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_radgraph(tmp_path_factory.mktemp("radgraph") / "mine")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of packages with radgraph, as pip installs it."""
    site = tmp_path_factory.mktemp("site")
    (site / "radgraph").mkdir()
    (site / "radgraph" / "__init__.py").write_text(PACKAGE)
    (site / "radgraph-0.1.18.dist-info").mkdir()
    (site / "radgraph-0.1.18.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: radgraph\nVersion: 0.1.18\n"
    )
    return site


SCRIPT = """
import json, sys
sys.path.insert(0, sys.argv[1])
from medical_tasks.errors import UsageError
from medical_tasks.models.radgraph import f1_radgraph, radgraph_annotate, radgraph_identity

from transformers import PreTrainedTokenizerBase

def methods():
    return [name for name in ("encode_plus", "build_inputs_with_special_tokens") if hasattr(PreTrainedTokenizerBase, name)]

before = methods()
folder = sys.argv[2]
pairs = [("No effusion", "no effusion"), ("No effusion", "effusion"), ("", "effusion"), ("effusion", " \\n"), ("", "")]
report = {
    "partial": f1_radgraph(folder, pairs),
    "exact": f1_radgraph(folder, pairs, exact_case=True),
    "complete": f1_radgraph(folder, pairs, reward="complete"),
    "none": f1_radgraph(folder, []),
    "annotations": radgraph_annotate(["", "left \\ud800 effusion"], folder),
    "identity": radgraph_identity(folder, reward="simple"),
    "errors": [],
}
report["methods"] = [before, methods()]
for text in ("a private crash", "a private lost"):
    try:
        radgraph_annotate(["fine", text], folder)
    except UsageError as error:
        report["errors"].append(str(error))
try:
    (__import__("pathlib").Path(folder) / "weights.th").write_bytes(b"others")
    f1_radgraph(folder, pairs)
except UsageError as error:
    report["errors"].append(str(error))
print("RESULT" + json.dumps(report))
"""


@pytest.mark.slow
def test_scores_by_the_package(site: Path, tmp_path: Path) -> None:
    folder = make_radgraph(tmp_path / "mine")
    process = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(site), str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    (line,) = process.stdout.splitlines()  # the package's own lines are held back
    report: dict[str, Any] = json.loads(line.removeprefix("RESULT"))
    # "No effusion" is two entities with a relation; the lone "effusion" has none.
    assert report["partial"] == [1, 0, 0, 0, 0]
    assert report["exact"] == [pytest.approx(0.5), 0, 0, 0, 0]
    assert report["complete"] == [1, 0, 0, 0, 0]
    assert report["none"] == []
    assert report["annotations"][0] == {"entities": {}}
    assert [
        entity["tokens"] for entity in report["annotations"][1]["entities"].values()
    ] == [
        "left",
        "\ufffd",
        "effusion",
    ]
    assert (
        report["methods"][0] == report["methods"][1]
    )  # transformers is left as it was
    identity = report["identity"]
    assert (identity["model"], identity["kind"], identity["encoder"]) == (
        "mine",
        "radgraph-xl",
        "some/encoder",
    )
    assert (identity["reward"], identity["case"], identity["package"]) == (
        "simple",
        "folded",
        "radgraph 0.1.18",
    )
    crash, lost, broken = report["errors"]
    assert "mine cannot read text 2, of 15 characters (RuntimeError)" in crash
    assert "mine cannot read text 2, of 14 characters (no annotation came back)" in lost
    assert "mine: does not load with radgraph 0.1.18" in broken
    assert "private" not in crash + lost + process.stderr
    assert "RadGraph, texts: 3/3" in process.stderr
    # Nothing is written into the user's folder.
    assert [path.name for path in (folder / "vocabulary").iterdir()] == [
        "radgraph-xl__ner_labels.txt"
    ]


def test_without_the_package_or_with_an_unknown_reward(folder: Path) -> None:
    for call in (
        radgraph_identity,
        lambda path: radgraph_annotate(["a"], path),
        lambda path: f1_radgraph(path, []),
    ):
        with pytest.raises(
            MissingError, match="not installed: pip install 'radgraph==0.1.18'"
        ):
            call(folder)
    with pytest.raises(
        ValueError, match="reward must be one of simple, partial, complete; got 'all'"
    ):
        f1_radgraph(folder, [], reward="all")  # type: ignore[arg-type]


def test_a_package_that_does_not_load(
    folder: Path, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.setitem(sys.modules, "radgraph", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda _: object())
    with pytest.raises(
        MissingError,
        match="the package radgraph does not load: .* pip install 'radgraph==0.1.18'",
    ):
        radgraph_annotate(["a"], folder)


def test_messages_about_incomplete_folders(tmp_path: Path) -> None:
    steps = "hf download StanfordAIMI/RRG_scorers radgraph-xl.tar.gz"
    with pytest.raises(MissingError, match=f"no such folder.*{steps}"):
        find_radgraph(tmp_path / "none")
    folder = make_radgraph(tmp_path / "mine")
    (folder / "encoder" / "config.json").unlink()
    with pytest.raises(
        MissingError,
        match="no encoder/config.json in it.*hf download some/encoder .*--local-dir mine/encoder",
    ):
        find_radgraph(folder)
    (folder / "weights.th").unlink()
    with pytest.raises(MissingError, match=f"no weights.th in it.*{steps}"):
        find_radgraph(folder)


def test_the_labels_name_the_kind_or_else_the_folder(tmp_path: Path) -> None:
    folder = make_radgraph(tmp_path / "other", kind="another")
    with pytest.raises(
        UsageError,
        match="labels of no model that the package knows; expected those of exactly one of radgraph, ",
    ):
        find_radgraph(folder)
    for kind in ("radgraph", "echograph"):
        (folder / "vocabulary" / f"{kind}__ner_labels.txt").write_text("\nOBS")
    with pytest.raises(UsageError, match="labels of radgraph and echograph"):
        find_radgraph(folder)
    assert find_radgraph(folder.rename(tmp_path / "echograph")).kind == "echograph"


OTHER_EMBEDDER = {"token_embedders": {"bert": {"model_name": "some/other"}}}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            json.dumps(CONFIG | {"model": {"embedder": OTHER_EMBEDDER}}),
            "names two encoders, some/encoder and some/other",
        ),
        ('{"model": {}}', "is not that of a RadGraph model"),
        ("[]", "is not that of a RadGraph model"),
        ("{", "is not that of a RadGraph model"),
    ],
)
def test_messages_about_configurations(
    tmp_path: Path, content: str, message: str
) -> None:
    folder = make_radgraph(tmp_path / "mine")
    (folder / "config.json").write_text(content)
    with pytest.raises(UsageError, match=message):
        find_radgraph(folder)


def test_files_staged_for_the_package_and_the_identity(tmp_path: Path) -> None:
    folder = make_radgraph(tmp_path / "mine")
    files = find_radgraph(folder)
    with staged(files) as cache:
        model = cache / "radgraph-xl"
        config = json_of(model / "config.json")
        assert config["dataset_reader"]["token_indexers"]["bert"]["model_name"] == str(
            folder / "encoder"
        )
        assert (model / "weights.th").read_bytes() == b"weights"
    assert not cache.exists()
    assert json_of(folder / "config.json") == CONFIG
    before = files.identity()
    assert str(tmp_path) not in json.dumps(before)
    (folder / "encoder" / "model.safetensors").write_bytes(b"not read")
    assert files.identity() == before
    (folder / "encoder" / "tokenizer.json").write_text("{}")
    changed = files.identity()
    assert changed["layout"] != before["layout"]
    assert changed["weights"] == before["weights"]
    (folder / "weights.th").write_bytes(b"others")
    assert files.identity()["weights"] != before["weights"]
