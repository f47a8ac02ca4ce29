"""Plain text tables for a terminal."""

from __future__ import annotations

from collections.abc import Sequence


def table(
    headings: Sequence[str], rows: Sequence[Sequence[str]], *, left: Sequence[int] = (0,)
) -> str:
    """Columns as wide as their longest cell; those of ``left`` to the left, others to the right."""
    lines = [list(headings), *(list(row) for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(headings))]
    text = []
    for line in lines:
        cells = [cell.rjust(width) for cell, width in zip(line, widths, strict=True)]
        for i in left:
            cells[i] = line[i].ljust(widths[i])
        text.append("  ".join(cells).rstrip())
    text.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(text)


def mm(metres: float, digits: int = 1) -> str:
    """A length in millimetres, ``n/a`` where there is none."""
    return "n/a" if metres != metres else f"{metres * 1e3:.{digits}f} mm"
