from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.benchmarks.archehr_qa.construction.posts import (
    filter_posts,
    keyword_finder,
    keyword_lists,
    load_posts,
    read_keywords,
)
from medical_tasks.errors import MedicalTasksError
from tests.benchmarks.archehr_qa.construction.own_files import POSTS, SECRET, read_lines, write_csv, write_sources

CASES = json.loads(Path(__file__).with_name("cases").joinpath("filter.json").read_text(encoding="utf-8"))


def test_whole_words_of_any_case() -> None:
    for list_name, text, found in CASES["test_whole_words_of_any_case"]:
        assert keyword_finder(keyword_lists()[list_name])(text) == found, text
    # The paper's keywords, counted in its supplement (Other Details); ours are these and more, each once.
    assert {name: len(words) for name, words in keyword_lists().items()} == {"paper": 16, "ours": 35}
    assert keyword_lists()["ours"][:16] == keyword_lists()["paper"]
    assert all(len(set(words)) == len(words) for words in keyword_lists().values())


@given(st.lists(st.sampled_from(["ward", "the", "night ward", "bed", "x"]), max_size=12))
@settings(deadline=None, max_examples=60)
def test_found_as_a_search_with_blanks_finds_them(words: list[str]) -> None:
    text = " ".join(words)
    expected = [each for each in ("bed", "night ward", "ward") if f" {each} " in f" {text} "]
    assert keyword_finder(("ward", "night ward", "bed"))(text.upper()) == expected


def test_what_is_kept_and_counted(tmp_path: Path) -> None:
    source, folder = write_sources(tmp_path / "src"), tmp_path / "own"
    made = filter_posts(source / "posts.csv", folder, keywords="ours")
    assert (made["posts"], made["empty"], made["kept"]) == (5, 1, 3)
    assert {word: count for word, count in made["by_keyword"].items() if count} == {
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
    assert posts[2].text == "He was hospitalised in intensive care for the wheeze. Was the inhaler wrong?"
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}
    assert SECRET not in (folder / "filter.json").read_text()
    assert filter_posts(source / "posts.csv", folder, keywords="ours") == made
    lines = tmp_path / "posts.jsonl"
    lines.write_text("".join(json.dumps({"id": each[0], "text": each[1]}) + "\n" for each in POSTS))
    filter_posts(lines, tmp_path / "other", keywords="ours")
    assert read_lines(tmp_path / "other" / "posts.jsonl") == read_lines(folder / "posts.jsonl")
    words = tmp_path / "words.txt"
    words.write_text("# of skin\nDry   Skin\n\n")
    with pytest.raises(MedicalTasksError, match="holds the messages of another filter"):
        filter_posts(source / "posts.csv", folder, keywords=str(words))
    assert filter_posts(source / "posts.csv", tmp_path / "third", keywords=str(words))["by_keyword"] == {"dry skin": 1}
    # A changed file is reported.
    (folder / "posts.jsonl").write_text((folder / "posts.jsonl").read_text().replace("ICU", "ward"))
    with pytest.raises(MedicalTasksError, match=r"posts.jsonl: was changed or moved away since it was written"):
        load_posts(folder)


@pytest.mark.parametrize(("header", "rows", "message"), CASES["test_messages_that_are_none"])
def test_messages_that_are_none(tmp_path: Path, header: list[str], rows: list[list[str]], message: str) -> None:
    path = write_csv(tmp_path / "posts.csv.gz", header, rows)
    with pytest.raises(MedicalTasksError, match=message) as caught:
        filter_posts(path, tmp_path / "own")
    assert SECRET not in str(caught.value)
    assert not (tmp_path / "own" / "filter.json").exists()


def test_keywords_that_are_none(tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    none, odd = (b"", b"# x\n"), ((b"ok\n--\n", "line 2 must hold"), (b"\xb5", "not UTF-8"))
    for content, message in (*((each, "has no keyword") for each in none), *odd):
        path.write_bytes(content)
        with pytest.raises(MedicalTasksError, match=message):
            read_keywords(path)
    with pytest.raises(MedicalTasksError, match="no such file"):
        read_keywords(tmp_path / "none.txt")
