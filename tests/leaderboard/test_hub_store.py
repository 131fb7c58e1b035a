from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from medical_tasks.errors import MissingError, UsageError
from medical_tasks.leaderboard import storage
from medical_tasks.leaderboard.storage import AlreadyStoredError, HubStorage
from tests.leaderboard.fake_hub import REPO, TOKEN, FakeHub

# huggingface_hub uploads LFS objects by a spelling that httpx discourages.
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")


@pytest.fixture
def hub() -> Iterator[FakeHub]:
    with FakeHub() as server:
        yield server


def store(
    hub: FakeHub, *, token: str = TOKEN, deadline_s: float = 60.0, repo: str = REPO
) -> HubStorage:
    return HubStorage(
        repo, token, endpoint=hub.endpoint, deadline_s=deadline_s, first_wait_s=0.001
    )


def test_files_round_trip(hub: FakeHub) -> None:
    first, second = store(hub), store(hub)
    assert first.names() == []
    first.create("events/ab/0001.json", b"{}")
    first.create("submissions/ab/package.zip", bytes(range(256)))
    assert second.read("submissions/ab/package.zip") == bytes(range(256))
    assert second.read("events/ab/0001.json") == b"{}"
    # Neither the README nor .gitattributes is a file of the store; the listing has several
    # pages.
    assert second.names() == ["events/ab/0001.json", "submissions/ab/package.zip"]
    assert (
        second.names("events/")
        == second.names("events/ab/00")
        == ["events/ab/0001.json"]
    )
    assert (
        second.names("nothing/")
        == second.names("events/zz/")
        == second.names("../x")
        == []
    )
    assert [commit.title.split()[:2] for commit in hub.commits[1:]] == [
        ["Add", "events/ab/0001.json"],
        ["Add", "submissions/ab/package.zip"],
    ]


def test_a_name_is_stored_once(hub: FakeHub) -> None:
    store(hub).create("a", b"first")
    for content in (b"second", b"first"):
        with pytest.raises(
            AlreadyStoredError, match="a: is in the store already; nothing was changed"
        ):
            store(hub).create("a", content)
    assert hub.head.files["a"] == b"first"
    assert len(hub.commits) == 2


def test_a_commit_in_between_is_retried_and_keeps_its_name(
    hub: FakeHub,
) -> None:
    hub.before_commit = partial(hub.add, "Another", "b", b"other")
    store(hub).create("a", b"mine")
    assert (hub.head.files["a"], hub.head.files["b"]) == (b"mine", b"other")
    for name, content in (("c", b"mine"), ("d", b"other")):
        before = len(hub.commits)
        hub.before_commit = partial(hub.add, "Another", name, content)
        with pytest.raises(AlreadyStoredError):
            store(hub).create(name, b"mine")
        assert hub.head.files[name] == content
        assert len(hub.commits) == before + 1


def test_equal_bytes_of_another_writer_are_a_conflict(
    hub: FakeHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Where the head has the same bytes already, huggingface_hub sends no commit and
    # reports success.
    hub_storage = store(hub)
    head = hub_storage._head

    def then_another() -> str:
        current = head()
        if "a" not in hub.head.files:
            hub.add("Another", "a", b"same")
        return current

    monkeypatch.setattr(hub_storage, "_head", then_another)
    with pytest.raises(AlreadyStoredError):
        hub_storage.create("a", b"same")
    assert "commit" not in hub.requests


@pytest.mark.parametrize("name", ["a", "a.zip"])
@pytest.mark.parametrize("fault", [429, 500, 503, 409, 412, "lost"])
def test_temporary_faults_are_retried(
    hub: FakeHub, fault: int | str, name: str
) -> None:
    hub.faults["commit"] = [fault, fault] if fault != "lost" else [fault]
    store(hub).create(name, b"mine")
    assert hub.head.files[name] == b"mine"
    hub.faults |= {"tree": [502, 429], "refs": [502, 429], "resolve": [500]}
    assert store(hub).names() == [name]
    assert store(hub).read(name) == b"mine"
    assert len(hub.commits) == 2  # stored once, also where the reply was lost
    # a stored object is not sent again
    assert hub.objects.requests == (["PUT", "GET"] if name == "a.zip" else [])


class Clock:
    """Time that passes only by waiting, however busy the machine is."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    fake_clock = Clock()
    monkeypatch.setattr(storage, "time", fake_clock)
    return fake_clock


def test_lasting_faults_and_offline_mode_are_reported(
    hub: FakeHub, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
        with pytest.raises(
            MissingError,
            match="HF_HUB_OFFLINE is set, so nothing is asked of the Hub. Unset it",
        ):
            store(hub).names()
    assert (clock.now, hub.requests) == (0.0, [])
    hub.faults["tree"] = [503] * 10_000
    with pytest.raises(
        MissingError,
        match=r"org/board of the Hub, list all files: the Hub is in trouble .*\(503\)",
    ):
        store(hub, deadline_s=60.0).names()
    assert 50.0 - storage._LONGEST_WAIT_S < clock.now < 60.0
    assert 10 < hub.requests.count("tree") < 60


def test_a_package_is_an_lfs_object(
    hub: FakeHub, caplog: pytest.LogCaptureFixture
) -> None:
    hub_storage = store(hub)
    hub_storage.create("submissions/ab/package.zip", b"PK\x03\x04" * 1000)
    assert [word for word in hub.requests if word in ("batch", "verify", "commit")] == [
        "batch",
        "verify",
        "commit",
    ]
    assert hub.objects.requests == ["PUT"]
    # The reply redirects to another host, which does not get the token.
    assert store(hub).read("submissions/ab/package.zip") == b"PK\x03\x04" * 1000
    assert hub.objects.requests == ["PUT", "GET"]
    assert caplog.messages == []
    with pytest.raises(AlreadyStoredError):
        hub_storage.create("submissions/ab/package.zip", b"other")


def test_a_refused_upload_is_reported_at_once(hub: FakeHub) -> None:
    hub.objects.faults = [403]
    with pytest.raises(
        MissingError, match=r"store a.zip: refused \(403\)\. Set HF_TOKEN"
    ):
        store(hub).create("a.zip", b"package")
    assert hub.objects.requests == ["PUT"]
    hub.faults["batch"] = [413]
    with pytest.raises(MissingError, match=r"store b.zip: refused \(413"):
        store(hub).create("b.zip", b"package")
    assert len(hub.commits) == 1


def test_a_hub_without_an_answer_times_out(hub: FakeHub) -> None:
    hub.faults["refs"] = ["hang"]
    with pytest.raises(
        MissingError,
        match=r"store a: the Hub is not reached \(TimeoutError: no answer in .* nothing is stored twice",
    ):
        store(hub, deadline_s=0.2).create("a", b"x")
    assert len(hub.commits) == 1


@pytest.mark.parametrize(
    ("status", "token"), [(401, "hf_" + "wrongwrongwrong"), (403, TOKEN)]
)
def test_a_refused_token_is_reported_without_the_token(
    hub: FakeHub, status: int, token: str
) -> None:
    hub_storage = store(hub, token=token)
    hub.faults["commit"] = [403]
    message = (
        rf"refused \({status}\)\. Set HF_TOKEN to a token that may write to org/board"
    )
    with pytest.raises(MissingError, match=message) as caught:
        hub_storage.create("a", b"x")
    assert token not in repr(hub_storage) + str(caught.value)
    assert len(hub.commits) == 1


def test_missing_repositories_and_files(hub: FakeHub) -> None:
    with pytest.raises(
        MissingError,
        match=r"org/nowhere of the Hub, list .*: not found \(404\).*hf repos create org/nowhere",
    ):
        store(hub, repo="org/nowhere").names("events/")
    with pytest.raises(MissingError, match=r"read a: not found \(404\)"):
        store(hub).read("a")
    with pytest.raises(
        UsageError,
        match="'nowhere': is not the name of a repository of the Hub, OWNER/NAME",
    ):
        HubStorage("nowhere")
    with FakeHub() as closed:
        endpoint = closed.endpoint
    with pytest.raises(MissingError, match="the Hub is not reached"):
        HubStorage(
            REPO, TOKEN, endpoint=endpoint, deadline_s=0.2, first_wait_s=0.01
        ).names()


def test_many_writers_lose_nothing(hub: FakeHub) -> None:
    stores = [store(hub, deadline_s=30) for _ in range(3)]

    def write(number: int) -> str:
        try:
            stores[number % 3].create(f"n{number // 2}", b"%d" % number)
        except AlreadyStoredError:
            return ""
        return f"n{number // 2}"

    with ThreadPoolExecutor(8) as threads:
        outcomes = sorted(filter(None, threads.map(write, range(8))))
    # Two writers wanted each name, and one of them was refused.
    assert outcomes == stores[0].names() == [f"n{number}" for number in range(4)]
    assert len(hub.commits) == 5
