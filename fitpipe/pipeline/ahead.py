"""Does the next piece of work while the present one is used."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

_T = TypeVar("_T")
_END: Final = object()


def one_ahead(items: Iterable[_T], *, is_on: bool) -> Iterator[_T]:
    """The items in their order, each made in another thread while the one before is used.

    One after the other if that is not on.
    """
    if not is_on:
        yield from items
        return
    made = iter(items)
    with ThreadPoolExecutor(1) as pool:
        following = pool.submit(next, made, _END)
        while (item := following.result()) is not _END:
            following = pool.submit(next, made, _END)
            yield item  # type: ignore[misc]
