"""Hashes of input files, remembered from run to run for as long as the files stay untouched."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Final

from fitpipe.batch.fingerprint import file_sha256
from fitpipe.errors import InputError

# A file written again within the clock's tick after it was hashed would look untouched, so a hash
# is remembered only for a file that was at rest this long, and not for one from the future.
_AT_REST_NS: Final = 2_000_000_000

_State = tuple[int, int, int, int, int]


class InputHashes:
    """SHA-256 of files, read again only where size, times or place on the disk have changed.

    Parameters
    ----------
    store : Path
        JSON file that keeps them; one that cannot be read counts as empty.
    """

    def __init__(self, store: Path) -> None:
        self._store = store
        self._known = _stored(store)
        self._is_new = False

    def __call__(self, path: Path) -> str:
        """The hash of a file.

        Raises
        ------
        InputError
            It is not there or cannot be read.
        """
        key = str(path)
        state = _state(path)
        if key in self._known and self._known[key][0] == state:
            return self._known[key][1]
        sha256 = file_sha256(path)
        touched_ns = max(state[1:3])
        if touched_ns + _AT_REST_NS < time.time_ns() and state == _state(path):
            self._known[key] = (state, sha256)
            self._is_new = True
        return sha256

    def save(self) -> None:
        """Write what was learnt.

        Raises
        ------
        OutputError
            The file cannot be written.
        """
        from fitpipe.output.atomic import write_atomically

        if self._is_new:
            write_atomically(self._store, json.dumps(self._known).encode())
            self._is_new = False


def _state(path: Path) -> _State:
    """What changes when a file is written or replaced: size, times, place on the disk."""
    try:
        found = path.stat()
    except FileNotFoundError:
        raise InputError("no such file", path=path) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path=path) from error
    return (found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino, found.st_dev)


def _stored(store: Path) -> dict[str, tuple[_State, str]]:
    try:
        rows = json.loads(store.read_bytes())
        return {path: (_as_state(state), str(sha256)) for path, (state, sha256) in rows.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}  # a lost cache costs time, nothing else


def _as_state(numbers: list[int]) -> _State:
    size, mtime_ns, ctime_ns, inode, device = map(int, numbers)
    return (size, mtime_ns, ctime_ns, inode, device)
