"""What HDF5 writes through, so that errors of the disk are not lost among its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

_T = TypeVar("_T")


class Sink:
    """A binary file that remembers the first error met in using it.

    From then on, and once it is given up, it says that all is well and keeps nothing: HDF5 can then
    be closed, which it insists on.
    """

    def __init__(self, file: Any) -> None:
        self._file = file
        self.error: BaseException | None = None
        self.is_given_up = False

    def write(self, data: memoryview) -> int:
        """Write at the present place."""
        return self._tried(lambda: self._file.write(data), data.nbytes)

    def read(self, size: int = -1) -> bytes:
        """Read so many bytes from the present place."""
        return self._tried(lambda: self._file.read(size), b"")

    def readinto(self, buffer: memoryview) -> int:
        """Read at the present place."""
        return self._tried(lambda: self._file.readinto(buffer), buffer.nbytes)

    def seek(self, offset: int, whence: int = 0) -> int:
        """Go to a place."""
        return self._tried(lambda: self._file.seek(offset, whence), offset)

    def tell(self) -> int:
        """The present place."""
        return self._tried(self._file.tell, 0)

    def truncate(self, size: int) -> int:
        """Cut the file, or make it longer."""
        return self._tried(lambda: self._file.truncate(size), size)

    def flush(self) -> None:
        """Hand what is buffered to the system."""
        self._tried(self._file.flush, None)

    def _tried(self, call: Callable[[], _T], otherwise: _T) -> _T:
        if self.is_given_up:
            return otherwise
        try:
            return call()
        except BaseException as error:
            self.error = self.error or error
            self.is_given_up = True
            raise
