"""Fetches the official files of open datasets, each from the commit it is pinned at.

The right file, or none.

A file has its name when its sum is the pinned one; until then it is NAME.part, with
which the next attempt goes on. Fetching is asked for by name, so that the variables
which keep other libraries from the Hub do not stop it.
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
_TRIES: Final = 4  # in a row that bring nothing
_MOST_TRIES: Final = 100
_LONGEST_PAUSE_S: Final = 60
_MOST_BYTES: Final = 1 << 28  # of a file whose size is not known
_ADDRESS: Final = re.compile(
    r"https?://(?:[\w.-]+|\[[\da-fA-F:]+\])(?::\d{1,5})?(?:/[^\s?#@]*)?"
)

pause = time.sleep  # tests do not wait


class _FetchError(Exception):
    """An attempt that failed.

    `wait`: for how many seconds before the next one, if the server says so; `final`:
    there is none.
    """

    def __init__(
        self, said: str, *, wait: int | None = None, final: bool = False
    ) -> None:
        super().__init__(said)
        self.wait, self.final = wait, final


def build(options: Build) -> BuiltDataset:
    """Builds a dataset, in the configuration that is named or the dataset's own."""
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
        place=_fetched(definition, config) if fetch else source,
        config=config,
        folder=out or datasets_home() / name,
        options=options,
        partial=partial,
        tasks=tuple(tasks().values()),
    )


def fetch(source: DatasetSource, config: str) -> Path:
    """Fetches the official files of a configuration that are not there yet.

    Returns their folder, laid out as checkouts.
    """
    spec, label = source.spec, f"{source.spec.name}, config {config}"
    wanted, pins = source.wanted(config), source.pins(config)
    if not wanted:
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
                    _bring(client, address, pin, folder / pin.place)
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


_fetched = fetch  # in `build_dataset` its name is that of an option


def confirmed(source: DatasetSource, config: str) -> bool:
    """Asks on a terminal whether to fetch and build a configuration.

    Elsewhere, or where there is nothing to fetch, no.
    """
    pins = source.pins(config)
    on_terminal = all(
        stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr)
    )
    if (
        not pins or not on_terminal or os.environ.get("WORLD_SIZE", "1") != "1"
    ):  # processes of one run would all ask
        return False

    size = (
        f"{sum(pin.size or 0 for pin in pins) / 1e6:.1f} MB, "
        if all(pin.size for pin in pins)
        else ""
    )
    places = " and ".join(dict.fromkeys(f"github.com/{pin.repository}" for pin in pins))
    mirror = f" ({_base()})" if os.environ.get(MIRROR) else ""
    asked = f"Fetch {source.spec.title} ({size}{source.spec.licence}) from {places}{mirror} and build it? [y/N] "
    print(asked, end="", file=sys.stderr, flush=True)

    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _base() -> str:
    given = os.environ.get(MIRROR, "").rstrip("/") or _RAW
    if not _ADDRESS.fullmatch(given):
        raise UsageError(
            f"{MIRROR} must be an address that replaces {_RAW}, such as "
            "http://mirror.example:8080/raw, without a user, ? or #; got "
            f"{given.rpartition('@')[2]!r}."
        )
    return given


def _client(base: str) -> httpx.Client:
    """Opens what asks one server alone, whatever its answers redirect to."""
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
            # As a file lies there: lengths and ranges are its own.
            headers={
                "Accept-Encoding": "identity",
                "User-Agent": f"medical-tasks/{__version__}",
            },
            follow_redirects=True,
            event_hooks={"request": [stay]},
        )
    except (ImportError, ValueError, OSError, httpx.InvalidURL) as error:
        said = (
            f"{MIRROR}, HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY or SSL_CERT_FILE"
        )
        raise UsageError(
            f"{said} cannot be used to fetch files: {error}. Correct or unset it."
        ) from error


def _bring(client: httpx.Client, address: str, pin: Pin, target: Path) -> None:
    """Fetches one file, if it is not there.

    What is wrong is gone afterwards, what is right and not whole stays as `.part`.

    Example: 60 of 100 kB came, and the connection broke. They stay as NAME.part, and
    the next attempt asks for `Range: bytes=60000-`. Where the whole has another sum,
    the old part may be at fault: all is fetched anew, and then another sum is an error.
    Attempts are counted anew whenever one brought something.
    """
    if target.is_file() and pin.found(target) == pin.expected:
        return

    part = target.with_name(f"{target.name}.part")
    target.parent.mkdir(parents=True, exist_ok=True)
    idle, anew = 0, False
    try:
        for _ in range(_MOST_TRIES):
            had = _size(part)
            try:
                _receive(client, address, pin, part)
            except _FetchError as error:
                idle = 0 if _size(part) > had else idle + 1
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

            found = pin.found(part)
            if found == pin.expected:
                flush_to_disk(part)
                part.replace(target)
                return

            part.unlink()
            if not had or anew:
                raise _FetchError(f"the server has another file, {found}")

            anew = True  # what was there before may have been the damaged part

        raise _FetchError(f"cut off {_MOST_TRIES} times")
    except OSError:
        part.unlink(missing_ok=True)
        raise


def _size(part: Path) -> int:
    return part.stat().st_size if part.is_file() else 0


def _receive(client: httpx.Client, address: str, pin: Pin, part: Path) -> None:
    """Brings the rest of a file, or all of it where the server sends no rest."""
    import httpx

    have, most = _size(part), pin.size or _MOST_BYTES
    if have == pin.size:
        return

    try:
        with client.stream(
            "GET", address, headers={"Range": f"bytes={have}-"} if have else {}
        ) as response:
            have = _begin(response, part, have)
            if not have:
                part.unlink(missing_ok=True)

            size = _announced(response, have) or pin.size
            if size is not None and size != (pin.size or size):
                part.unlink(missing_ok=True)
                raise _FetchError(
                    f"the server has a file of {size:,} bytes", final=True
                )

            progress = Progress(
                f"fetch {part.stem}, kB", (size or 0) // 1000, done=have // 1000
            )
            with part.open("ab") as file, progress:
                for chunk in response.iter_bytes():
                    have += len(chunk)
                    if have > most:
                        part.unlink()
                        raise _FetchError(
                            f"more than {most:,} bytes are sent", final=True
                        )

                    file.write(chunk)
                    progress.advance_to(have // 1000)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        # nobody waits long on a closed network
        away = isinstance(error, httpx.ConnectError | httpx.ConnectTimeout)
        raise _FetchError(str(error) or type(error).__name__, final=away) from error

    if pin.size is not None and have < pin.size:
        raise _FetchError(f"cut off after {have:,} bytes")


def _announced(response: httpx.Response, have: int) -> int:
    """The whole size of a file, of which so many bytes are there.

    0 where the server does not say.
    """
    length = response.headers.get("Content-Length", "")
    plain = length.isdecimal() and "Content-Encoding" not in response.headers
    return have + int(length) if plain else 0


def _begin(response: httpx.Response, part: Path, have: int) -> int:
    """Looks at the head of an answer; returns the number of bytes that it goes on after."""
    status, said = (
        response.status_code,
        f"the server answers {response.status_code} {response.reason_phrase}",
    )
    if status == 200:
        return 0

    if status == 206 and response.headers.get("Content-Range", "").startswith(
        f"bytes {have}-"
    ):
        return have

    if status == 206 or (status == 416 and have):
        part.unlink(missing_ok=True)  # the next attempt asks for the whole file
        raise _FetchError(said, wait=0)

    wait = response.headers.get("Retry-After", "")
    again = status == 429 or status >= 500
    raise _FetchError(
        said, wait=int(wait[:6]) if wait.isdecimal() else None, final=not again
    )
