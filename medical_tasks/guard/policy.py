"""The data guard.

Text of credentialed sources stays on this machine unless the user attests that it may
leave.

Each decision is one JSON line in the audit log, on disk before the decision counts; it
holds no text of the source.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import stat
import threading
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from medical_tasks._version import __version__
from medical_tasks.errors import (
    MedicalTasksError,
    RefusedError,
    UsageError,
    memory_error,
    system_reason,
)
from medical_tasks.guard.addresses import (
    Address,
    is_local,
    is_loopback_host,
    read_address,
    read_host,
)
from medical_tasks.io.user_folders import HOME_VARIABLE, audit_path
from medical_tasks.options import WithAttestation
from medical_tasks.spec import Access, DatasetSpec

ALLOW = "--allow-remote"
ATTEST = "--attest-zero-retention"

# The source's own rule, in our words.
_PHYSIONET = (
    "PhysioNet's rule for credentialed data (24 September 2025): use models on your own machines; "
    "no third party may keep what it is sent"
)
_USER = re.compile(r"//.*@", re.DOTALL)  # a password may stand there
_ANY_CREDENTIALED = (
    "access is given person by person: its text stays with those who were given it"
)


@dataclass(frozen=True, kw_only=True)
class Subject:
    """Whose text is held."""

    name: str  # the task, or the dataset when no task is in play
    dataset: str
    access: Access
    rule: str  # what its source demands, in one sentence without a full stop

    @classmethod
    def of(cls, spec: DatasetSpec, *, task: str = "") -> Subject:
        """Makes the subject of a dataset, and of the task that uses it."""
        rule = (
            _PHYSIONET
            if spec.licence.startswith("PhysioNet-Credentialed")
            else _ANY_CREDENTIALED
        )
        said = f"{spec.title} ({spec.licence}, {spec.homepage}): {rule}"
        return cls(
            name=task or spec.name, dataset=spec.name, access=spec.access, rule=said
        )


@dataclass(frozen=True, kw_only=True)
class Attestation:
    """What somebody answers for: the hosts text may be sent to, and that none of them keeps it."""

    hosts: tuple[Address, ...] = ()
    zero_retention: bool = False

    def covers(self, address: Address) -> bool:
        """Says whether a host is one of those attested.

        Exactly the same name, and the same port where one was given.

        Example: `--allow-remote api.example.org` covers https://api.example.org/v1, and
        not https://eu.api.example.org/v1; `--allow-remote 10.0.0.7:8000` covers that
        port alone.
        """
        return self.zero_retention and any(
            host.host == address.host and host.port in (None, address.port)
            for host in self.hosts
        )


NOTHING_ATTESTED = Attestation()


def attestation_from(arguments: WithAttestation) -> Attestation:
    """Reads the two options; one of them alone is refused."""
    hosts, attested = arguments.allow_remote, arguments.attest_zero_retention
    if hosts and not attested:
        raise UsageError(
            f"{ALLOW} {' '.join(hosts)} alone changes nothing: add {ATTEST}, by which you attest "
            "that this host keeps nothing of what it is sent. Both are written to the audit log."
        )

    if attested and not hosts:
        raise UsageError(
            f"{ATTEST} alone changes nothing: name the host it is about with {ALLOW} HOST."
        )

    return Attestation(
        hosts=tuple(read_host(host) for host in hosts), zero_retention=attested
    )


def text_allowed(spec: DatasetSpec) -> bool:
    """Says whether texts of a dataset, and answers that may quote them, may stand in results, logs and reports."""
    return spec.access == "open"


class _Policy:
    """The decisions of one `protect` block; each different one is written once."""

    def __init__(self, subjects: Sequence[Subject], attestation: Attestation) -> None:
        self.subjects = tuple(
            subject for subject in subjects if subject.access != "open"
        )
        self._attestation = attestation
        self._lock = threading.Lock()
        self._told: set[tuple[str, str]] = set()

    def require(self, url: str | None, purpose: str, *, what: str = "") -> None:
        """Decides about an address.

        `url` None is one in this process, `what` names one that cannot be seen.
        """
        if not self.subjects:
            return

        address = read_address(url) if url is not None else None
        local = not what and (url is None or is_local(url))
        allowed = local or (address is not None and self._attestation.covers(address))
        where = what or (
            "this process"
            if url is None
            else str(address)
            if address is not None
            else repr(_USER.sub("//", url))
        )
        with self._lock:
            if (purpose, where) not in self._told:
                # Written before the decision counts; only then known as told.
                self._write(
                    "local" if local else "allowed" if allowed else "refused",
                    purpose,
                    where,
                    address,
                )
                self._told.add((purpose, where))

        if not allowed:
            raise self._refusal(
                purpose,
                where,
                address,
                local_name=url is not None and is_loopback_host(url),
            )

    def _write(
        self, decision: str, purpose: str, where: str, address: Address | None
    ) -> None:
        """Writes a decision to the audit log, a line for each subject."""
        for subject in self.subjects:
            write_decision(
                audit_path(),
                {
                    "decision": decision,
                    "task": subject.name,
                    "dataset": subject.dataset,
                    "purpose": purpose,
                    "host": where,
                    "scheme": address.scheme if address is not None else None,
                    "allow_remote": [
                        f"{host.host}:{host.port or '*'}"
                        for host in self._attestation.hosts
                    ],
                    "attest_zero_retention": self._attestation.zero_retention,
                },
            )

    def _refusal(
        self, purpose: str, where: str, address: Address | None, *, local_name: bool
    ) -> RefusedError:
        """The error of an address that text may not go to, with what would allow it."""
        about = self.about()
        use = "Use a model on this machine: hf/, vllm/, vllm-server/, or a server on 127.0.0.1 or a unix socket."
        if address is None:
            return RefusedError(
                f"{about}: its text may not go to {where} ({purpose}), since it cannot be told "
                f"where that leads. {use}"
            )

        reason = (
            "is called this machine's but leads elsewhere"
            if local_name
            else "is not this machine"
        )
        return RefusedError(
            f"{about}: its text may not be sent to {where} ({purpose}), which {reason}. {use} If "
            "the data use agreement allows this host and it keeps nothing of what it is sent, say "
            f"so with both {ALLOW} {where} and {ATTEST}; that is written to {audit_path()}"
        )

    def about(self) -> str:
        rules = dict.fromkeys(subject.rule for subject in self.subjects)
        return f"{', '.join(dict.fromkeys(subject.name for subject in self.subjects))}: {'; '.join(rules)}"


_policies: list[_Policy] = []


@contextlib.contextmanager
def protect(
    subjects: Sequence[Subject], attestation: Attestation = NOTHING_ATTESTED
) -> Iterator[None]:
    """Guards the text of some tasks or datasets in this whole process, for the length of a `with` block.

    Meanwhile neither this process nor one it starts leaves its memory in a core file.
    Open subjects change nothing. An error that is not of this package becomes a
    `WithheldError`: its words may quote the text that is held.

    What passes inside the block, where a subject is credentialed:

        a model in this process, http://127.0.0.1:8000     yes
        https://api.example.org                            with both attestations
        a name that leads to no loopback address           with both attestations
        batches, pushes, logs of samples                   no, whatever is attested
    """
    policy = _Policy(subjects, attestation)
    _policies.append(policy)
    try:
        with holding_text() if policy.subjects else contextlib.nullcontext():
            yield
    finally:
        _policies.remove(policy)


@contextlib.contextmanager
def holding_text() -> Iterator[None]:
    """Leaves no core file.

    Makes a `WithheldError` of others' errors, which quote what they read.
    """
    try:
        with no_core_files():
            yield
    except (MedicalTasksError, BrokenPipeError):
        raise
    except (
        Exception
    ) as error:  # whatever it is: others' errors quote what they stumbled over
        if is_full_disk(error):
            raise
        if memory_error(error):
            raise MemoryError from None

        raise WithheldError(told(error)) from None


def protecting() -> bool:
    """Says whether text of a credentialed source is held."""
    return any(policy.subjects for policy in tuple(_policies))


def protects(name: str) -> bool:
    """Says whether a `protect` block knows this task or dataset, credentialed ones only."""
    return any(
        name in (subject.name, subject.dataset)
        for policy in tuple(_policies)
        for subject in policy.subjects
    )


def require_endpoint(url: str | None, purpose: str) -> None:
    """Asks whether text may be sent to an endpoint (None: a model in this process) and refuses it if not. Cheap.

    Base URLs of replicas have a space between; all must be allowed.
    """
    for policy in tuple(_policies):
        for each in [None] if url is None else re.split(" (?=[a-z+]+://)", url):
            policy.require(each, purpose)


def require_visible_endpoint(what: str, purpose: str) -> None:
    """Refuses a model whose address cannot be seen from here (another package's provider), whatever is attested."""
    for policy in tuple(_policies):
        policy.require(None, purpose, what=what)


def require_processes() -> None:
    """Asks whether texts may be shared with this run's processes on other machines.

    The host to attest is `MASTER_ADDR`.
    """
    everywhere = os.environ.get("WORLD_SIZE", "1")
    if everywhere not in ("1", os.environ.get("LOCAL_WORLD_SIZE")):
        host, port = (
            os.environ.get("MASTER_ADDR", ""),
            os.environ.get("MASTER_PORT", ""),
        )
        require_endpoint(
            f"tcp://{host}{f':{port}' if port else ''}",
            "processes of this run on other machines",
        )


def require_push(what: str) -> None:
    """Refuses to publish rows or answers; nothing that is attested changes this."""
    _refuse(what, "would leave this machine with it, for others to read")


def require_no_batch(option: str) -> None:
    """Refuses to ask in batches, also of a server on this machine; nothing that is attested changes this."""
    _refuse(
        option,
        "would store every question in a file at the provider, whatever is attested",
    )


def require_text_outlet(kind: str) -> None:
    """Refuses a place where questions or answers would be written as text.

    Details, logs of samples, trackers.
    """
    _refuse(kind, "would hold questions and answers as text outside the private store")


def _refuse(what: str, why: str) -> None:
    for policy in tuple(_policies):
        if policy.subjects:
            raise RefusedError(
                f"{policy.about()}: {what} is refused, since it {why}. Leave it out."
            )


_FRAMES = 8  # the innermost ones of each error


class WithheldError(RuntimeError):
    """A fault of the program, told without the words of the error it was."""


def is_full_disk(error: BaseException) -> bool:
    """Says whether an error is the system's, that no more can be written to where the output goes."""
    return (
        isinstance(error, OSError)
        and error.errno == errno.ENOSPC
        and error.filename is None
    )


def told(error: BaseException) -> str:
    """Says of what kinds an error and those behind it are, and where in the code they were raised.

    Nothing that an error says.
    """
    lines = [
        "an unexpected error; its words are left out, since they may quote text of credentialed "
        "data."
    ]
    seen: set[int] = set()
    waiting: list[BaseException] = [error]
    while waiting:
        found = waiting.pop(0)
        if id(found) in seen:
            continue

        seen.add(id(found))
        system = (
            errno.errorcode.get(found.errno or 0)
            if isinstance(found, OSError)
            else None
        )
        reason = f" ({system})" if system is not None else ""
        lines.append(
            f"{type(found).__module__}.{type(found).__qualname__}{reason}, raised in"
        )
        frames = traceback.extract_tb(found.__traceback__)[-_FRAMES:]
        lines += [
            f"  {Path(frame.filename).name}, line {frame.lineno}, {frame.name}"
            for frame in frames
        ]
        inner = found.exceptions if isinstance(found, BaseExceptionGroup) else ()
        waiting += [
            each
            for each in (*inner, found.__cause__, found.__context__)
            if each is not None
        ]

    return "\n".join(lines)


@contextlib.contextmanager
def no_core_files() -> Iterator[None]:
    """Keeps this process, and those started meanwhile, from writing their memory to a file when they crash."""
    try:
        import resource
    except ImportError:  # not a POSIX system
        yield
        return

    soft, hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_CORE, (soft, hard))


def write_decision(path: Path, decision: Mapping[str, object]) -> None:
    """Adds a line, with the time, the suite's version and who ran it, to a log that is readable by its owner alone.

    `RefusedError` where it cannot be written as it must be; a decision without its line
    does not count.
    """
    entry = {
        "time": datetime.now(UTC)
        .isoformat(timespec="milliseconds")
        .replace("+00:00", "Z"),
        **decision,
        "suite": f"medical-tasks {__version__}",
        "pid": os.getpid(),
        "uid": os.getuid() if hasattr(os, "getuid") else None,
    }
    line = (json.dumps(entry, ensure_ascii=True) + "\n").encode()
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        # A link in its place could lead the lines to where others read them.
        flags = (
            os.O_RDWR
            | os.O_APPEND
            | os.O_CREAT
            | getattr(os, "O_NOFOLLOW", 0)
            | getattr(os, "O_CLOEXEC", 0)
        )
        handle = os.open(path, flags, 0o600)
        try:
            _check_own(handle)
            line = _begun(handle) + line
            if os.write(handle, line) != len(line):
                raise OSError(None, "only a part of the line was written")

            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        raise RefusedError(
            f"{path}: the audit log of the data guard cannot be written ({system_reason(error)}), "
            "and a decision that leaves no line does not count. Make it an ordinary file of your "
            f"own, or name another folder: export {HOME_VARIABLE}=DIR"
        ) from error


def _begun(handle: int) -> bytes:
    """What ends a line that a full disk or a kill left half written, so that the next one stays readable."""
    size = os.fstat(handle).st_size
    return b"\n" if size and os.pread(handle, 1, size - 1) != b"\n" else b""


def _check_own(handle: int) -> None:
    found = os.fstat(handle)
    if not stat.S_ISREG(found.st_mode):
        raise OSError(None, "it is not an ordinary file")
    if hasattr(os, "geteuid") and found.st_uid != os.geteuid():
        raise OSError(None, "it belongs to somebody else")
    if stat.S_IMODE(found.st_mode) & 0o077:
        os.fchmod(handle, 0o600)
