"""Does the next piece of work while the present one is used."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

_T = TypeVar("_T")


def one_ahead(work: Iterable[Callable[[], _T]], *, is_on: bool) -> Iterator[_T]:
    """The results of some calls in their order, each made in another thread while the one before
    is used; one after the other if that is not on."""
    if not is_on:
        yield from (call() for call in work)
        return
    with ThreadPoolExecutor(1) as pool:
        waiting = None
        for call in work:
            following = pool.submit(call)
            if waiting is not None:
                yield waiting.result()
            waiting = following
        if waiting is not None:
            yield waiting.result()
