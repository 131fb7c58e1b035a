"""The data guard: text of credentialed sources stays on this machine unless somebody attests that it may leave.

    with guard.protect([guard.Subject.of(dataset, task="...")], guard.attestation_from(arguments)):
        ...  # whatever holds items of the task

What a `protect` block covers holds for the whole process, every thread of it: each client of an endpoint, whether of a model
or of a judge, asks `require_endpoint` by itself, and everything that would write texts where others can read them asks
`require_text_outlet` or `require_push`. Several blocks add up. Open data are never in the way: without a credentialed
subject everything is allowed and nothing is logged.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from medical_tasks.errors import MedicalTasksError, RefusedError, UsageError
from medical_tasks.guard import withheld
from medical_tasks.guard.addresses import Address, Host, is_local, is_loopback_host, read_address, read_host
from medical_tasks.guard.audit_log import audit_path, write_decision
from medical_tasks.spec import Access, DatasetSpec

__all__ = [
    "NOTHING_ATTESTED",
    "Attestation",
    "Subject",
    "add_guard_arguments",
    "attestation_from",
    "is_local",
    "is_loopback_host",
    "protect",
    "protecting",
    "protects",
    "require_endpoint",
    "require_processes",
    "require_push",
    "require_text_outlet",
    "require_visible_endpoint",
    "text_allowed",
]

ALLOW = "--allow-remote"
ATTEST = "--attest-zero-retention"

# The source's own rule, in our words, by the beginning of its licence.
_RULES = {
    "PhysioNet-Credentialed": (
        "PhysioNet's rule for credentialed data (24 September 2025): use models on your own machines; no third party may keep "
        "what it is sent"
    )
}
_USER = re.compile(r"//.*@", re.DOTALL)  # a password may stand there
_ANY_CREDENTIALED = "access is given person by person: its text stays with those who were given it"


@dataclass(frozen=True, kw_only=True)
class Subject:
    """Whose text is held.

    Attributes:
        name: the task, or the dataset when no task is in play.
        dataset: the dataset.
        access: its access class.
        rule: what its source demands, in one sentence without a full stop.
    """

    name: str
    dataset: str
    access: Access
    rule: str

    @classmethod
    def of(cls, spec: DatasetSpec, *, task: str = "") -> Subject:
        """Makes the subject of a dataset, and of the task that uses it."""
        rule = next((text for start, text in _RULES.items() if spec.licence.startswith(start)), _ANY_CREDENTIALED)
        said = f"{spec.title} ({spec.licence}, {spec.homepage}): {rule}"
        return cls(name=task or spec.name, dataset=spec.name, access=spec.access, rule=said)


@dataclass(frozen=True, kw_only=True)
class Attestation:
    """What somebody answers for.

    Attributes:
        hosts: where text may be sent to.
        zero_retention: whether none of them keeps it.
    """

    hosts: tuple[Host, ...] = ()
    zero_retention: bool = False

    def covers(self, address: Address) -> bool:
        """Says whether a host is one of those attested: exactly the same name, and the same port where one was given."""
        return self.zero_retention and any(
            host.name == address.host and host.port in (None, address.port) for host in self.hosts
        )


NOTHING_ATTESTED = Attestation()


def add_guard_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the two options that together let text of credentialed data leave this machine."""
    parser.add_argument(
        ALLOW,
        action="append",
        default=[],
        metavar="HOST",
        help=f"credentialed data: this host may get the text; only with {ATTEST}; logged",
    )
    parser.add_argument(
        ATTEST, action="store_true", help=f"credentialed data: you attest that no {ALLOW} host keeps what it is sent"
    )


def attestation_from(arguments: argparse.Namespace) -> Attestation:
    """Reads the two options.

    Raises:
        UsageError: Only one of them is there, or a host is not of the form.
    """
    hosts: list[str] = arguments.allow_remote
    attested: bool = arguments.attest_zero_retention
    if hosts and not attested:
        raise UsageError(
            f"{ALLOW} {' '.join(hosts)} alone changes nothing: add {ATTEST}, by which you attest that this host keeps nothing of "
            "what it is sent. Both are written to the audit log."
        )
    if attested and not hosts:
        raise UsageError(f"{ATTEST} alone changes nothing: name the host it is about with {ALLOW} HOST.")
    return Attestation(hosts=tuple(read_host(host) for host in hosts), zero_retention=attested)


def text_allowed(spec: DatasetSpec) -> bool:
    """Says whether texts of a dataset, and answers that may quote them, may stand in results, logs and reports."""
    return spec.access == "open"


class _Policy:
    """What one `protect` block demands, and what it has decided already."""

    def __init__(self, subjects: Sequence[Subject], attestation: Attestation, audit: Path | None) -> None:
        self.subjects = tuple(subject for subject in subjects if subject.access != "open")
        self._attestation = attestation
        self._audit = audit
        self._lock = threading.Lock()
        self._told: set[tuple[str, str]] = set()

    def require(self, url: str | None, purpose: str, *, what: str = "") -> None:
        """Decides about an address; `url` None is one in this process, `what` names one that cannot be seen."""
        if not self.subjects:
            return
        address = read_address(url) if url is not None else None
        local = not what and (url is None or is_local(url))
        allowed = local or (address is not None and self._attestation.covers(address))
        where = what or (
            "this process" if url is None else str(address) if address is not None else repr(_USER.sub("//", url))
        )
        with self._lock:
            if (purpose, where) not in self._told:
                # Written before the decision counts; only then known as told.
                self._write("local" if local else "allowed" if allowed else "refused", purpose, where, address)
                self._told.add((purpose, where))
        if not allowed:
            raise self._refusal(purpose, where, address, local_name=url is not None and is_loopback_host(url))

    def _write(self, decision: str, purpose: str, where: str, address: Address | None) -> None:
        path = self._audit or audit_path()
        for subject in self.subjects:
            write_decision(
                path,
                {
                    "decision": decision,
                    "task": subject.name,
                    "dataset": subject.dataset,
                    "purpose": purpose,
                    "host": where,
                    "scheme": address.scheme if address is not None else None,
                    "allow_remote": [f"{host.name}:{host.port or '*'}" for host in self._attestation.hosts],
                    "attest_zero_retention": self._attestation.zero_retention,
                },
            )

    def _refusal(self, purpose: str, where: str, address: Address | None, *, local_name: bool) -> RefusedError:
        about = self.about()
        use = "Use a model on this machine: hf/, vllm/, vllm-server/, or a server on 127.0.0.1 or a unix socket."
        if address is None:
            return RefusedError(
                f"{about}: its text may not go to {where} ({purpose}), since it cannot be told where that leads. {use}"
            )
        reason = "is called this machine's but leads elsewhere" if local_name else "is not this machine"
        return RefusedError(
            f"{about}: its text may not be sent to {where} ({purpose}), which {reason}. {use} If the data use agreement allows "
            f"this host and it keeps nothing of what it is sent, say so with both {ALLOW} {where} and {ATTEST}; that is written "
            f"to {self._audit or audit_path()}"
        )

    def about(self) -> str:
        """Names the tasks, and each source's rule once."""
        rules = dict.fromkeys(subject.rule for subject in self.subjects)
        return f"{', '.join(dict.fromkeys(subject.name for subject in self.subjects))}: {'; '.join(rules)}"


_policies: list[_Policy] = []


@contextlib.contextmanager
def protect(
    subjects: Sequence[Subject], attestation: Attestation = NOTHING_ATTESTED, *, audit: Path | None = None
) -> Iterator[None]:
    """Guards the text of some tasks or datasets in this whole process, for the length of a `with` block.

    Meanwhile neither this process nor one it starts leaves its memory in a core file.

    Args:
        subjects: whose text is held; open ones change nothing.
        attestation: what the user answers for.
        audit: the log of decisions; the user's own by default.

    Raises:
        WithheldError: In place of an error that is not of this package: its words may quote the text that is held.
    """
    policy = _Policy(subjects, attestation, audit)
    _policies.append(policy)
    try:
        with withheld.no_core_files() if policy.subjects else contextlib.nullcontext():
            yield
    except (MedicalTasksError, BrokenPipeError):
        raise
    except Exception as error:  # whatever it is: others' errors quote what they stumbled over
        if not policy.subjects or withheld.is_full_disk(error):
            raise
        raise withheld.WithheldError(withheld.told(error)) from None
    finally:
        _policies.remove(policy)


def protecting() -> bool:
    """Says whether text of a credentialed source is held."""
    return any(policy.subjects for policy in tuple(_policies))


def protects(name: str) -> bool:
    """Says whether a `protect` block knows this task or dataset, credentialed ones only."""
    return any(name in (subject.name, subject.dataset) for policy in tuple(_policies) for subject in policy.subjects)


def require_endpoint(url: str | None, purpose: str) -> None:
    """Asks whether text may be sent to an endpoint. Cheap when asked again.

    Args:
        url: its base URL; None for a model in this process.
        purpose: what it is for: `model`, `judge`.

    Raises:
        RefusedError: It may not: names the tasks, their sources' rules, the host, the purpose, and the two options.
    """
    for policy in tuple(_policies):
        policy.require(url, purpose)


def require_visible_endpoint(what: str, purpose: str) -> None:
    """Refuses a model whose address cannot be seen from here (a provider of another package, a hosted service).

    Args:
        what: how to name it.
        purpose: as in `require_endpoint`.

    Raises:
        RefusedError: Credentialed text is held; nothing that is attested changes this.
    """
    for policy in tuple(_policies):
        policy.require(None, purpose, what=what)


def require_processes() -> None:
    """Asks whether questions and answers may be shared with processes of this run on other machines (`torchrun --nnodes`).

    Where they are is named by `MASTER_ADDR` alone, which therefore is the host to attest.

    Raises:
        RefusedError: They may not.
    """
    everywhere = os.environ.get("WORLD_SIZE", "1")
    if everywhere not in ("1", os.environ.get("LOCAL_WORLD_SIZE")):
        host, port = os.environ.get("MASTER_ADDR", ""), os.environ.get("MASTER_PORT", "")
        require_endpoint(f"tcp://{host}{f':{port}' if port else ''}", "processes of this run on other machines")


def require_push(what: str) -> None:
    """Refuses to publish rows or answers; nothing that is attested changes this.

    Args:
        what: what would be pushed, and where to.

    Raises:
        RefusedError: Credentialed text is held.
    """
    _refuse(what, "would leave this machine with it, for others to read")


def require_text_outlet(kind: str) -> None:
    """Refuses a place where questions or answers would be written as text: details, logs of samples, trackers.

    Args:
        kind: what it is (`--save-details`).

    Raises:
        RefusedError: Credentialed text is held.
    """
    _refuse(kind, "would hold questions and answers as text outside the private store")


def _refuse(what: str, why: str) -> None:
    for policy in tuple(_policies):
        if policy.subjects:
            raise RefusedError(f"{policy.about()}: {what} is refused, since it {why}. Leave it out.")
