"""One run at a time in an output folder.

The lock belongs to the process that hands out takes. Should that be killed, workers of a cluster
may still be at takes of its run when the next one starts, so each asks before it writes whether
its run still has the folder.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from filelock import FileLock, Timeout

from fitpipe.errors import FolderInUseError

STATE: Final = ".fitpipe"  # folder within the output folder for what is not a result
LEASE: Final = "owner.json"  # in it: the run that has the folder, or had it last


@contextmanager
def folder_lock(folder: Path) -> Iterator[str]:
    """Hold the lock of an output folder; the system releases it if this process dies.

    Yields
    ------
    str
        Name of the run, as the lease gives it.

    Raises
    ------
    FolderInUseError
        Another process holds it; says which.
    OutputError
        The lock cannot be written.
    """
    from fitpipe.output.atomic import write_atomically

    owner = folder / STATE / LEASE
    run = secrets.token_hex(8)
    me = {
        "run": run,
        "process": os.getpid(),
        "machine": socket.gethostname(),
        "since": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    lock = FileLock(folder / STATE / "lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise FolderInUseError(
            f"another run writes into this folder{_who(owner)}",
            path=folder,
            hint="wait until it has ended, or choose another output.folder",
        ) from None
    try:
        write_atomically(owner, json.dumps(me).encode())
        yield run
    finally:
        lock.release()


def has_lease(lease: Path, run: str) -> bool:
    """Whether a run still has its folder; also false where this machine does not see the file."""
    try:
        return bool(json.loads(lease.read_bytes())["run"] == run)
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _who(owner: Path) -> str:
    try:
        who = json.loads(owner.read_bytes())
        return f": process {who['process']} on {who['machine']}, since {who['since']}"
    except (OSError, ValueError, KeyError, TypeError):
        return ""
