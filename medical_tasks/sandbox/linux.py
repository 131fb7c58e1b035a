"""The few Linux calls for which Python 3.11 has no function. Each raises `OSError` with what it was about."""

from __future__ import annotations

import ctypes
import errno
import os
from typing import Final

__all__ = [
    "MOUNT_BIND",
    "MOUNT_NODEV",
    "MOUNT_NOEXEC",
    "MOUNT_NOSUID",
    "MOUNT_PRIVATE",
    "MOUNT_READ_ONLY",
    "MOUNT_RECURSIVE",
    "MOUNT_REMOUNT",
    "NAMESPACES",
    "drop_bounding_set",
    "drop_capabilities",
    "end_with_parent",
    "install_filter",
    "mount",
    "no_new_privileges",
    "set_host_name",
    "swap_root",
    "unshare",
]

# User, mount, process, network, IPC and host name namespaces (linux/sched.h).
NAMESPACES: Final = 0x1000_0000 | 0x0002_0000 | 0x2000_0000 | 0x4000_0000 | 0x0800_0000 | 0x0400_0000

# linux/mount.h
MOUNT_READ_ONLY: Final = 1
MOUNT_NOSUID: Final = 2
MOUNT_NODEV: Final = 4
MOUNT_NOEXEC: Final = 8
MOUNT_REMOUNT: Final = 32
MOUNT_BIND: Final = 4096
MOUNT_RECURSIVE: Final = 16384
MOUNT_PRIVATE: Final = 1 << 18
_DETACH: Final = 2

# linux/prctl.h, linux/capability.h, linux/seccomp.h
_PR_SET_PDEATHSIG: Final = 1
_PR_SET_SECCOMP: Final = 22
_PR_CAPBSET_DROP: Final = 24
_PR_SET_NO_NEW_PRIVS: Final = 38
_PR_CAP_AMBIENT: Final = 47
_PR_CAP_AMBIENT_CLEAR_ALL: Final = 4
_SECCOMP_MODE_FILTER: Final = 2
_CAPABILITY_VERSION_3: Final = 0x2008_0522
_MOST_CAPABILITIES: Final = 64

_libc = ctypes.CDLL(None, use_errno=True)


class _Filter(ctypes.Structure):
    """`struct sock_fprog`."""

    _fields_ = (("length", ctypes.c_ushort), ("program", ctypes.c_void_p))


def _done(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)


def unshare(flags: int) -> None:
    """Moves this process into fresh namespaces; of the process namespace, its children."""
    _done(_libc.unshare(ctypes.c_int(flags)), "unshare")


def mount(source: str | None, target: str, kind: str | None, flags: int, options: str | None = None) -> None:
    """Mounts, binds or remounts."""
    texts = [None if text is None else os.fsencode(text) for text in (source, target, kind, options)]
    result = _libc.mount(texts[0], texts[1], texts[2], ctypes.c_ulong(flags), texts[3])
    _done(result, f"mount {source} on {target}" if source else f"mount on {target}")


def swap_root(folder: str, pivot_root: int) -> None:
    """Makes a folder, which is a mount, the root of this mount namespace and lets go of the old root.

    Args:
        folder: the new root.
        pivot_root: number of the system call, which the C library does not wrap.
    """
    os.chdir(folder)
    _done(_libc.syscall(ctypes.c_long(pivot_root), b".", b"."), "pivot_root")
    # Both roots are now stacked on one place, the old one on top.
    _done(_libc.umount2(b".", ctypes.c_int(_DETACH)), "umount of the old root")
    os.chdir("/")


def set_host_name(name: str) -> None:
    """Names this host name namespace."""
    text = name.encode()
    _done(_libc.sethostname(text, ctypes.c_size_t(len(text))), "sethostname")


def _prctl(option: int, *arguments: int) -> int:
    words = [ctypes.c_ulong(argument) for argument in (*arguments, 0, 0, 0, 0)[:4]]
    return int(_libc.prctl(ctypes.c_int(option), *words))


def end_with_parent(signal: int) -> None:
    """Asks for a signal when the parent ends; forgotten by the kernel when the user id changes."""
    _done(_prctl(_PR_SET_PDEATHSIG, signal), "parent death signal")


def drop_bounding_set() -> None:
    """Gives up every capability that starting a program could bring."""
    for capability in range(_MOST_CAPABILITIES):
        if _prctl(_PR_CAPBSET_DROP, capability) != 0:
            if ctypes.get_errno() != errno.EINVAL or capability == 0:
                _done(-1, "capability bounding set")
            break  # the kernel knows no more of them


def drop_capabilities(capset: int) -> None:
    """Gives up every capability this process has.

    Args:
        capset: number of the system call, which the C library does not wrap.
    """
    _done(_prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL), "ambient capabilities")
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    nothing = (ctypes.c_uint32 * 6)()
    _done(_libc.syscall(ctypes.c_long(capset), header, nothing), "capset")


def no_new_privileges() -> None:
    """Sees to it that no program started from here on gains anything by being set-user-ID."""
    _done(_prctl(_PR_SET_NO_NEW_PRIVS, 1), "no_new_privs")


def install_filter(program: bytes) -> None:
    """Installs the filter of system calls; there is no way back.

    Args:
        program: classic BPF, eight bytes an instruction.
    """
    buffer = ctypes.create_string_buffer(program, len(program))
    argument = _Filter(len(program) // 8, ctypes.cast(buffer, ctypes.c_void_p))
    _done(_prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.addressof(argument)), "seccomp")
