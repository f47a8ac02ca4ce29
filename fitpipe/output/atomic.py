"""Files that appear whole or not at all."""

from __future__ import annotations

import errno
import os
import re
import secrets
import time
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Final

from fitpipe.errors import OutputError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_PART: Final = re.compile(r"\..{1,40}\.[0-9a-f]{12}\.part")
_REPLACE_WAITS_S: Final = (0.05, 0.1, 0.2, 0.4)

_REASONS: Final[dict[int, tuple[str, str | None]]] = {
    errno.EACCES: ("permission denied", "close programs that use it, or choose another folder"),
    errno.EPERM: ("permission denied", "close programs that use it, or choose another folder"),
    errno.EBUSY: ("it is in use by another program", "close that program and try again"),
    errno.ENOSPC: ("the disk is full", "free some space or choose another folder"),
    errno.EDQUOT: ("the disk quota is used up", "free some space or choose another folder"),
    errno.EFBIG: ("the file is larger than the system allows", "choose another folder"),
    errno.EROFS: ("the file system is read-only", "choose another folder"),
    errno.ENAMETOOLONG: ("the name is too long", "choose a shorter one"),
}


class PartFile:
    """A new file, open for writing, that takes the place of another one as a whole or not at all.

    It lies in the same folder (its name starts with ``.`` and ends with ``.part``); folders that
    are missing are made. A link is followed, so it goes on pointing to the file.

    Raises
    ------
    OutputError
        The file cannot be made.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._target = Path(os.path.realpath(path)) if path.is_symlink() else path
            if self._target.is_dir():
                raise OutputError(
                    "cannot be written: it is a folder, expected the name of a file",
                    path=path,
                    hint="add a file name such as fit.h5",
                )
            _make_folder(self._target.parent)
            _check_free(self._target)
            self._part, self.handle = _new_part(self._target)
        except OSError as error:
            raise refused(error, path) from error

    def put_in_place(self) -> None:
        """Let the data reach the disk, then take the place of the old file in one step.

        Raises
        ------
        OutputError
            That cannot be done; the part file is gone and the old file as it was.
        """
        try:
            try:
                with self.handle:
                    self.handle.flush()
                    os.fsync(self.handle.fileno())
                _replace(self._part, self._target)
            except BaseException:
                self._part.unlink(missing_ok=True)
                raise
            _sync_folder(self._target.parent)
        except OSError as error:
            raise refused(error, self.path) from error

    def discard(self) -> None:
        """Remove the part file; the old file is as it was."""
        with suppress(OSError):  # what could not be written is not wanted any more
            self.handle.close()
        self._part.unlink(missing_ok=True)


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file so that a reader sees the old one or the new one, never a part of either.

    Raises
    ------
    OutputError
        The file cannot be written; the part file is gone and the old file as it was.
    """
    part = PartFile(path)
    try:
        part.handle.write(data)
    except BaseException as error:
        part.discard()
        if isinstance(error, OSError):
            raise refused(error, path) from error
        raise
    part.put_in_place()


def sweep_parts(folder: str | Path) -> list[Path]:
    """Remove the part files of writers that ended before they were done.

    Every writer holds a lock on its part file, which the system releases when the writer ends in
    whatever way; a part file that is still locked is left alone. Where there are no such locks
    (Windows), a file that is open cannot be removed.

    Returns
    -------
    list of Path
        What was removed.
    """
    removed = []
    for part in sorted(Path(folder).glob(".*.part")):
        if not _PART.fullmatch(part.name):
            continue
        try:
            with part.open("rb") as handle:
                if _lock(handle.fileno()):
                    part.unlink()
                    removed.append(part)
        except OSError:
            continue  # gone by now, or in use, or not ours to remove
    return removed


def check_writable(folder: str | Path) -> None:
    """Make sure that files can be written into a folder; it is made if it is missing.

    Raises
    ------
    OutputError
        It cannot be made or written into.
    """
    folder = Path(folder)
    try:
        _make_folder(folder)
        probe = _part_of(folder / "probe")
        probe.touch(exist_ok=False)
        probe.unlink()
    except OSError as error:
        raise refused(error, folder) from error


def _make_folder(folder: Path) -> None:
    """Make a folder and those above it, where they are missing; a file in the way is an error."""
    for above in (folder, *folder.parents):
        if above.is_dir():
            break
        if above.exists():
            raise OutputError(
                f"cannot be used as the output folder: {above.name} is a file",
                path=folder,
                hint="choose another folder, or move that file",
            )
    folder.mkdir(parents=True, exist_ok=True)


def _part_of(target: Path) -> Path:
    # the random middle keeps two writers apart; the cut keeps the name within 255 bytes
    return target.with_name(f".{target.name[:40]}.{secrets.token_hex(6)}.part")


def _new_part(target: Path) -> tuple[Path, BinaryIO]:
    """A new part file, open and locked: see `sweep_parts`."""
    while True:
        part = _part_of(target)
        handle = part.open("x+b")
        if _lock(handle.fileno()) and part.exists():
            return part, handle
        handle.close()  # swept away in the moment before it was locked
        part.unlink(missing_ok=True)


def _check_free(path: Path) -> None:
    """Make sure that no other program has a file open for writing.

    The HDF5 library locks what it writes. Such a file could be replaced all the same, but then the
    other program would go on writing into one that no longer has a name.

    Raises
    ------
    OutputError
        Another program holds the file's lock.
    """
    if fcntl is None or not path.exists():
        return
    with path.open("rb") as handle:
        if not _lock(handle.fileno(), is_shared=True):
            raise OutputError(
                "is locked: another program has it open for writing",
                path=path,
                hint="close that program, or choose another name",
            )


def _lock(descriptor: int, *, is_shared: bool = False) -> bool:
    """Take the lock of an open file; whether nobody else holds it (but to read, if shared)."""
    if fcntl is None:
        return True
    kind = fcntl.LOCK_SH if is_shared else fcntl.LOCK_EX
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno in (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS):
            return True  # a network share without locks: one run at a time is up to the user
        raise
    return True


def _replace(part: Path, target: Path) -> None:
    for wait_s in _REPLACE_WAITS_S:
        try:
            os.replace(part, target)
        except PermissionError:
            # on Windows a reader or a virus scanner holds the old file for a moment
            time.sleep(wait_s)
        else:
            return
    os.replace(part, target)


def _sync_folder(folder: Path) -> None:
    """Let the new name reach the disk as well."""
    if os.name == "nt":  # Windows cannot open a folder to sync it
        return
    try:
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        # the file is in place; folders nobody may list and some network shares cannot be synced
        if error.errno not in (errno.EACCES, errno.EINVAL, errno.ENOTSUP):
            raise


def refused(error: OSError, path: Path) -> OutputError:
    """The error that tells a user why a file or folder cannot be written."""
    unknown = (error.strerror or str(error), None)
    reason, hint = _REASONS.get(error.errno or 0, unknown)
    return OutputError(f"cannot be written: {reason}", path=path, hint=hint)
