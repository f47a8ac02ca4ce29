"""Opens a file that may be compressed or carry a byte order mark, and shows how it starts."""

from __future__ import annotations

import codecs
import gzip
import io
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from fitpipe.errors import InputError

_HEAD_BYTES = 1 << 18
_MOST_BYTES = 1 << 31  # of a gzipped file, unpacked
_MOST_PACKED = 50  # times the size of a larger gzipped file, unpacked
_LONGEST_LINE = 1 << 24
_GZIP_MAGIC = b"\x1f\x8b"


@dataclass(frozen=True)
class FileHead:
    """The start of a file, enough to tell its format.

    Parameters
    ----------
    path : Path
    start : bytes
        At most the first 256 KiB, unpacked if the file is gzipped.
    """

    path: Path
    start: bytes
    is_gzip: bool = False

    @property
    def suffix(self) -> str:
        """Lower-case ending; for a gzipped file the one under ``.gz``."""
        name = self.path.name.lower()
        return Path(name.removesuffix(".gz") if self.is_gzip else name).suffix

    @cached_property
    def encoding(self) -> str:
        """Text encoding: by the mark at the start, else UTF-8 if it can be, else Windows-1252."""
        if self.start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return "utf-16"
        try:
            # a character may be cut where the head ends
            codecs.getincrementaldecoder("utf-8")().decode(self.start)
        except UnicodeDecodeError:
            return "cp1252"
        return "utf-8-sig"

    @cached_property
    def is_text(self) -> bool:
        """Whether the start has no byte that text does not have."""
        return self.encoding == "utf-16" or b"\x00" not in self.start

    @cached_property
    def lines(self) -> list[str]:
        """The first lines as text, without line ends; the last one may be cut."""
        if not self.is_text:
            return []
        return self.start.decode(self.encoding, errors="replace").splitlines()

    def text_lines(self) -> list[str]:
        """Every line of the file, without line ends.

        Raises
        ------
        InputError
            The gzip stream is damaged, or unpacks to more than a recording can be.
        """
        return self.read_text().splitlines()

    def iter_lines(self) -> Iterator[str]:
        """The lines of the file one after the other, without line ends.

        Raises
        ------
        InputError
            The gzip stream is damaged, or unpacks to more than a recording can be.
        """
        most = max(_MOST_BYTES, _MOST_PACKED * self.path.stat().st_size)
        done = 0
        try:
            with (
                gzip.open(self.path, "rb") if self.is_gzip else self.path.open("rb") as opened,
                io.TextIOWrapper(opened, encoding=self.encoding, errors="replace") as text,
            ):
                while line := text.readline(_LONGEST_LINE):
                    done += len(line)
                    if done > most:
                        raise self._too_much(most)
                    yield line.removesuffix("\n")
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise _damaged_gzip(self.path, error) from error

    def read_text(self) -> str:
        """The whole file as text."""
        # Windows-1252 leaves five bytes undefined; a damaged label is better than no take
        return self.read_bytes().decode(self.encoding, errors="replace")

    def read_bytes(self) -> bytes:
        """The whole file, unpacked."""
        if not self.is_gzip:
            return self.path.read_bytes()
        try:
            with gzip.open(self.path, "rb") as unpacked:
                content = unpacked.read(_MOST_BYTES + 1)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise _damaged_gzip(self.path, error) from error
        if len(content) > _MOST_BYTES:
            raise self._too_much(_MOST_BYTES)
        return content

    def _too_much(self, most: int) -> InputError:
        return InputError(
            f"unpacks to more than {most >> 20} MiB from {self.path.stat().st_size} bytes",
            path=self.path,
            hint="unpack it first, if that is really what it holds",
        )


def read_head(path: Path) -> FileHead:
    """Read the start of a file.

    Raises
    ------
    InputError
        There is no such file, it is a folder, cannot be opened, is empty or a damaged gzip.
    """
    try:
        if path.is_dir():
            raise InputError(
                "is a folder, expected a file",
                path=path,
                hint="give a file in it, or use `fitpipe run` for a folder of takes",
            )
        with path.open("rb") as file:
            start = file.read(_HEAD_BYTES)
    except FileNotFoundError:
        raise InputError("no such file", path=path, hint=_near_file(path)) from None
    except OSError as error:
        raise InputError(f"cannot be opened: {error.strerror}", path=path) from error
    is_gzip = start.startswith(_GZIP_MAGIC)
    if is_gzip:
        try:
            with gzip.open(path, "rb") as unpacked:
                start = unpacked.read(_HEAD_BYTES)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise _damaged_gzip(path, error) from error
    if not start:
        raise InputError("empty file (0 bytes)", path=path)
    return FileHead(path, start, is_gzip)


def number_or_none(text: str | None) -> float | None:
    """A number of a header, with a point or a comma; None if it is none."""
    try:
        return float((text or "").strip().replace(",", "."))
    except ValueError:
        return None


def _damaged_gzip(path: Path, error: Exception) -> InputError:
    return InputError(
        f"the gzip stream is truncated or damaged ({error})", path=path, hint="copy the file again"
    )


def _near_file(path: Path) -> str | None:
    from fitpipe.errors import nearest_names

    if not path.parent.is_dir():
        return f"there is no folder {path.parent} either"
    near = nearest_names(path.name, (item.name for item in path.parent.iterdir()), n=1)
    return f"did you mean {near[0]!r}?" if near else None
