"""A dataset repository of the Hub on a loopback port: the endpoints that huggingface_hub really calls, and their faults.

    with FakeHub() as hub:
        HubStorage("org/board", TOKEN, endpoint=hub.endpoint)
    hub.commits                   # every commit, the oldest first

A commit must follow the head that it names, as on the Hub; `before_commit` lets another
writer come first. Zip files are LFS objects: requested by `batch`, sent with PUT to a
server of their own (`FakeObjects`), confirmed by `verify`, and named in the commit.
`faults` maps an endpoint's name (`refs`, `paths-info`, `preupload`, `batch`, `verify`,
`commit`, `tree`, `resolve`) to what its next requests get instead of an answer: a
status, or `hang`, or `lost` (done, but no reply is sent).
"""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, unquote, urlsplit

from huggingface_hub import constants

REPO = "org/board"
TOKEN = "hf_" + "secretsecretsecret"
_ATTRIBUTES = b"*.zip filter=lfs diff=lfs merge=lfs -text\n*.zst filter=lfs diff=lfs merge=lfs -text\n"
_SIGNED = "?signature=yes"
_PAGE = 3  # entries of a page of a listing


@dataclass(frozen=True)
class Commit:
    """A commit: its hash, first line, all files, and the commit that added each file."""

    oid: str
    title: str
    files: dict[str, bytes]
    by: dict[str, Commit] = field(default_factory=dict)


class _Server:
    def __init__(self, handler: type[BaseHTTPRequestHandler]) -> None:
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._http.daemon_threads = True
        self._http.owner = self  # type: ignore[attr-defined]
        self._thread = threading.Thread(
            target=self._http.serve_forever, kwargs={"poll_interval": 0.01}
        )
        self.endpoint = f"http://127.0.0.1:{self._http.server_port}"
        self.requests: list[str] = []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()


class FakeObjects(_Server):
    """The storage of large files: PUT and GET by the SHA-256; like S3 it refuses an `Authorization` with a signed address."""

    def __init__(self) -> None:
        super().__init__(_ObjectHandler)
        self.files: dict[str, bytes] = {}
        self.faults: list[int] = []


class FakeHub(_Server):
    """The Hub itself."""

    def __init__(self) -> None:
        super().__init__(_HubHandler)
        self.commits = [
            Commit(
                "0" * 40,
                "initial commit",
                {".gitattributes": _ATTRIBUTES, "README.md": b"# board\n"},
            )
        ]
        self.faults: dict[str, list[int | str]] = {}
        self.before_commit: Callable[[], object] | None = None
        self.objects = FakeObjects()
        self.closing = threading.Event()
        self._lock = threading.Lock()

    @property
    def head(self) -> Commit:
        return self.commits[-1]

    def __enter__(self) -> Self:
        # The value of HF_HUB_OFFLINE when huggingface_hub was imported; this Hub is on
        # this machine.
        self._offline, constants.HF_HUB_OFFLINE = constants.HF_HUB_OFFLINE, False
        self.objects.__enter__()
        return super().__enter__()

    def __exit__(self, *error: object) -> None:
        self.closing.set()
        super().__exit__(*error)
        self.objects.__exit__(*error)
        constants.HF_HUB_OFFLINE = self._offline

    def add(
        self, title: str, name: str, content: bytes, *, parent: str | None = None
    ) -> Commit | None:
        """Commits a file; None when the head is no longer the parent."""
        with self._lock:
            if parent is not None and parent != self.head.oid:
                return None
            oid = hashlib.sha1(
                f"{len(self.commits)} {title}".encode(), usedforsecurity=False
            ).hexdigest()
            commit = Commit(
                oid, title, {**self.head.files, name: content}, dict(self.head.by)
            )
            commit.by[name] = commit
            self.commits.append(commit)
            return commit

    def at(self, revision: str) -> Commit | None:
        return (
            self.head
            if revision == "main"
            else next(
                (commit for commit in self.commits if commit.oid == revision), None
            )
        )


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def _send(
        self, status: int, content: bytes, headers: dict[str, str] | None = None
    ) -> None:
        self.send_response(status)
        for name, value in {
            **(headers or {}),
            "Content-Length": str(len(content)),
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002 - the base class's name
        pass


class _ObjectHandler(_Handler):
    def do_PUT(self) -> None:
        owner: FakeObjects = self.server.owner  # type: ignore[attr-defined]
        body = self._body()
        owner.requests.append(self.command)
        oid = self.path.removesuffix(_SIGNED).strip("/")
        signed = self.path.endswith(_SIGNED) and "Authorization" not in self.headers
        if owner.faults:
            self._send(owner.faults.pop(0), b"")
        elif not signed or (self.command == "PUT" and _digest(body) != oid):
            self._send(400, b"")
        elif self.command == "PUT":
            owner.files[oid] = body
            self._send(200, b"")
        else:
            self._send(200 if oid in owner.files else 404, owner.files.get(oid, b""))

    do_GET = do_PUT

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = []
        while length := int(self.rfile.readline(), 16):
            parts.append(self.rfile.read(length))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)


class _HubHandler(_Handler):
    def do_GET(self) -> None:
        self.hub: FakeHub = self.server.owner  # type: ignore[attr-defined]
        self.body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = urlsplit(self.path)
        kind, self.rest = self._kind(
            [unquote(segment) for segment in parts.path.strip("/").split("/")]
        )
        self.hub.requests.append(kind)
        planned = self.hub.faults.get(kind, [])
        fault = planned.pop(0) if planned else None
        answer = getattr(self, f"_{kind.replace('-', '_')}", None)
        if fault == "hang":
            self.hub.closing.wait(30)
            self.close_connection = True
        elif isinstance(fault, int):
            self._reply(fault, {"error": "scripted fault"})
        elif self.headers.get("Authorization") != f"Bearer {TOKEN}" or answer is None:
            # Whether a private repository exists is not revealed.
            self._reply(
                404 if answer is None else 401,
                {"error": "Repository not found"},
                code="RepoNotFound",
            )
        else:
            self.query, self.lost = parse_qs(parts.query), fault == "lost"
            answer()

    do_HEAD = do_POST = do_GET

    @staticmethod
    def _kind(path: list[str]) -> tuple[str, list[str]]:
        """Returns the endpoint's name and the rest of the path."""
        repo = REPO.split("/")
        if path[:4] == ["api", "datasets", *repo] and len(path) > 4:
            return path[4], path[5:]
        if path[:5] == ["datasets", repo[0], f"{repo[1]}.git", "info", "lfs"]:
            return path[-1], []
        if path[:3] == ["datasets", *repo] and path[3:4] == ["resolve"]:
            return "resolve", path[4:]
        return "/".join(path), []

    def _refs(self) -> None:
        branch = {
            "name": "main",
            "ref": "refs/heads/main",
            "targetCommit": self.hub.head.oid,
        }
        self._reply(200, {"branches": [branch], "converts": [], "tags": []})

    def _revision(self) -> None:
        about = {"private": True, "downloads": 0, "likes": 0, "tags": []}
        self._reply(200, {"id": REPO, "sha": self.hub.head.oid, **about})

    def _paths_info(self) -> None:
        commit = self.hub.at(self.rest[0])
        if commit is None:
            self._reply(404, {"error": "no such revision"}, code="RevisionNotFound")
            return
        names = parse_qs(self.body.decode())["paths"]
        self._reply(
            200, [self._file(commit, name) for name in names if name in commit.files]
        )

    def _preupload(self) -> None:
        files = []
        for file in json.loads(self.body)["files"]:
            stored, large = (
                self.hub.head.files.get(file["path"]),
                _is_large(file["path"]),
            )
            oid = (
                {}
                if stored is None
                else {"oid": _digest(stored) if large else _blob(stored)}
            )
            mode = "lfs" if large else "regular"
            files.append(
                {"path": file["path"], "uploadMode": mode, "shouldIgnore": False, **oid}
            )
        self._reply(200, {"files": files})

    def _batch(self) -> None:
        objects = []
        for requested in json.loads(self.body)["objects"]:
            actions = {
                "upload": {
                    "href": f"{self.hub.objects.endpoint}/{requested['oid']}{_SIGNED}"
                },
                "verify": {
                    "href": f"{self.hub.endpoint}/datasets/{REPO}.git/info/lfs/verify"
                },
            }
            # A stored object is not requested again.
            objects.append(
                {
                    **requested,
                    **(
                        {}
                        if requested["oid"] in self.hub.objects.files
                        else {"actions": actions}
                    ),
                }
            )
        self._reply(200, {"transfer": "basic", "objects": objects})

    def _verify(self) -> None:
        pointer = json.loads(self.body)
        stored = self.hub.objects.files.get(pointer["oid"])
        self._reply(
            200 if stored is not None and len(stored) == pointer["size"] else 404, {}
        )

    def _commit(self) -> None:
        before, self.hub.before_commit = self.hub.before_commit, None
        if before is not None:
            before()
        lines = [json.loads(line) for line in self.body.splitlines()]
        header = next(line["value"] for line in lines if line["key"] == "header")
        (line,) = [line for line in lines if line["key"] != "header"]
        file = line["value"]
        if _is_large(file["path"]):
            content = (
                self.hub.objects.files.get(file["oid"])
                if line["key"] == "lfsFile"
                else None
            )
        else:
            content = (
                base64.b64decode(file["content"]) if line["key"] == "file" else None
            )
        if content is None:
            self._reply(400, {"error": "the file is not sent as it was requested"})
            return
        commit = self.hub.add(
            header["summary"], file["path"], content, parent=header.get("parentCommit")
        )
        if commit is None:
            self._reply(
                412,
                {"error": "A commit has happened since. Please refresh and try again."},
            )
        elif self.lost:
            self.close_connection = True
        else:
            address = f"{self.hub.endpoint}/datasets/{REPO}/commit/{commit.oid}"
            self._reply(200, {"commitUrl": address, "commitOid": commit.oid})

    def _tree(self) -> None:
        commit = self.hub.at(self.rest[0])
        inside = "".join(f"{segment}/" for segment in self.rest[1:])
        names = (
            sorted(name for name in commit.files if name.startswith(inside))
            if commit
            else []
        )
        if commit is None or not names:
            self._reply(404, {"error": "no such folder"}, code="EntryNotFound")
            return
        folders = sorted({name.rpartition("/")[0] for name in names if "/" in name})
        entries = [
            {"type": "directory", "path": name, "oid": "1" * 40, "size": 0}
            for name in folders
        ]
        entries += [self._file(commit, name) for name in names]
        start = int(self.query.get("cursor", ["0"])[0])
        link = {}
        if start + _PAGE < len(entries):
            address = f"{self.hub.endpoint}{urlsplit(self.path).path}?recursive=True&cursor={start + _PAGE}"
            link = {"Link": f'<{address}>; rel="next"'}
        self._reply(200, entries[start : start + _PAGE], headers=link)

    def _resolve(self) -> None:
        commit, name = self.hub.at(self.rest[0]), "/".join(self.rest[1:])
        if commit is None or name not in commit.files:
            self._reply(404, {"error": "no such file"}, code="EntryNotFound")
        elif _is_large(name):
            self._send(
                302,
                b"",
                {
                    "Location": f"{self.hub.objects.endpoint}/{_digest(commit.files[name])}{_SIGNED}"
                },
            )
        else:
            self._send(200, commit.files[name])

    def _file(self, commit: Commit, name: str) -> dict[str, Any]:
        by, content = commit.by.get(name, self.hub.commits[0]), commit.files[name]
        last = {"id": by.oid, "title": by.title, "date": "2026-01-31T12:00:00.000Z"}
        return {
            "type": "file",
            "path": name,
            "size": len(content),
            "oid": _blob(content),
            "lastCommit": last,
        }

    def _reply(
        self,
        status: int,
        value: Any,
        *,
        code: str = "",
        headers: dict[str, str] | None = None,
    ) -> None:
        all_headers = {
            "Content-Type": "application/json",
            **(headers or {}),
            **({"X-Error-Code": code} if code else {}),
        }
        self._send(status, json.dumps(value).encode(), all_headers)


def _is_large(name: str) -> bool:
    return name.endswith(".zip")


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _blob(content: bytes) -> str:
    """Returns git's hash of a file."""
    return hashlib.sha1(
        b"blob %d\0" % len(content) + content, usedforsecurity=False
    ).hexdigest()
