"""The Gradio app and its server, on this machine or as a Space. Nothing it sends asks another host for anything.

Selection fields, an upload, and one HTML component a page, in the report's colours and fonts.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import json
import logging
import os
import socket
import sys
import traceback
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl

from medical_tasks.benchmarks.catalog import BENCHMARKS, tasks
from medical_tasks.errors import MedicalTasksError, MissingError, UsageError, install_command
from medical_tasks.leaderboard.admission import AdmissionError, QueueFullError, check_admission
from medical_tasks.leaderboard.app import parts as shared
from medical_tasks.leaderboard.app.door import Door, own_folder, upload_path
from medical_tasks.leaderboard.app.pages import framed, page_at
from medical_tasks.leaderboard.board import Board, Content, Snapshot
from medical_tasks.leaderboard.records import Submission
from medical_tasks.leaderboard.storage import AlreadyStoredError, open_storage
from medical_tasks.leaderboard.submission_package.contents import DEFAULT_LIMITS, Package, PackageError, ReadLimits
from medical_tasks.leaderboard.submission_package.package_file import package_bytes, read_package
from medical_tasks.report.html_parts import Cell, Markup, assets_text, component_styles, markup
from medical_tasks.runs.numbers import coverage, metric_label

if TYPE_CHECKING:
    import gradio
    import uvicorn

_LOG: Final = logging.getLogger(__name__)
STORE_VARIABLE: Final = "MEDICAL_TASKS_LEADERBOARD_STORE"
PORT_VARIABLE: Final = "MEDICAL_TASKS_LEADERBOARD_PORT"
PROXY_VARIABLE: Final = "MEDICAL_TASKS_LEADERBOARD_PROXY"
"""Set to anything where a reverse proxy of one's own passes visitors on; on a Space there always is one."""
DEFAULT_PORT: Final = 7860
_HIGHEST_PORT: Final = 65535
_HEAD_S: Final = 20.0
"""How long the first line and the headers of a request may take."""
_SESSIONS: Final = 500
"""Visits whose state is kept, the longest unused going first: Gradio's own 10,000 would take over a gigabyte."""


def settings_of(environment: Mapping[str, str]) -> tuple[str, str, int]:
    """Reads store, host and port from the environment; only on a Space is the app reached from outside of this machine."""
    store = environment.get(STORE_VARIABLE, "").strip()
    if not store:
        raise UsageError(
            f"{STORE_VARIABLE} is not set: it names the leaderboard's store. Set it to a folder (it may be empty), or to "
            "hub:OWNER/NAME for dataset repositories of the Hub."
        )
    on_space = bool(environment.get("SPACE_ID"))
    given = environment.get(PORT_VARIABLE, "").strip() or str(DEFAULT_PORT)
    if not (given.isascii() and given.isdigit() and 0 < int(given) <= _HIGHEST_PORT):
        raise UsageError(f"{PORT_VARIABLE} is a port from 1 to 65535; got {given!r}. Leave it out for {DEFAULT_PORT}.")
    # A Space's proxy reaches the container from outside of it and asks for this port.
    return (store, "0.0.0.0", DEFAULT_PORT) if on_space else (store, "127.0.0.1", int(given))  # noqa: S104


def main() -> int:
    """Serves the leaderboard that the environment names until it is stopped; its exit code."""
    try:
        serve(*settings_of(os.environ))
    except MedicalTasksError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return 0


def serve(place: str, host: str, port: int) -> None:
    """Serves a leaderboard until it is stopped; port 0 takes a free one."""
    if not 0 <= port <= _HIGHEST_PORT:
        raise UsageError(f"--port must be from 0 to {_HIGHEST_PORT}, got {port}.")
    if importlib.util.find_spec("gradio") is None:
        raise MissingError(f"the pages need Gradio: {install_command('space')}")
    with _listening(host, port) as listener:
        server = server_of(place)
        host, port = listener.getsockname()
        print(f"leaderboard: http://{host}:{port}/  store: {place}", flush=True)
        log = logging.StreamHandler()
        log.addFilter(Sparing())
        logging.basicConfig(
            level=logging.WARNING, handlers=[log], format="%(asctime)s %(levelname)s %(name)s: %(message)s"
        )
        with contextlib.suppress(KeyboardInterrupt):
            server.run(sockets=[listener])


def server_of(place: str) -> uvicorn.Server:
    """Makes the app and the server, not yet started, that it runs in."""
    # Before Gradio is imported: it asks its own host for its newest version otherwise, and keeps uploads among other apps'.
    os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
    folder = own_folder()
    import gradio
    import gradio.queueing
    import gradio.route_utils
    import gradio.routes
    import uvicorn
    from fastapi import FastAPI
    from uvicorn.protocols.http.h11_impl import H11Protocol

    # Gradio prints each error of an event, with what the visitor sent; here it is logged, without.
    for module in (gradio.queueing, gradio.route_utils, gradio.routes):
        module.traceback = SimpleNamespace(print_exc=_log_error)  # type: ignore[attr-defined]

    class Prompt(H11Protocol):
        """Closes a connection whose next request does not begin in time."""

        late: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._watch()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._watch()

        def _watch(self) -> None:
            if self.cycle is not None and not self.cycle.response_complete:
                self._unset()
            elif self.late is None:
                self.late = self.loop.call_later(_HEAD_S, self.transport.close)

        def connection_lost(self, exc: Exception | None) -> None:
            self._unset()
            super().connection_lost(exc)

        def _unset(self) -> None:
            if self.late is not None:
                self.late.cancel()
                self.late = None

    pages = build(Content(Board(open_storage(place))))
    pages.queue(default_concurrency_limit=4, max_size=256, api_open=False)
    pages.state_session_capacity = _SESSIONS
    pages.space_id = None  # Of a Space by its name, the page would ask the Hub how it is, and another host for fonts.
    app = gradio.mount_gradio_app(
        FastAPI(openapi_url=None),
        pages,
        "/",
        show_error=False,
        footer_links=[],
        run_history=False,
        enable_monitoring=False,
        ssr_mode=False,
        pwa=False,
        mcp_server=False,
        max_file_size=DEFAULT_LIMITS.package_bytes,
        theme=theme(),
        head=head(),
        app_kwargs={"openapi_url": None},
    )
    return uvicorn.Server(
        uvicorn.Config(
            Door(app, folder=folder, proxied=any(map(os.environ.get, ("SPACE_ID", PROXY_VARIABLE)))),
            http=Prompt,
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            proxy_headers=False,  # the door reads them, and only those of a proxy
            server_header=False,
            timeout_graceful_shutdown=1,
        )
    )


def _log_error() -> None:
    _LOG.error("an event failed", exc_info=True)


class Sparing(logging.Filter):
    """Passes a kind of record its 1st, 10th, 100th ... time; of an error its type and place, since its text may quote a visitor."""

    def __init__(self) -> None:
        super().__init__()
        self._times: Counter[str] = Counter()

    def filter(self, record: logging.LogRecord) -> bool:
        """Decides on a record, and shortens it."""
        error = record.exc_info[1] if record.exc_info else None
        if error is not None:
            frames = traceback.extract_tb(error.__traceback__)
            place = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "?"
            said = f"{type(error).__name__} at {place}"
        elif record.name.startswith("medical_tasks."):
            said = record.getMessage()
        else:
            said = f"{record.filename}:{record.lineno}"
        self._times[said] += 1
        times = self._times[said]
        record.msg, record.args = f"{said} (time {times:,})", ()
        record.exc_info = record.exc_text = record.stack_info = None
        return str(times).strip("0") == "1"


def _listening(host: str, port: int) -> socket.socket:
    try:
        # As servers do: a port whose last connection ended just now is free.
        return socket.create_server((host, port))
    except OSError as error:
        raise UsageError(
            f"port {port} of {host} cannot be listened on ({error}). Stop what listens there, or set "
            f"{PORT_VARIABLE} (or --port) to another port."
        ) from error


_Parts = Mapping[str, Any]
TITLE: Final = "Medical tasks leaderboard"
_QUIET: Final[dict[str, Any]] = {"show_progress": "minimal", "api_visibility": "private"}
_MOST_CHARACTERS: Final = 2000
# The component's own template is empty: the script puts the HTML in whole, so that tables keep their order and filters.
_SHOW: Final = "window.medicalTasksSpace.show(element, props, watch, '{page}')"
_GO: Final = "window.medicalTasksSpace.navigate((query) => trigger('go', { query }))"
_HEAD: Final = markup(
    '<header class="mt mtl mtl-header"><h1>Medical tasks leaderboard</h1>'
    "<p>Five medical benchmarks for language models: every number with its interval, its coverage and its recipe.</p></header>"
)


def build(content: Content) -> gradio.Blocks:
    """Makes the app."""
    import gradio as gr

    app = gr.Blocks(title=TITLE, analytics_enabled=False, fill_width=True)
    with app:
        header = _html(gr, "header", _HEAD, more=_GO)
        fields: dict[str, Any] = {}
        shown: dict[str, Any] = {}
        parts: dict[str, Any] = {}
        with gr.Tabs(selected="leaderboard", overflow_behavior="wrap", elem_id="pages") as tabs:
            for name, said in shared.page_data()["pages"].items():
                with gr.Tab(said["title"], id=name, elem_id=f"page-{name}") as parts[name]:
                    selections = said.get("fields", {})
                    with gr.Row() if len(selections) > 1 else contextlib.nullcontext():
                        fields |= {each: _select(gr, *about) for each, about in selections.items()}
                    if name == "submit":
                        _submit_part(gr, content)
                    elif name == "about":
                        about = shared.filled("about.html", states=shared.page_data()["states"], benchmarks=BENCHMARKS)
                        _html(gr, name, framed(about, shared.Address(view=name)))
                    else:
                        shown[name] = _html(gr, name)
        _wire(gr, app, content, header=header, tabs=tabs, parts=parts, fields=fields, shown=shown)
    return app


def _html(gr: Any, page: str, value: str = "", *, more: str = "") -> Any:
    script = f"{_SHOW.format(page=page)}; {more}"
    return gr.HTML(value, html_template="", js_on_load=script, apply_default_css=False)


def _select(gr: Any, label: str, typed: bool) -> Any:
    # Choices come with the page; a value that is no choice any more is answered by the page, not by an error.
    return gr.Dropdown(
        choices=[], value=None, label=label, filterable=typed, allow_custom_value=typed, interactive=True, min_width=240
    )


def _wire(
    gr: Any, app: Any, content: Content, *, header: Any, tabs: Any, parts: _Parts, fields: _Parts, shown: _Parts
) -> None:
    outputs = [tabs, *fields.values(), *shown.values()]

    def show(address: shared.Address, *, move: bool = True) -> list[Any]:
        page = page_at(content, address)
        updates: list[Any] = [gr.Tabs(selected=page.address.view) if move else gr.skip()]
        for name in fields:
            field = page.fields.get(name)
            updates.append(
                gr.skip()
                if field is None
                else gr.Dropdown(choices=field.choices, value=field.value or None, visible=not field.hidden)
            )
        updates += [str(page.html) if name == page.address.view else gr.skip() for name in shown]
        return updates

    def opened(request: Any) -> list[Any]:
        return show(shared.address_of(dict(request.query_params)))

    # Gradio gives a function what it asks for by its annotations, which name a module imported late.
    opened.__annotations__ = {"request": gr.Request}

    def gone(event: Any) -> list[Any]:
        return _at(str((event._data or {}).get("query", "")), move=True)

    gone.__annotations__ = {"event": gr.EventData}

    def selected(query: str) -> list[Any]:
        return _at(query, move=False) if query else [gr.skip() for _ in outputs]

    def _at(query: str, *, move: bool) -> list[Any]:
        return show(shared.address_of(dict(parse_qsl(query[:_MOST_CHARACTERS].removeprefix("?")))), move=move)

    def on(view: str, changed: str, **given: str) -> None:
        """Shows a view anew when a field changes, with fields as parts of its address."""

        def of_fields(*values: str | None) -> list[Any]:
            named = {part: value or "" for part, value in zip(given, values, strict=True)}
            return show(shared.Address(view=view, **named), move=False)

        inputs = [fields[name] for name in given.values()]
        fields[changed].input(of_fields, inputs, outputs, **_QUIET, trigger_mode="always_last")

    app.load(opened, None, outputs, **_QUIET)
    header.go(gone, None, outputs, **_QUIET)
    on("leaderboard", "task", task="task")
    for changed in ("metric", "group"):
        on("leaderboard", changed, task="task", metric="metric", group="group")
    on("model", "model", model="model")
    on("compare", "compared_task", task="compared_task")
    for changed in ("first", "second"):
        on("compare", changed, task="compared_task", first="first", second="second")
    # The script knows whether a page is there already, or on its way.
    query = gr.Textbox(visible=False)
    for name, part in parts.items():
        script = f"() => window.medicalTasksSpace.selected('{name}')"
        if name in shown:
            part.select(selected, [query], outputs, js=script, **_QUIET)
        else:
            part.select(None, js=script, api_visibility="private")


def _submit_part(gr: Any, content: Content) -> None:
    from gradio.utils import get_upload_folder

    place = shared.Address(view="submit")
    _html(gr, "submit", framed(introduction(), place))
    file = gr.File(label="Package (.zip)", file_count="single", file_types=[".zip"], height=150, elem_id="package")
    said = _html(gr, "said")
    with gr.Row(visible=False) as answers:
        confirm = gr.Button("Submit", variant="primary")
        take_back = gr.Button("Do not submit")

    folder = Path(get_upload_folder())

    def answered(value: Any, *, confirmed: bool) -> list[Any]:
        try:
            path = upload_path(value, folder)
            step = submit(content, path) if confirmed else check(path)
        except MissingError as error:
            step = Step(html=refused(str(error)))
        kept = gr.skip() if step.waits else gr.File(value=None)
        return [kept, str(framed(step.html, place)), gr.Row(visible=step.waits)]

    def taken_back(value: Any) -> list[Any]:
        with contextlib.suppress(MissingError):
            upload_path(value, folder).unlink(missing_ok=True)
        return [gr.File(value=None), "", gr.Row(visible=False)]

    # Gradio's own reading of the field leaves an empty file behind for every event.
    for listener, function in (
        (file.upload, lambda value: answered(value, confirmed=False)),
        (confirm.click, lambda value: answered(value, confirmed=True)),
        (take_back.click, taken_back),
    ):
        listener(function, [file], [file, said, answers], preprocess=False, api_visibility="private")
    # The cross of the field: the file itself is deleted when its time is over.
    file.clear(lambda: ["", gr.Row(visible=False)], None, [said, answers], api_visibility="private")


def head() -> str:
    """Makes what goes into the page's head: styles and scripts, all of them our own and written out."""
    styles, scripts = (assets_text(name, shared.ASSETS) for name in ("space.css", "space.js"))
    return (
        f"<style>\n{component_styles()}\n{styles}\n</style>\n<script>\n{assets_text('table.js')}\n{scripts}\n</script>"
    )


def theme() -> gradio.themes.Base:
    """Makes the theme. Fonts are the system's: Gradio would ask another host for its own."""
    import gradio as gr
    from gradio.themes.utils.fonts import Font

    # Colours light and dark, the same as in the report's tokens.css.
    said = json.loads(assets_text("theme.json", shared.ASSETS))
    fonts, mono = (list(map(Font, said[kind])) for kind in ("sans_serif", "monospace"))
    colours = {name: light for name, (light, _) in said["colours"].items()}
    colours |= {f"{name}_dark": dark for name, (_, dark) in said["colours"].items()}
    made = gr.themes.Base(font=fonts, font_mono=mono, radius_size="sm", text_size="md")
    # It has no dark twin; the style sheet gives it one.
    return made.set(**colours, color_accent="#1c5691")


_TOLD: Final = (PackageError, AdmissionError, QueueFullError, AlreadyStoredError)


@dataclass(frozen=True, kw_only=True)
class Step:
    """Where an upload stands: what the visitor sees, and whether the file `waits` for their confirmation."""

    html: Markup
    waits: bool = False


def check(path: Path, limits: ReadLimits = DEFAULT_LIMITS) -> Step:
    """Checks an upload without submitting it; the file is deleted unless it is sound."""
    try:
        package = read_package(path, limits=limits)
        check_admission(package)
        return Step(html=checked(package), waits=True)
    except BaseException as error:
        path.unlink(missing_ok=True)
        if not isinstance(error, MedicalTasksError):
            raise
        return Step(html=refused(_told(error)))


def submit(content: Content, path: Path, limits: ReadLimits = DEFAULT_LIMITS) -> Step:
    """Submits what was checked, after checking it again, since the file can change meanwhile; it is deleted in any case."""
    try:
        submission = content.board.submit(package_bytes(path, limits))
    except AlreadyStoredError as error:
        return Step(html=shared.notice("note", "This package was submitted before", _told(error)))
    except MedicalTasksError as error:
        return Step(html=refused(_told(error)))
    finally:
        path.unlink(missing_ok=True)
    content.forget()
    return Step(html=submitted(submission, content.snapshot()))


def _told(error: MedicalTasksError) -> str:
    """What a visitor may read: a package's own faults and rules, but nothing of where this server keeps its store."""
    if isinstance(error, _TOLD):
        return str(error)
    _LOG.error("a package could not be stored: %s", error)
    return "The server could not store it now. Upload it again later, or tell the maintainers."


def introduction() -> Markup:
    """Says what to upload and what happens to it."""
    return shared.filled("submit.html", most=DEFAULT_LIMITS.package_bytes >> 20)


def refused(message: str) -> Markup:
    """Says what is wrong with an upload."""
    # The heading says the same as the first line of several reasons.
    lines = [line for line in message.splitlines() if line.strip() not in ("", "not taken:")]
    return shared.notice("bad", "This package is not taken", *lines, "Nothing of it was kept.")


def checked(package: Package) -> Markup:
    """Shows what a sound package would put on the board: the submitter's words as they will be shown, and the numbers."""
    warnings, rows = [], []
    for task in package.manifest.tasks:
        told = package.results["tasks"][task]
        warnings += shared.judge_warning(told["recipe"], f"{task}: ")
        for name, metric in told["metrics"].items():
            value = shared.metric_cell(metric, state="unverified")
            rows.append(
                (Cell(task, title=tasks()[task].title), metric_label(name, metric), value, coverage(told, metric))
            )
    manifest = package.manifest
    return shared.filled("checked.html", who=manifest.submitter, manifest=manifest, warnings=warnings, rows=rows)


def submitted(submission: Submission, snapshot: Snapshot) -> Markup:
    """Says that a package was taken, and its place in the queue."""
    waiting = [one.id for one in snapshot.pending()]
    place = waiting.index(submission.id) + 1 if submission.id in waiting else 0
    said = shared.filled("submitted.html", id=submission.id, place=place, waiting=len(waiting))
    return shared.notice("good", "Submitted", said)
