"""`site review` as a command: a process that is killed, refusals, import and export."""

from __future__ import annotations

import contextlib
import json
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from medical_tasks.cli.entry import main
from medical_tasks.site.desk.sheets import write_sheet
from medical_tasks.site.folder import last, open_site
from tests.site.desk.desk_sheets import DeskProcess, a_sheet

REVIEW = ["site", "review", "--open"]


def open_client(desk: DeskProcess, name: str) -> httpx.Client:
    origin = f"http://127.0.0.1:{desk.port}"
    headers = {"x-desk-person": name, "origin": origin}
    once = httpx.Limits(max_keepalive_connections=0)
    client = httpx.Client(base_url=origin, headers=headers, limits=once)
    assert client.get(desk.addresses[name]).status_code == 200
    return client


@pytest.mark.slow
def test_labels_survive_a_killed_server_without_duplicates(tmp_path: Path) -> None:
    path = tmp_path / "sheet.json"
    write_sheet(path, a_sheet(30))
    desk = DeskProcess(path, tmp_path / "home")
    with desk:
        addresses = dict(desk.addresses)
        assert set(addresses) == {"ann", "ben", "eve"}
        with contextlib.closing(open_client(desk, "ann")) as client:
            for number in range(30):
                label = {"id": str(number), "item": f"p{number:04}", "value": "keep"}
                assert client.post("/api/label", json=label).json()["saved"]
                if number == 14:
                    desk.kill()
                    desk.start()
                    again = client.post("/api/label", json=label).json()
                    assert (again["saved"], again["fresh"]) == (True, False)
        desk.kill()
    lines = (tmp_path / "sheet.desk" / "questions.jsonl").read_text().splitlines()
    assert [json.loads(line)["item"] for line in lines] == [
        f"p{number:04}" for number in range(30)
    ]
    # Addresses are shown once, remain valid, and are not stored.
    assert desk.addresses == addresses
    stored = "".join(file.read_text() for file in (tmp_path / "sheet.desk").iterdir())
    tokens = [address.rpartition("/")[2] for address in addresses.values()]
    assert not any(token in stored for token in tokens)


@pytest.mark.slow
def test_a_second_desk_for_the_same_labels_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "sheet.json"
    write_sheet(path, a_sheet())
    with DeskProcess(path, tmp_path / "home"):
        assert main([*REVIEW, str(path), "--port", "0"]) == 2
    assert "a desk is open on these labels already" in capsys.readouterr().err


@pytest.fixture
def sheet(here: Path) -> Path:
    path = here / "sheet.json"
    write_sheet(path, a_sheet())
    return path


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--host", "0.0.0.0"], 2, "every address of this machine"),
        (["--host", "192.0.2.7"], 4, "would cross the network in the clear"),
        (["--tls-cert", "c.pem"], 2, "belong together"),
        (["--tls-cert", "c.pem", "--tls-key", "k.pem"], 3, "no such file"),
        (["--port", "70000"], 2, "from 0 to 65535"),
        (["--export", "a", "--import", "b"], 2, "one at a time"),
        (["--sheet", "other"], 2, "there are questions"),
        (["--import", "absent.csv"], 3, "absent.csv"),
    ],
)
def test_wrong_use(
    sheet: Path,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    code: int,
    message: str,
) -> None:
    assert main([*REVIEW, str(sheet), *words]) == code
    assert message in capsys.readouterr().err


def test_another_interface_needs_tls_and_an_attestation_that_is_logged(
    sheet: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("c.pem", "k.pem"):
        (here / name).write_text("")
    words = ["--host", "127.0.0.2", "--port", "0"]
    tls = ["--tls-cert", "c.pem", "--tls-key", "k.pem"]
    # Another loopback address than the desk's own counts as another interface. The guard
    # accepts it as this machine, but it needs TLS.
    assert main([*REVIEW, str(sheet), *words]) == 4
    assert "--attest-zero-retention" in capsys.readouterr().err
    assert main([*REVIEW, str(sheet), *words, *tls]) == 2
    assert "cannot be used for https" in capsys.readouterr().err


def test_a_desk_that_cannot_be_served_draws_no_addresses(
    sheet: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Addresses are printed once, so those of a failed start would be lost.
    for name in ("c.pem", "k.pem"):
        (here / name).write_text("no certificate")
    tls = ["--tls-cert", "c.pem", "--tls-key", "k.pem"]
    assert main([*REVIEW, str(sheet), *tls]) == 2
    assert "cannot be used for https" in capsys.readouterr().err
    assert not (here / "sheet.desk" / "addresses.json").exists()


def test_export_and_import_without_the_desk(
    sheet: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = "p0001,odd,ann,keep,2026-01-02T03:04:05Z,,\np0001,odd,ben,drop,,,\n"
    (here / "in.csv").write_text(f"item,stratum,rater,value,at,final,how\n{rows}")
    assert main([*REVIEW, str(sheet), "--import", "in.csv"]) == 0
    assert "2 labels are new" in capsys.readouterr().out
    assert main([*REVIEW, str(sheet), "--import", "in.csv"]) == 0
    assert "0 labels are new" in capsys.readouterr().out
    assert main([*REVIEW, str(sheet), "--export", "out.csv"]) == 0
    assert "4 of 4 items are not decided yet" in capsys.readouterr().out
    assert "p0001,odd,ann,keep" in (here / "out.csv").read_text()


def test_a_half_written_line_is_reported_at_the_next_start(
    sheet: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "sheet.desk").mkdir()
    (here / "sheet.desk" / "questions.jsonl").write_text('{"id": "1", "it')
    assert main([*REVIEW, str(sheet), "--export", "out.csv"]) == 0
    error = capsys.readouterr().err
    assert "note: " in error
    assert "line 1 is not whole" in error


def test_a_sites_labels_are_copied_to_its_review_folder_without_texts(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["site", "new", "ward", "--use", "chart-qa"]) == 0
    assert main(["site", "review", "ward"]) == 3
    assert "there is no sheet to label yet" in capsys.readouterr().err
    site = open_site(Path("ward"))
    for name in ("questions", "labels"):
        sheet = replace(a_sheet(), name=name, title=name)
        write_sheet(site.private / "sheets" / f"{name}.json", sheet)
    head = "item,stratum,rater,value,at,final,how"
    rows = [f"p{n:04},,{rater},keep,,," for n in range(4) for rater in ("ann", "ben")]
    (here / "in.csv").write_text("\n".join([head, *rows]) + "\n")
    words = ["site", "review", "ward", "--sheet", "questions"]
    assert main([*words, "--import", "in.csv"]) == 0
    text = (site.review / "questions.csv").read_text()
    assert text.count("agreed") == 8
    assert "Troponin" not in text
    entry = last(site, "review")
    assert entry is not None
    assert entry.figures["questions"] == {"items": 4, "decided": 4}
    assert main(["site", "review", "ward", "--export", "out.csv"]) == 2
    assert "add --sheet, one of labels, questions" in capsys.readouterr().err
    assert main([*words, "--export", "out.csv"]) == 0
    assert (here / "out.csv").read_text() == text
    assert main([*words, "--reviewers", "ann"]) == 2
    assert "reviewers are in its site.toml" in capsys.readouterr().err


@pytest.mark.slow
def test_a_desk_that_is_stopped_leaves_the_labels_in_the_review_folder(
    here: Path,
) -> None:
    assert main(["site", "new", "ward", "--use", "chart-qa"]) == 0
    site = open_site(Path("ward"))
    write_sheet(site.private / "sheets" / "questions.json", a_sheet())
    desk = DeskProcess(site.path, here / "private")
    with desk:
        label = {"id": "1", "item": "p0001", "value": "keep", "note": "her own words"}
        with contextlib.closing(open_client(desk, "ann")) as client:
            assert client.post("/api/label", json=label).json()["saved"]
        assert desk.stop() == 0
    text = (site.review / "questions.csv").read_text()
    assert "p0001,odd,ann,keep" in text
    assert "her own words" not in text
