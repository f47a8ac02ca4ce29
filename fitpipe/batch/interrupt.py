"""Ends a run in good order when it is interrupted (Ctrl-C) or told to terminate."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final

_SIGNALS: Final = ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")  # those that the system has


class Interrupted(KeyboardInterrupt):
    """The run was told to end by a signal, whose number is ``signum``."""

    def __init__(self, signum: int) -> None:
        self.signum = signum
        super().__init__(f"ended by {signal.Signals(signum).name}")


class Interrupts:
    """Turns the first signal into `Interrupted`; later ones are ignored while the run tidies up.

    A context manager. Outside the main thread it does nothing, since signals do not arrive there.
    """

    def __init__(self) -> None:
        self._came: int | None = None
        self._is_shielded = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():
            for name in _SIGNALS:
                number = getattr(signal, name, None)
                # one that is ignored stays so: nohup means it
                if number is not None and signal.getsignal(number) != signal.SIG_IGN:
                    self._before[number] = signal.signal(number, self._arrived)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @contextmanager
    def held_off(self) -> Iterator[None]:
        """A signal that arrives meanwhile is raised at the end."""
        self._is_shielded = True
        try:
            yield
        finally:
            self._is_shielded = False
        if self._came is not None:
            raise Interrupted(self._came)

    def _arrived(self, signum: int, frame: FrameType | None) -> None:
        del frame
        is_first, self._came = self._came is None, self._came or signum
        if is_first and not self._is_shielded:
            raise Interrupted(signum)
