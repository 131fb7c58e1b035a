"""Serves the review desk on this machine, to those who have an address of their own.

    GET  /r/TOKEN           moves the token from the address into a cookie
    GET  /                  the page
    GET  /api/state, /api/item, /api/agreement
    POST /api/label, /api/undo      answered when the label is on the disk
    GET  /labels.csv        for the adjudicator, when all is decided: ids and labels, no text

Every request must name this desk as its host, which refuses another name that was made to
resolve to this address (DNS rebinding). A request that changes something must come from
the desk's own page.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import socket
from collections.abc import Awaitable, Callable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from medical_tasks.errors import (
    IncompleteError,
    MissingError,
    UsageError,
    install_command,
)
from medical_tasks.guard.policy import withheld_outline
from medical_tasks.site.desk import pages
from medical_tasks.site.desk.agreement import agreements
from medical_tasks.site.desk.labels import Label, now
from medical_tasks.site.desk.tokens import Tokens
from medical_tasks.site.desk.work import Work, labels_text

if TYPE_CHECKING:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

_LOG: Final = logging.getLogger(__name__)
LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")
MOST_BYTES: Final = 1 << 20
"""The largest body of a request."""
LONGEST_NOTE: Final = 100_000
_LONGEST_ID: Final = 64
_HIGHEST_PORT: Final = 65535
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src data:; form-action 'none'; base-uri 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'"
)
HEADERS: Final = {
    "cache-control": "no-store",
    "content-security-policy": _POLICY,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
"""Headers of every reply."""

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]


class DeskError(Exception):
    """A refused request, with its status and the message for the page."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status, self.message = status, message


@dataclass(frozen=True, kw_only=True)
class Address:
    """The address of the desk.

    Attributes:
        host: a host name or IP address of this machine.
        port: the port.
        tls: certificate and key for https; None for http.
    """

    host: str
    port: int
    tls: tuple[Path, Path] | None = None

    @property
    def origin(self) -> str:
        """Such as `http://127.0.0.1:7861`."""
        return f"{self.scheme}://{self._named(self.host)}"

    @property
    def scheme(self) -> str:
        """Http or https."""
        return "https" if self.tls else "http"

    @property
    def hosts(self) -> frozenset[str]:
        """The hosts that a request may name: all spellings of loopback, or this host."""
        names = LOOPBACK if self.host in LOOPBACK else (self.host.lower(),)
        return frozenset(self._named(name) for name in names)

    def _named(self, host: str) -> str:
        written = f"[{host}]" if ":" in host else host
        usual = 443 if self.tls else 80
        return written if self.port == usual else f"{written}:{self.port}"


class Gate:
    """Accepts requests that name this desk as their host, and adds headers to every reply."""

    def __init__(self, app: App, address: Address) -> None:
        self._app, self._address = app, address

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answers a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = [
                    (name.encode(), value.encode()) for name, value in HEADERS.items()
                ]
                message["headers"] = [*message.get("headers", ()), *own]

            await send(message)

        hosts = [value for name, value in scope["headers"] if name == b"host"]
        named = hosts[0].decode("latin-1").lower() if len(hosts) == 1 else ""
        if named in self._address.hosts:
            try:
                await self._app(scope, receive, with_headers)
            except Exception as error:
                # Answered already; logged without its message, which may quote a note.
                _LOG.error("%s", withheld_outline(error))

            return

        body = b"This is a review desk; open it by the address that it printed.\n"
        head = [(b"content-type", b"text/plain; charset=utf-8")]
        start = {"type": "http.response.start", "status": 421, "headers": head}
        await with_headers(start)
        await with_headers({"type": "http.response.body", "body": body})


class Desk:
    """Sheets that are labelled together, and who may open them."""

    def __init__(
        self, works: Mapping[str, Work], tokens: Tokens, address: Address
    ) -> None:
        self.works, self.tokens, self.address = works, tokens, address
        # Cookies know no ports: two desks on this machine must not share one.
        self.cookie = f"desk-{address.port}"

    def person(self, request: Request) -> str:
        """The person who asks, by the cookie."""
        token = request.cookies.get(self.cookie, "")
        person = self.tokens.person(token) if token else None
        if person is None:
            raise DeskError(401, "Open the desk by the address that you were given.")
        return person

    def check_own(self, request: Request, person: str) -> None:
        """Refuses a request that is not from this desk's page, opened by the same person."""
        headers = request.headers
        origin = f"{self.address.scheme}://{headers['host']}".lower()
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        fetched = headers.get("sec-fetch-site", "same-origin")
        own = headers.get("origin", "").lower() == origin and fetched == "same-origin"
        if not own or kind != "application/json":
            raise DeskError(403, "This request does not come from the desk's page.")
        self.check_page(request, person)

    def check_page(self, request: Request, person: str) -> None:
        """Refuses a request from another person's page in the same browser."""
        named = request.headers.get("x-desk-person", "")
        if named != quote(person):
            raise DeskError(
                409,
                "Somebody else opened the desk in this browser. Open your own address again, "
                "and use one browser each.",
            )

    def work(self, request: Request, person: str) -> Work:
        """The requested sheet, or a person's first unfinished one."""
        own = {name: work for name, work in self.works.items() if person in work.people}
        name = request.query_params.get("sheet", "")
        if not own:
            raise DeskError(403, "There is no sheet for you here any more.")
        if name and name not in own:
            raise DeskError(404, "There is no such sheet for you.")
        if name:
            return own[name]

        waiting = [work for work in own.values() if not _done(work, person)]
        return (waiting or list(own.values()))[0]


def _done(work: Work, person: str) -> bool:
    progress = work.progress(person)
    return progress.done >= progress.total


def app_of(desk: Desk) -> Gate:
    """The desk as an ASGI application."""
    from starlette.applications import Starlette
    from starlette.routing import Route

    handlers: dict[str, tuple[str, Callable[[Request], Awaitable[Response]]]] = {
        "/r/{token}": ("GET", _Pages(desk).enter),
        "/": ("GET", _Pages(desk).page),
        "/assets/{digest}/{name}": ("GET", _Pages(desk).asset),
        "/labels.csv": ("GET", _Pages(desk).labels),
        "/api/state": ("GET", _Api(desk).state),
        "/api/item": ("GET", _Api(desk).item),
        "/api/agreement": ("GET", _Api(desk).agreement),
        "/api/label": ("POST", _Api(desk).label),
        "/api/undo": ("POST", _Api(desk).undo),
    }
    routes = [
        Route(path, handler, methods=[method])
        for path, (method, handler) in handlers.items()
    ]
    app: Starlette = Starlette(
        routes=routes, exception_handlers={DeskError: _refused, Exception: _refused}
    )
    app.router.redirect_slashes = False

    return Gate(app, desk.address)


def _json(content: object, status: int = 200) -> Response:
    from starlette.responses import Response

    text = json.dumps(content, ensure_ascii=True, allow_nan=False)
    return Response(text, status, media_type="application/json")


def _refused(request: Request, error: Exception) -> Response:
    """Answers a refused request: with JSON for the page's script, else with a page."""
    from starlette.responses import HTMLResponse

    status, message = (
        (error.status, error.message)
        if isinstance(error, DeskError)
        else (500, "The desk cannot answer this.")
    )
    if request.url.path.startswith("/api/"):
        return _json({"said": message}, status)

    return HTMLResponse(pages.plain_page("Review desk", message), status)


class _Pages:
    """The pages that a browser opens."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def enter(self, request: Request) -> Response:
        """Moves a token from the address into a cookie.

        The page then loads the desk by itself: after a redirect from another site a browser
        would not send a strict cookie.
        """
        from starlette.responses import HTMLResponse

        token = request.path_params["token"]
        if self._desk.tokens.person(token) is None:
            raise DeskError(
                404,
                "This address is not valid any more. Ask for a new one: it is drawn by "
                "medical-tasks site review --renew.",
            )

        page = pages.plain_page("Review desk", "The desk opens.", refresh=True)
        reply = HTMLResponse(page)
        reply.set_cookie(
            self._desk.cookie,
            token,
            path="/",
            httponly=True,
            samesite="strict",
            secure=self._desk.address.tls is not None,
        )

        return reply

    async def page(self, request: Request) -> Response:
        """The page in which somebody labels."""
        from starlette.responses import HTMLResponse

        person = self._desk.person(request)
        work = self._desk.work(request, person)
        return HTMLResponse(pages.desk_page(self._desk.works, work, person))

    async def asset(self, request: Request) -> Response:
        """The script or the style."""
        from starlette.responses import Response

        asset = pages.assets().get(request.path_params["name"])
        if asset is None or asset.address != request.url.path:
            raise DeskError(404, "There is nothing here.")
        return Response(asset.content, media_type=f"{asset.kind}; charset=utf-8")

    async def labels(self, request: Request) -> Response:
        """All labels as CSV, for the adjudicator."""
        from starlette.responses import Response

        person = self._desk.person(request)
        work = self._desk.work(request, person)
        if person != work.sheet.adjudicator:
            raise DeskError(403, "The adjudicator alone sees all labels.")

        if not all(decision.value for decision in work.decided()):
            raise DeskError(
                409, "Names are beside the labels: they wait until all is decided."
            )

        name = f'attachment; filename="{work.sheet.name}.csv"'
        return Response(
            labels_text(work),
            media_type="text/csv; charset=utf-8",
            headers={"content-disposition": name},
        )


class _Api:
    """The interface for the page's script."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def _sheet_of(self, request: Request) -> tuple[str, Work]:
        person = self._desk.person(request)
        self._desk.check_page(request, person)
        return person, self._desk.work(request, person)

    async def state(self, request: Request) -> Response:
        """A person's items in order, each with the value and the time of its label."""
        person, work = self._sheet_of(request)
        items = []
        for identifier in work.items(person):
            label = work.store.last(person, identifier)
            items.append(
                [identifier, label.value, label.at] if label else [identifier, "", ""]
            )
        return _json({"sheet": work.sheet.name, "items": items})

    async def item(self, request: Request) -> Response:
        """One item of the person's own."""
        person, work = self._sheet_of(request)
        identifier = request.query_params.get("id", "")
        if identifier not in work.items(person):
            raise DeskError(404, "There is no such item for you.")
        item = work.sheet.by_id[identifier]
        return _json(pages.item_shown(work, person, item))

    async def agreement(self, request: Request) -> Response:
        """The raters' agreement, for the adjudicator."""
        person, work = self._sheet_of(request)
        if person != work.sheet.adjudicator:
            raise DeskError(403, "The adjudicator alone sees agreement.")

        pairs = await asyncio.to_thread(agreements, work)
        waiting = work.progress(person)
        shares = [work.progress(name) for name in work.sheet.raters]

        return _json(
            {
                "lines": pages.agreement_lines(pairs),
                "raters": [f"{share.done} of {share.total}" for share in shares],
                "waiting": waiting.total - waiting.done,
            }
        )

    async def label(self, request: Request) -> Response:
        """Stores a label, and answers when it is on the disk."""
        person = self._desk.person(request)
        self._desk.check_own(request, person)
        work = self._desk.work(request, person)
        label = _label_of(await _body(request), work, person)
        with _saving():
            fresh = await asyncio.to_thread(work.store.add, label)
        return _json(_saved(work, person, label.item, fresh=fresh))

    async def undo(self, request: Request) -> Response:
        """Takes the person's last choice back."""
        person = self._desk.person(request)
        self._desk.check_own(request, person)
        work = self._desk.work(request, person)
        identifier = _text(await _body(request), "id", _LONGEST_ID)
        with _saving():
            undone = await asyncio.to_thread(work.store.undo, identifier, person)
        if undone is None:
            raise DeskError(422, "There is nothing to undo.")
        return _json(_saved(work, person, undone.item, fresh=True))


@contextlib.contextmanager
def _saving() -> Iterator[None]:
    """Turns a failure to write into a reply after which the page retries."""
    try:
        yield
    except IncompleteError as error:
        _LOG.error("%s", error)
        raise DeskError(507, "The label cannot be written to the disk.") from error


def _saved(work: Work, person: str, item: str, *, fresh: bool) -> dict[str, object]:
    """The reply about a stored label."""
    label = work.store.last(person, item)
    progress = work.progress(person)

    return {
        "saved": True,
        "fresh": fresh,
        "item": item,
        "value": label.value if label is not None else "",
        "at": label.at if label is not None else "",
        "done": progress.done,
        "total": progress.total,
    }


async def _body(request: Request) -> dict[str, object]:
    content = b""
    async for chunk in request.stream():
        content += chunk
        if len(content) > MOST_BYTES:
            raise DeskError(413, "This is too long to be kept.")

    try:
        values = json.loads(content)
    except (ValueError, RecursionError):
        values = None

    if not isinstance(values, dict):
        raise DeskError(400, "This is no label.")

    return values


def _text(values: Mapping[str, object], name: str, longest: int) -> str:
    value = values.get(name)
    if not isinstance(value, str) or not value:
        raise DeskError(400, f"A label needs its {name}.")
    if len(value) > longest:
        raise DeskError(413, f"{name} has over {longest:,} characters.")
    return value


def _label_of(values: Mapping[str, object], work: Work, person: str) -> Label:
    """Builds a label from what the page sent; parts that it leaves out stay unchanged."""
    identifier = _text(values, "id", _LONGEST_ID)
    item_id = values.get("item")
    if not isinstance(item_id, str) or item_id not in work.items(person):
        raise DeskError(422, "There is no such item for you.")

    before = work.store.last(person, item_id)
    value = values.get("value", before.value if before is not None else "")
    note = values.get("note", before.note if before is not None else "")
    edits = values.get("edits", before.edits if before is not None else {})
    if not isinstance(value, str) or (value and value not in work.sheet.by_value):
        raise DeskError(422, "There is no such choice.")
    if not isinstance(note, str) or len(note) > LONGEST_NOTE:
        raise DeskError(413, f"A note may have {LONGEST_NOTE:,} characters.")

    changed = _edits_of(edits, work, item_id)
    lacking = (
        work.sheet.lacking(work.sheet.by_id[item_id], value, changed) if value else ""
    )
    if lacking:
        raise DeskError(422, f"Fill in {lacking} first.")

    return Label(
        id=identifier,
        item=item_id,
        rater=person,
        value=value,
        note=note,
        edits=changed,
        at=now(),
    )


def _edits_of(edits: object, work: Work, item: str) -> dict[str, str]:
    """The changed texts, checked against the item's fields."""
    fields = {
        item_field.name: item_field for item_field in work.sheet.by_id[item].editable
    }
    if not isinstance(edits, Mapping):
        raise DeskError(400, "This is no label.")

    changed: dict[str, str] = {}
    for name, text in edits.items():
        if name not in fields or not isinstance(text, str):
            raise DeskError(422, "There is no such field.")

        if len(text) > fields[name].longest:
            longest = fields[name].longest
            raise DeskError(
                413, f"{fields[name].label} may have {longest:,} characters."
            )

        changed[name] = text

    return changed


def listening(host: str, port: int) -> socket.socket:
    """Listens at a host of this machine; port 0 picks a free port."""
    if not 0 <= port <= _HIGHEST_PORT:
        raise UsageError(f"--port must be from 0 to {_HIGHEST_PORT}, got {port}.")

    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise UsageError(
            f"port {port} of {host} cannot be listened on ({error}). Stop what listens there, or "
            "give another --port; --host must be an address of this machine."
        ) from error


def server_of(desk: Desk) -> uvicorn.Server:
    """Builds the server without starting it."""
    try:
        import uvicorn
    except ImportError:
        raise MissingError(
            f"the review desk needs uvicorn and Starlette: {install_command('space')}"
        ) from None

    cert, key = desk.address.tls or (None, None)
    config = uvicorn.Config(
        app_of(desk),
        http="h11",
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,  # an address holds a token
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=1,
        ssl_certfile=cert,
        ssl_keyfile=key,
    )
    try:
        config.load()
    except (OSError, ValueError):  # ssl.SSLError is an OSError
        raise UsageError(
            f"{cert}, {key}: cannot be used for https. Give a certificate and its key in PEM form, "
            "the key without a password."
        ) from None

    return uvicorn.Server(config)
