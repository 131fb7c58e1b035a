"""The data guard: text of credentialed sources stays on this machine unless the user attests that it may leave.

Each decision is a JSON line in the audit log, on disk before the decision takes effect;
it holds no text of the source.
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
_USER = re.compile(r"//.*@", re.DOTALL)  # may hold a password
_ANY_CREDENTIALED = (
    "access is given person by person: its text stays with those who were given it"
)


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A task or dataset whose text is held."""

    name: str  # the task, or the dataset without one
    dataset: str
    access: Access
    rule: str  # what its source requires, in one sentence without a full stop

    @classmethod
    def of(cls, spec: DatasetSpec, *, task: str = "") -> Subject:
        """Makes the subject of a dataset, and of the task that uses it."""
        rule = (
            _PHYSIONET
            if spec.licence.startswith("PhysioNet-Credentialed")
            else _ANY_CREDENTIALED
        )
        full_rule = f"{spec.title} ({spec.licence}, {spec.homepage}): {rule}"
        return cls(
            name=task or spec.name,
            dataset=spec.name,
            access=spec.access,
            rule=full_rule,
        )


@dataclass(frozen=True, kw_only=True)
class Attestation:
    """What the user attests: the hosts that text may be sent to, and that none of them keeps it."""

    hosts: tuple[Address, ...] = ()
    zero_retention: bool = False

    def covers(self, address: Address) -> bool:
        """Returns whether a host is attested: the same name, and the same port if one was given.

        Example: `--allow-remote api.example.org` covers https://api.example.org/v1, but
        not https://eu.api.example.org/v1; `--allow-remote 10.0.0.7:8000` covers only
        that port.
        """
        return self.zero_retention and any(
            host.host == address.host and host.port in (None, address.port)
            for host in self.hosts
        )


NOTHING_ATTESTED = Attestation()


def attestation_from(arguments: WithAttestation) -> Attestation:
    """Reads the two options; rejects one without the other."""
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
    """Returns whether results, logs and reports may hold texts of a dataset, and answers that quote them."""
    return spec.access == "open"


class _Policy:
    """The decisions of one `protect` block; each distinct one is logged once."""

    def __init__(self, subjects: Sequence[Subject], attestation: Attestation) -> None:
        self.subjects = tuple(
            subject for subject in subjects if subject.access != "open"
        )
        self._attestation = attestation
        self._lock = threading.Lock()
        self._written: set[tuple[str, str]] = set()

    def require(self, url: str | None, purpose: str, *, what: str = "") -> None:
        """Decides about an address; raises RefusedError if it is not allowed.

        Args:
            url: the address; None for a model in this process.
            purpose: what the text is sent for.
            what: names an endpoint whose address is unknown.
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
            if (purpose, where) not in self._written:
                # Logged before the decision takes effect.
                self._write(
                    "local" if local else "allowed" if allowed else "refused",
                    purpose,
                    where,
                    address,
                )
                self._written.add((purpose, where))

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
        """Writes a decision to the audit log, one line per subject."""
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
        """Makes the error for an address that is not allowed, with what would allow it."""
        about = self.about()
        use = "Use a model on this machine: hf/, vllm/, vllm-server/, or a server on 127.0.0.1 or a unix socket."
        if address is None:
            return RefusedError(
                f"{about}: its text may not go to {where} ({purpose}), since it is unknown "
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
    """Guards the text of some tasks or datasets in the whole process, for the duration of a `with` block.

    Meanwhile neither this process nor one that it starts writes core files. Open subjects
    change nothing. An error from outside this package becomes a `WithheldError`, since
    its message may quote the text.

    What is allowed inside the block, if a subject is credentialed:

        a model in this process, http://127.0.0.1:8000     yes
        https://api.example.org                            with both attestations
        a name that resolves to another machine            with both attestations
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
    """Writes no core file, and turns others' errors into a `WithheldError`."""
    try:
        with no_core_files():
            yield
    except (MedicalTasksError, BrokenPipeError):
        raise
    # The error of a library may quote what it read.
    except Exception as error:
        if is_full_disk(error):
            raise
        if memory_error(error):
            raise MemoryError from None

        raise WithheldError(withheld_outline(error)) from None


def protecting() -> bool:
    """Returns whether text of a credentialed source is held."""
    return any(policy.subjects for policy in tuple(_policies))


def protects(name: str) -> bool:
    """Returns whether a `protect` block guards this credentialed task or dataset."""
    return any(
        name in (subject.name, subject.dataset)
        for policy in tuple(_policies)
        for subject in policy.subjects
    )


def require_endpoint(url: str | None, purpose: str) -> None:
    """Raises RefusedError unless text may be sent to an endpoint. Cheap.

    Args:
        url: the base URL; None for a model in this process. Those of replicas are
            separated by spaces, and all must be allowed.
        purpose: what the text is sent for.
    """
    for policy in tuple(_policies):
        for address in [None] if url is None else re.split(" (?=[a-z+]+://)", url):
            policy.require(address, purpose)


def require_visible_endpoint(what: str, purpose: str) -> None:
    """Refuses a model whose address is unknown (another package's provider), whatever is attested."""
    for policy in tuple(_policies):
        policy.require(None, purpose, what=what)


def require_processes() -> None:
    """Raises RefusedError unless texts may be shared with this run's processes on other machines.

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
    """Refuses to publish rows or answers, whatever is attested."""
    _refuse(what, "would leave this machine with it, for others to read")


def require_no_batch(option: str) -> None:
    """Refuses to ask in batches, even of a server on this machine, whatever is attested."""
    _refuse(
        option,
        "would store every question in a file at the provider, whatever is attested",
    )


def require_text_outlet(kind: str) -> None:
    """Refuses to write questions or answers as text: details, logs of samples, trackers."""
    _refuse(kind, "would hold questions and answers as text outside the private store")


def _refuse(what: str, why: str) -> None:
    for policy in tuple(_policies):
        if policy.subjects:
            raise RefusedError(
                f"{policy.about()}: {what} is refused, since it {why}. Leave it out."
            )


_FRAMES = 8  # the innermost ones of each error


class WithheldError(RuntimeError):
    """An unexpected error, reported without the message of the original error."""


def is_full_disk(error: BaseException) -> bool:
    """Returns whether an error says that the disk of the output is full."""
    return (
        isinstance(error, OSError)
        and error.errno == errno.ENOSPC
        and error.filename is None
    )


def withheld_outline(error: BaseException) -> str:
    """Describes an error and its causes by type and position in the code, without their messages."""
    lines = [
        "an unexpected error; its words are left out, since they may quote text of credentialed "
        "data."
    ]
    seen: set[int] = set()
    waiting: list[BaseException] = [error]
    while waiting:
        current = waiting.pop(0)
        if id(current) in seen:
            continue

        seen.add(id(current))
        system = (
            errno.errorcode.get(current.errno or 0)
            if isinstance(current, OSError)
            else None
        )
        reason = f" ({system})" if system is not None else ""
        lines.append(
            f"{type(current).__module__}.{type(current).__qualname__}{reason}, raised in"
        )
        frames = traceback.extract_tb(current.__traceback__)[-_FRAMES:]
        lines += [
            f"  {Path(frame.filename).name}, line {frame.lineno}, {frame.name}"
            for frame in frames
        ]
        inner = current.exceptions if isinstance(current, BaseExceptionGroup) else ()
        waiting += [
            cause
            for cause in (*inner, current.__cause__, current.__context__)
            if cause is not None
        ]

    return "\n".join(lines)


@contextlib.contextmanager
def no_core_files() -> Iterator[None]:
    """Keeps this process, and those it starts meanwhile, from writing core files."""
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
    """Appends a decision, with time, version and user, to a log that only its owner can read.

    Raises:
        RefusedError: The line cannot be written; then the decision does not count.
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
        # A link in its place could redirect the lines to a file that others can read.
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
            line = _line_ending(handle) + line
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


def _line_ending(handle: int) -> bytes:
    """Returns a line break if the last line is incomplete, after a full disk or a kill."""
    size = os.fstat(handle).st_size
    return b"\n" if size and os.pread(handle, 1, size - 1) != b"\n" else b""


def _check_own(handle: int) -> None:
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode):
        raise OSError(None, "it is not an ordinary file")
    if hasattr(os, "geteuid") and status.st_uid != os.geteuid():
        raise OSError(None, "it belongs to somebody else")
    if stat.S_IMODE(status.st_mode) & 0o077:
        os.fchmod(handle, 0o600)
