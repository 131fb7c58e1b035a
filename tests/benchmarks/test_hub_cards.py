from __future__ import annotations

from pathlib import Path

from medical_tasks.data.manifest import check_cards, write_cards
from tests.support import ROOT, own_datasets


def test_the_checked_in_files_are_as_generated() -> None:
    assert check_cards() == []
    assert check_cards(ROOT / "dataset_builders") == []
    assert write_cards() == []


def test_changed_and_missing_files_are_named_and_rewritten(tmp_path: Path) -> None:
    names = list(own_datasets())
    # doclens_own, kqa_own and medcalc_own are each user's own texts: no leaderboard.
    assert len(write_cards(tmp_path)) == 3 * len(names) - 3 >= 2
    for name in names:
        (tmp_path / name / "build.py").write_text("")
    assert check_cards(tmp_path) == []
    card, croissant, script = (
        tmp_path / names[0] / name
        for name in ("README.md", "croissant.json", "build.py")
    )
    leaderboards, needless = (
        tmp_path / names[0] / "eval.yaml",
        tmp_path / "doclens_own" / "eval.yaml",
    )
    leaderboards.unlink()
    needless.write_text("")
    card.write_text(card.read_text() + "more")
    croissant.unlink()
    script.unlink()
    (tmp_path / "stray").mkdir()
    (tmp_path / "stray" / "README.md").write_text("")
    assert check_cards(tmp_path) == [
        f"{script}: missing; every dataset has its builder class there",
        f"{card}: differs from the specs. Write it again with: make manifest",
        f"{croissant}: is missing. Write it with: make manifest",
        f"{leaderboards}: is missing. Write it with: make manifest",
        f"{needless}: the dataset has no leaderboard; remove it",
        f"{tmp_path / 'stray'}: belongs to no dataset of the suite",
    ]
    assert write_cards(tmp_path) == [card, croissant, leaderboards]
    assert "more" not in card.read_text()[-4:]
