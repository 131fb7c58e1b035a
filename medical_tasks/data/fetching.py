"""Fetches the official files of open datasets, each from its pinned commit.

A file gets its name only if its checksum is the pinned one; until then it is NAME.part, and the
next attempt resumes from it. Fetching is always explicit, so the variables that keep other
libraries off the Hub do not stop it.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from medical_tasks._version import __version__
from medical_tasks.catalog import dataset_source, dataset_spec, tasks
from medical_tasks.data.building import BuiltDataset, build_source, write_error
from medical_tasks.data.dataset_source import DatasetSource, Pin, steps_to_get
from medical_tasks.data.dataset_store import flush_to_disk
from medical_tasks.errors import MissingError, UsageError, doing
from medical_tasks.io.files import folder_lock
from medical_tasks.io.progress import Progress
from medical_tasks.io.user_folders import DATA_VARIABLE, datasets_home

if TYPE_CHECKING:
    import httpx

    from medical_tasks.options import Build

MIRROR: Final = "MEDICAL_TASKS_MIRROR"
_RAW: Final = "https://raw.githubusercontent.com"
_TRIES: Final = 4  # in a row that receive nothing
_MOST_TRIES: Final = 100
_LONGEST_PAUSE_S: Final = 60
_MOST_BYTES: Final = 1 << 28  # for a file of unknown size
_ADDRESS: Final = re.compile(
    r"https?://(?:[\w.-]+|\[[\da-fA-F:]+\])(?::\d{1,5})?(?:/[^\s?#@]*)?"
)

pause = time.sleep  # tests do not wait


class _FetchError(Exception):
    """A failed attempt.

    `wait`: the seconds before the next attempt, if the server states them. `final`: whether
    there is no next attempt.
    """

    def __init__(
        self, message: str, *, wait: int | None = None, final: bool = False
    ) -> None:
        super().__init__(message)
        self.wait, self.final = wait, final


def build(options: Build) -> BuiltDataset:
    """Builds a dataset, in the given configuration or the dataset's default."""
    config = options.config or dataset_spec(options.dataset).default_config
    with doing(f"build {options.dataset}, configuration {config}"):
        return build_dataset(
            options.dataset,
            source=options.source,
            config=config,
            out=options.out,
            options={"seed": options.seed, "n": options.n, "level": options.level},
            partial=options.partial,
            fetch=options.fetch,
        )


def build_dataset(
    name: str,
    *,
    source: Path | None,
    config: str,
    out: Path | None = None,
    options: Mapping[str, int | None] | None = None,
    partial: bool = False,
    fetch: bool = False,
) -> BuiltDataset:
    """Builds or, with `fetch`, fetches and builds one configuration of a dataset.

    See `data.building.build_source`.
    """
    if fetch and source is not None:
        raise UsageError(
            f"--fetch and --source {source}: the files come from one or the other. Leave one out."
        )

    definition = dataset_source(name)
    return build_source(
        definition,
        source_path=_fetched(definition, config) if fetch else source,
        config=config,
        folder=out or datasets_home() / name,
        options=options,
        partial=partial,
        tasks=tuple(tasks().values()),
    )


def fetch(source: DatasetSource, config: str) -> Path:
    """Fetches the missing official files of a configuration.

    Returns their folder, laid out like checkouts.
    """
    spec, label = source.spec, f"{source.spec.name}, config {config}"
    files, pins = source.files_of(config), source.pins(config)
    if not files:
        raise UsageError(
            f"{label}: made from this package alone, nothing is fetched. Leave out --fetch."
        )

    by_hand = steps_to_get(spec, by_hand=True)
    if not pins:
        others = [name for name in spec.configs if source.pins(name)]
        *most, last = others or [""]
        named = f"{', '.join(most)} and {last}" if most else last
        why = f"only {named} can be" if others else "only open datasets are"
        raise UsageError(f"{label}: is not fetched, {why}.\n{by_hand}")

    base = _base()
    folder = datasets_home() / "downloads" / spec.name / config
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with folder_lock(folder), _client(base) as client:
            for pin in pins:
                address = f"{base}/{pin.repository}/{pin.commit}/{quote(pin.path)}"
                try:
                    _fetch_file(client, address, pin, folder / pin.checkout_path)
                except _FetchError as error:
                    size = "" if pin.size is None else f"{pin.size:,} bytes, "
                    raise MissingError(
                        f"{label}: {address} cannot be fetched: {error}. Expected: "
                        f"{size}{pin.expected}. Give the command again later, name a mirror "
                        f"(export {MIRROR}=URL), or get the files by hand.\n{by_hand}"
                    ) from error
    except OSError as error:
        raise write_error(folder, error, work="file", other=DATA_VARIABLE) from error

    return folder


_fetched = fetch  # `build_dataset` has an argument `fetch`


def confirmed(source: DatasetSource, config: str) -> bool:
    """Asks on a terminal whether to fetch and build a configuration.

    Without a terminal, or with nothing to fetch, the answer is no.
    """
    pins = source.pins(config)
    on_terminal = all(
        stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr)
    )
    # The processes of a distributed run would all ask.
    is_distributed = os.environ.get("WORLD_SIZE", "1") != "1"
    if not pins or not on_terminal or is_distributed:
        return False

    size = (
        f"{sum(pin.size or 0 for pin in pins) / 1e6:.1f} MB, "
        if all(pin.size for pin in pins)
        else ""
    )
    places = " and ".join(dict.fromkeys(f"github.com/{pin.repository}" for pin in pins))
    mirror = f" ({_base()})" if os.environ.get(MIRROR) else ""
    question = f"Fetch {source.spec.title} ({size}{source.spec.licence}) from {places}{mirror} and build it? [y/N] "
    print(question, end="", file=sys.stderr, flush=True)

    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _base() -> str:
    base = os.environ.get(MIRROR, "").rstrip("/") or _RAW
    if not _ADDRESS.fullmatch(base):
        raise UsageError(
            f"{MIRROR} must be an address that replaces {_RAW}, such as "
            "http://mirror.example:8080/raw, without a user, ? or #; got "
            f"{base.rpartition('@')[2]!r}."
        )
    return base


def _client(base: str) -> httpx.Client:
    """Opens a client for one server, which follows no redirect to another."""
    import httpx

    def stay(request: httpx.Request) -> None:
        if (request.url.scheme, request.url.netloc) != (home.scheme, home.netloc):
            there = f"{request.url.scheme}://{request.url.netloc.decode()}"
            raise _FetchError(
                f"it redirects to another server, {there}, not followed", final=True
            )

    try:
        home = httpx.URL(base)
        return httpx.Client(
            timeout=httpx.Timeout(30, connect=10),
            # Without compression, so that lengths and ranges are the file's.
            headers={
                "Accept-Encoding": "identity",
                "User-Agent": f"medical-tasks/{__version__}",
            },
            follow_redirects=True,
            event_hooks={"request": [stay]},
        )
    except (ImportError, ValueError, OSError, httpx.InvalidURL) as error:
        variables = (
            f"{MIRROR}, HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY or SSL_CERT_FILE"
        )
        raise UsageError(
            f"{variables} cannot be used to fetch files: {error}. Correct or unset it."
        ) from error


def _fetch_file(client: httpx.Client, address: str, pin: Pin, target: Path) -> None:
    """Fetches one file unless it exists.

    A wrong file is removed; an incomplete one stays as `.part`.

    Example: 60 of 100 kB arrived before the connection broke. They stay as NAME.part, and the
    next attempt requests `Range: bytes=60000-`. If the whole file has a wrong checksum, the
    old part may be damaged: everything is fetched again, and then a wrong checksum is an
    error. The count of attempts restarts whenever one received something.
    """
    if target.is_file() and pin.checksum_of(target) == pin.expected:
        return

    partial_file = target.with_name(f"{target.name}.part")
    target.parent.mkdir(parents=True, exist_ok=True)
    idle, restarted = 0, False
    try:
        for _ in range(_MOST_TRIES):
            size_before = _size(partial_file)
            try:
                _receive(client, address, pin, partial_file)
            except _FetchError as error:
                idle = 0 if _size(partial_file) > size_before else idle + 1
                if error.final or idle == _TRIES:
                    raise

                wait = min(
                    error.wait if error.wait is not None else 2**idle, _LONGEST_PAUSE_S
                )
                print(
                    f"note: {address}: {error}; trying again in {wait} s",
                    file=sys.stderr,
                )
                pause(wait)
                continue

            checksum = pin.checksum_of(partial_file)
            if checksum == pin.expected:
                flush_to_disk(partial_file)
                partial_file.replace(target)
                return

            partial_file.unlink()
            if not size_before or restarted:
                raise _FetchError(f"the server has another file, {checksum}")

            restarted = True  # the earlier part may have been damaged

        raise _FetchError(f"cut off {_MOST_TRIES} times")
    except OSError:
        partial_file.unlink(missing_ok=True)
        raise


def _size(partial_file: Path) -> int:
    return partial_file.stat().st_size if partial_file.is_file() else 0


def _receive(client: httpx.Client, address: str, pin: Pin, partial_file: Path) -> None:
    """Receives the rest of a file, or all of it if the server does not resume."""
    import httpx

    received, most = _size(partial_file), pin.size or _MOST_BYTES
    if received == pin.size:
        return

    try:
        with client.stream(
            "GET", address, headers={"Range": f"bytes={received}-"} if received else {}
        ) as response:
            received = _start_of_answer(response, partial_file, received)
            if not received:
                partial_file.unlink(missing_ok=True)

            size = _announced_size(response, received) or pin.size
            if size is not None and size != (pin.size or size):
                partial_file.unlink(missing_ok=True)
                raise _FetchError(
                    f"the server has a file of {size:,} bytes", final=True
                )

            progress = Progress(
                f"fetch {partial_file.stem}, kB",
                (size or 0) // 1000,
                done=received // 1000,
            )
            with partial_file.open("ab") as file, progress:
                for chunk in response.iter_bytes():
                    received += len(chunk)
                    if received > most:
                        partial_file.unlink()
                        raise _FetchError(
                            f"more than {most:,} bytes are sent", final=True
                        )

                    file.write(chunk)
                    progress.advance_to(received // 1000)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        # On a closed network retries are pointless.
        unreachable = isinstance(error, httpx.ConnectError | httpx.ConnectTimeout)
        raise _FetchError(
            str(error) or type(error).__name__, final=unreachable
        ) from error

    if pin.size is not None and received < pin.size:
        raise _FetchError(f"cut off after {received:,} bytes")


def _announced_size(response: httpx.Response, received: int) -> int:
    """Returns the announced size of the whole file; 0 if the server does not state it."""
    length = response.headers.get("Content-Length", "")
    plain = length.isdecimal() and "Content-Encoding" not in response.headers
    return received + int(length) if plain else 0


def _start_of_answer(
    response: httpx.Response, partial_file: Path, received: int
) -> int:
    """Checks the status of a response; returns the number of bytes after which it resumes."""
    status, message = (
        response.status_code,
        f"the server answers {response.status_code} {response.reason_phrase}",
    )
    if status == 200:
        return 0

    if status == 206 and response.headers.get("Content-Range", "").startswith(
        f"bytes {received}-"
    ):
        return received

    if status == 206 or (status == 416 and received):
        partial_file.unlink(missing_ok=True)  # the next attempt asks for the whole file
        raise _FetchError(message, wait=0)

    wait = response.headers.get("Retry-After", "")
    temporary = status == 429 or status >= 500
    raise _FetchError(
        message, wait=int(wait[:6]) if wait.isdecimal() else None, final=not temporary
    )
