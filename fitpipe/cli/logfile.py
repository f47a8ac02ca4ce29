"""What happens in a run, as lines of a file."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fitpipe.cli.printable import printable


class _OneLine(logging.Formatter):
    """A record as one line of what can be printed, whatever a file's name may hold."""

    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record), keep="")


@contextmanager
def logged_to(path: Path | None) -> Iterator[None]:
    """Append what fitpipe logs to a file meanwhile; None logs nowhere.

    Raises
    ------
    OutputError
        The file cannot be written.
    """
    log = logging.getLogger("fitpipe")
    handler: logging.Handler = logging.NullHandler()
    if path is not None:
        from fitpipe.output import check_writable
        from fitpipe.output.atomic import refused

        check_writable(path.parent)
        try:
            handler = logging.FileHandler(path, encoding="utf-8", errors="backslashreplace")
        except OSError as error:
            raise refused(error, path) from error
        handler.setFormatter(_OneLine("%(asctime)s %(levelname)s %(message)s"))
    before = (log.level, log.propagate)
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    log.propagate = False  # nothing of it on the terminal
    try:
        yield
    finally:
        log.level, log.propagate = before
        log.removeHandler(handler)
        handler.close()
