"""The seeded sample: proportions, independence of order, patients on one side alone, and against a plain computation."""

from __future__ import annotations

import hashlib
import random
from collections import defaultdict

from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.benchmarks.doclens.mimic_data import Candidate, Sampler, largest_remainder
from medical_tasks.benchmarks.doclens.mimic_report import TRAIN_KINDS, Kind, Report

HEAD, CHEST, NECK = Kind("CT", "head"), Kind("CT", "chest"), Kind("MR", "neck")
REPORT = Report(findings="", impression="")


def candidates(seed: int, *, patients: int, reports: int) -> list[Candidate]:
    draw = random.Random(seed)
    return [
        Candidate(
            id=str(number),
            patient_id=str(draw.randrange(patients)),
            kind=draw.choices([HEAD, CHEST, NECK], [7, 3, 1])[0],
            report=REPORT,
        )
        for number in range(reports)
    ]


def drawn(
    reports: list[Candidate], *, sample: int = 20, train_each: int = 5, seed: int = 0
) -> dict[str, list[Candidate]]:
    sampler = Sampler(sample=sample, train_each=train_each, train_kinds=TRAIN_KINDS, seed=seed)
    for each in reports:
        sampler.add(each)
    return sampler.split()


def test_largest_remainder() -> None:
    # By hand: 200 of 1000 is a fifth of each; 6.666, 2.5 and 0.833 of 10 have wholes 6, 2, 0, the rest to .833 and .666.
    for counts, size, shares in (
        ((500, 300, 200), 200, (100, 60, 40)),
        ((8, 3, 1), 10, (7, 2, 1)),
        ((3,), 3, (3,)),
        ((), 0, ()),
    ):
        kinds = (HEAD, CHEST, NECK)[: len(counts)]
        assert largest_remainder(dict(zip(kinds, counts, strict=True)), size) == dict(zip(kinds, shares, strict=True))
    # Of equal remainders the first by name: CT chest before CT head.
    assert largest_remainder({HEAD: 1, CHEST: 1}, 1) == {HEAD: 0, CHEST: 1}


@settings(deadline=None, max_examples=200)
@given(st.lists(st.integers(1, 500), min_size=1, max_size=14), st.data())
def test_laws_of_shares(numbers: list[int], data: st.DataObject) -> None:
    counts = {Kind("CT", str(place)): number for place, number in enumerate(numbers)}
    size = data.draw(st.integers(0, sum(numbers)))
    shares = largest_remainder(counts, size)
    assert sum(shares.values()) == size
    for kind, count in counts.items():
        assert 0 <= shares[kind] <= count
        assert abs(shares[kind] - size * count / sum(numbers)) < 1


def by_rank(split: str, reports: list[Candidate]) -> list[Candidate]:
    return sorted(reports, key=lambda each: hashlib.sha256(f"0/{split}/{each.id}".encode()).digest())


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 1000), st.integers(5, 200))
def test_it_is_what_holding_everything_gives(seed: int, patients: int) -> None:
    reports = candidates(seed, patients=patients, reports=150)
    of_kind: dict[Kind, list[Candidate]] = defaultdict(list)
    for each in reports:
        of_kind[each.kind].append(each)
    shares = largest_remainder({kind: len(each) for kind, each in of_kind.items()}, 20)
    test = [each for kind, share in shares.items() for each in by_rank("test", of_kind[kind])[:share]]
    patients_of_test = {each.patient_id for each in test}
    train = []
    for kind in (HEAD, CHEST):
        first: dict[str, Candidate] = {}
        for each in by_rank("train", of_kind[kind]):
            first.setdefault(each.patient_id, each)
        train += [each for each in first.values() if each.patient_id not in patients_of_test][:5]
    random.Random(seed).shuffle(reports)
    found = drawn(reports)
    assert found["test"] == sorted(test, key=lambda each: int(each.id))
    assert found["train"] == sorted(train, key=lambda each: int(each.id))


def test_a_patient_with_all_reports_has_no_train_split() -> None:
    found = drawn(candidates(1, patients=1, reports=100))
    assert len(found["test"]) == 20
    assert found["train"] == []


def test_what_is_held_does_not_grow() -> None:
    sampler = Sampler(sample=4, train_each=3, train_kinds=(HEAD,), seed=0)
    for each in candidates(2, patients=5_000, reports=20_000):
        sampler.add(each)
    assert sampler.counts.total() == 20_000
    assert all(len(lowest._heap) == 4 for lowest in sampler._test.values())
    held = sampler._train[HEAD]
    assert len(held._held) == 7
    assert len(held._heap) < 50
