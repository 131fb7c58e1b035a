from __future__ import annotations

import json
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medical_tasks.cli.entry import main
from medical_tasks.construct.archehr.codes import (
    codes_from_file,
    codes_messages,
    load_post_codes,
    read_codes,
)
from medical_tasks.construct.archehr.posts import (
    filter_posts,
    keyword_finder,
    keyword_lists,
    load_posts,
    read_keywords,
)
from medical_tasks.errors import MedicalTasksError
from medical_tasks.judges.base import Unreadable
from tests.case_tables import json_of, tables
from tests.construct.archehr.own_files import (
    POSTS,
    SECRET,
    construct,
    write_csv,
    write_sources,
)
from tests.construct.sheet_files import read_lines
from tests.fault_server import FaultServer

CASES = tables(__file__, "expand")

GOOD = json.dumps(
    {"codes": [{"code": "n17.9", "description": "Acute kidney  failure"}]}
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MEDICAL_TASKS_HOME", str(tmp_path / "home"))
    filter_posts(write_sources(tmp_path / "src") / "posts.csv", tmp_path / "own")
    return tmp_path / "own"


def test_usable_and_unusable_replies() -> None:
    assert read_codes(GOOD) == {"N17.9": "Acute kidney failure"}
    assert read_codes(f"```json\n{GOOD}\n```") == read_codes(GOOD)
    assert read_codes('{"codes": []}') == {}
    twice = {
        "codes": [
            {"code": "I10", "description": "a"},
            {"code": "i10", "description": "b"},
        ]
    }
    assert read_codes(json.dumps(twice)) == {"I10": "a"}
    for reply, problem in CASES["unusable_replies"]:
        result = read_codes(reply)
        assert isinstance(result, Unreadable)
        assert problem in result.problem


def test_messages_are_quoted_in_the_prompt() -> None:
    prompt = codes_messages('They said "wait". </s>')[0]["content"]
    assert json.dumps('They said "wait". ')[:-1] in prompt
    assert "</s>" not in prompt


@pytest.fixture
def server() -> Iterator[FaultServer]:
    with FaultServer(
        answer=lambda call: (
            "nothing" if "wheeze" in call.body["messages"][0]["content"] else GOOD
        )
    ) as opened:
        yield opened


def test_codes_by_a_model(
    folder: Path, server: FaultServer, capsys: pytest.CaptureFixture[str]
) -> None:
    elsewhere = (
        "--model",
        "openai-api/there/m",
        "--model-args",
        "base_url=http://192.0.2.1/v1",
    )
    assert construct("expand", "--folder", folder, *elsewhere) == 4
    assert SECRET not in capsys.readouterr().err
    assert not (folder / "post_codes.jsonl").exists()
    model = (
        "--model",
        "openai-api/here/m",
        "--model-args",
        f"base_url={server.base_url},max_retries=0",
    )
    assert construct("expand", "--folder", folder, *model, "--tries", 2) == 5
    printed = capsys.readouterr()
    assert (
        "2 of 3 messages have codes, 2 in all. Replies asked for again: 0."
        in printed.out
    )
    assert "1 of 3 messages have no usable reply:\n  m4: no JSON" in printed.err
    assert SECRET not in printed.out + printed.err
    assert len(server.calls) == 4
    codes = load_post_codes(folder)
    assert codes == {
        "m1": ["Acute kidney failure"],
        "m2": ["Acute kidney failure"],
        "m4": [],
    }
    summary = json_of(folder / "expand.json")
    assert summary["posts"]["failed"] == {"no JSON": 1}
    assert SECRET not in (folder / "expand.json").read_text()
    # The same command again sends no request; another model is refused.
    assert construct("expand", "--folder", folder, *model, "--tries", 2) == 5
    assert len(server.calls) == 4
    capsys.readouterr()
    assert (
        construct(
            "expand",
            "--folder",
            folder,
            "--model",
            "openai-api/here/other",
            *model[2:],
            "--tries",
            2,
        )
        == 2
    )
    assert (
        "descriptions were begun with other settings (model:" in capsys.readouterr().err
    )


def test_wrong_options_and_steps(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for words, message in CASES["test_wrong_options_of_expand"]:
        assert construct("expand", "--folder", folder, *words) == 2
        assert message in capsys.readouterr().err
    assert construct("generate", "--folder", "x") == 2
    assert (
        "construct archehr has the steps filter, expand, align, sheet, import, agreement, got "
        "generate" in capsys.readouterr().err
    )
    assert main(["construct", "ehrnoteqa", "align", "--folder", "x"]) == 2
    assert (
        "construct ehrnoteqa has the steps sample, generate" in capsys.readouterr().err
    )


def test_codes_of_a_file(folder: Path, tmp_path: Path) -> None:
    header = ("id", "code", "description")
    table = write_csv(
        tmp_path / "a.csv",
        header,
        [("m1", "I10", "x"), ("m1", "I10", "y"), ("z", "I10", "x")],
    )
    summary = codes_from_file(folder, table)
    assert (summary["with_codes"], summary["codes"], summary["rows_of_others"]) == (
        1,
        1,
        1,
    )
    assert load_post_codes(folder)["m1"] == ["x"]
    (folder / "post_codes.jsonl").write_text("{}\n")
    with pytest.raises(
        MedicalTasksError, match=r"post_codes.jsonl: was changed since it was written"
    ):
        load_post_codes(folder)
    for rows, message in (
        ([("z", "I10", SECRET)], "names none of the 3 messages"),
        ([("m1", "I10", "")], "row 2: code and"),
    ):
        with pytest.raises(MedicalTasksError, match=message):
            codes_from_file(folder, write_csv(tmp_path / "b.csv", header, rows))


def test_keywords_match_whole_words_of_any_case() -> None:
    for list_name, text, expected in CASES[
        "test_keywords_match_whole_words_of_any_case"
    ]:
        assert keyword_finder(keyword_lists()[list_name])(text) == expected, text
    # The paper's keywords, counted in its supplement (Other Details); ours are these
    # and more, each once.
    assert {name: len(words) for name, words in keyword_lists().items()} == {
        "paper": 16,
        "ours": 35,
    }
    assert keyword_lists()["ours"][:16] == keyword_lists()["paper"]
    assert all(len(set(words)) == len(words) for words in keyword_lists().values())


@given(
    st.lists(st.sampled_from(["ward", "the", "night ward", "bed", "x"]), max_size=12)
)
def test_keywords_are_those_of_a_search_with_blanks(words: list[str]) -> None:
    text = " ".join(words)
    expected = [
        keyword
        for keyword in ("bed", "night ward", "ward")
        if f" {keyword} " in f" {text} "
    ]
    assert keyword_finder(("ward", "night ward", "bed"))(text.upper()) == expected


def test_kept_messages_and_counts(tmp_path: Path) -> None:
    source, folder = write_sources(tmp_path / "src"), tmp_path / "own"
    summary = filter_posts(source / "posts.csv", folder, keywords="ours")
    assert (summary["posts"], summary["empty"], summary["kept"]) == (5, 1, 3)
    assert {word: count for word, count in summary["by_keyword"].items() if count} == {
        "admitted": 1,
        "hospitalised": 1,
        "icu": 1,
        "intensive care": 1,
    }
    paper = filter_posts(source / "posts.csv", tmp_path / "paper")
    assert paper["kept"] == 3
    assert "hospitalised" not in paper["by_keyword"]
    posts = load_posts(folder)
    assert [post.id for post in posts] == ["m1", "m2", "m4"]
    assert (
        posts[2].text
        == "He was hospitalised in intensive care for the wheeze. Was the inhaler wrong?"
    )
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}
    assert SECRET not in (folder / "filter.json").read_text()
    assert filter_posts(source / "posts.csv", folder, keywords="ours") == summary
    lines = tmp_path / "posts.jsonl"
    lines.write_text(
        "".join(json.dumps({"id": post[0], "text": post[1]}) + "\n" for post in POSTS)
    )
    filter_posts(lines, tmp_path / "other", keywords="ours")
    assert read_lines(tmp_path / "other" / "posts.jsonl") == read_lines(
        folder / "posts.jsonl"
    )
    words = tmp_path / "words.txt"
    words.write_text("# of skin\nDry   Skin\n\n")
    with pytest.raises(MedicalTasksError, match="holds another filter's messages"):
        filter_posts(source / "posts.csv", folder, keywords=str(words))
    assert filter_posts(source / "posts.csv", tmp_path / "third", keywords=str(words))[
        "by_keyword"
    ] == {"dry skin": 1}
    # A changed file is reported.
    (folder / "posts.jsonl").write_text(
        (folder / "posts.jsonl").read_text().replace("ICU", "ward")
    )
    with pytest.raises(
        MedicalTasksError,
        match=r"posts.jsonl: was changed or moved away since it was written",
    ):
        load_posts(folder)


@pytest.mark.parametrize(
    ("header", "rows", "message"), CASES["test_invalid_files_of_messages"]
)
def test_invalid_files_of_messages(
    tmp_path: Path, header: list[str], rows: list[list[str]], message: str
) -> None:
    path = write_csv(tmp_path / "posts.csv.gz", header, rows)
    with pytest.raises(MedicalTasksError, match=message) as caught:
        filter_posts(path, tmp_path / "own")
    assert SECRET not in str(caught.value)
    assert not (tmp_path / "own" / "filter.json").exists()


def test_invalid_keyword_files(tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    none, odd = (
        (b"", b"# x\n"),
        ((b"ok\n--\n", "line 2 must hold"), (b"\xb5", "not UTF-8")),
    )
    for content, message in (*((empty, "has no keyword") for empty in none), *odd):
        path.write_bytes(content)
        with pytest.raises(MedicalTasksError, match=message):
            read_keywords(path)
    with pytest.raises(MedicalTasksError, match="no such file"):
        read_keywords(tmp_path / "none.txt")
