"""Pages for fits and folders of fits on disk: reads them, has `report` draw, writes the HTML."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping
from pathlib import Path

from fitpipe.config import ReportConfig
from fitpipe.errors import FitpipeError, OutputError
from fitpipe.output import check_writable, load_fit, refuse_same, write_atomically
from fitpipe.report import BatchRow, batch_page, fitted_row, report_page

BATCH_PAGE = "report.html"
_SUMMARY = "summary.csv"
_JOURNAL = "summary.jsonl"

Progress = Callable[[int, int], None]


def report_take(path: Path, page: Path | None = None, *, limits: ReportConfig) -> Path:
    """Write the page of one fit; returns where it is.

    Parameters
    ----------
    path : Path
        A file of a fit.
    page : Path, optional
        Default: beside the fit, ending in ``.html``.
    limits : ReportConfig

    Raises
    ------
    OutputError
        The fit cannot be read, or the page cannot be written.
    """
    page = page or path.with_suffix(".html")
    refuse_same(page, [path], "the fit itself")
    write_atomically(page, report_page(load_fit(path), limits).encode())
    return page


def report_folder(
    folder: Path,
    page: Path | None = None,
    *,
    limits: ReportConfig,
    progress: Progress | None = None,
) -> tuple[Path, int, int]:
    """Write the page of a folder of fits, and beside it one for each take.

    Takes are all ``.h5`` files of the folder, and whatever its ``summary.csv`` names besides: those
    that failed. A fit that cannot be read is a row with the reason.

    Parameters
    ----------
    folder : Path
    page : Path, optional
        Default: ``report.html`` in the folder. Pages of takes go where it is.
    limits : ReportConfig
    progress : callable, optional
        Called with (takes done, takes in all).

    Returns
    -------
    page : Path
    n_takes, n_without : int
        Takes in all, and those without a fit.

    Raises
    ------
    OutputError
        The folder holds no fits and no summary, or a page cannot be written.
    """
    files = {path.stem: path for path in sorted(folder.glob("*.h5"))}
    told, remarks = _summary(folder)
    if not files and not told:
        inner = sorted({path.parent.name for path in folder.glob("*/*.h5")})
        raise OutputError(
            f"holds no fits: expected .h5 files or {_SUMMARY}",
            path=folder,
            hint=f"give one of the folders in it: {', '.join(inner)}"
            if inner
            else "give the output folder of fitpipe run",
        )
    page = page or folder / BATCH_PAGE
    check_writable(page.parent)
    takes = list(dict.fromkeys([*told, *files]))
    rows = []
    for done, take in enumerate(takes):
        if progress is not None:
            progress(done, len(takes))
        rows.append(_row(take, files.get(take), told.get(take, {}), page, limits))
    name = folder.resolve().name
    write_atomically(page, batch_page(rows, title=name, remarks=remarks).encode())
    return page, len(rows), sum(bool(row.error) for row in rows)


def _row(
    take: str, path: Path | None, told: Mapping[str, str], page: Path, limits: ReportConfig
) -> BatchRow:
    """The row of one take; writes its page if it has a fit."""
    seconds = _number(told.get("seconds", ""))
    status = told.get("status")
    if status == "failed":
        # a file of an earlier run may still lie there: it is not what this run made
        message = told.get("error") or "failed; the summary does not say why"
        return BatchRow(take, error=message, seconds=seconds)
    if path is None and status == "pending":
        return BatchRow(take, error="the run ended before it", is_pending=True)
    if path is None:
        message = f"{_SUMMARY} names this take, but its file {take}.h5 is not in the folder"
        return BatchRow(take, error=message, seconds=seconds)
    try:
        fit = load_fit(path)
    except FitpipeError as error:
        return BatchRow(take, error=str(error), seconds=seconds)
    own = page.with_name(f"{take}.html")
    if own.name.casefold() == page.name.casefold():
        own = page.with_name(f"{take}.take.html")
    write_atomically(own, report_page(fit, limits, back=page.name).encode())
    return fitted_row(fit, limits, take=take, page=own.name, seconds=seconds)


def _summary(folder: Path) -> tuple[dict[str, dict[str, str]], list[str]]:
    """Rows of a run's summary by take, whatever columns it has, and what is odd about it.

    The journal beside it, where there is one, knows more of a run that still goes on or was killed.
    """
    path = folder / _SUMMARY
    try:
        with path.open(newline="", encoding="utf-8", errors="replace") as file:
            table = list(csv.DictReader(file, restval=""))
    except FileNotFoundError:
        table = []
        odd = f"There is no {_SUMMARY} in the folder: takes that failed are not listed."
    except (OSError, csv.Error) as error:
        table = []
        odd = f"{_SUMMARY} cannot be read ({error}): takes that failed are not listed."
    else:
        odd = ""
        if table and "take" not in table[0]:
            table = []
            odd = f"{_SUMMARY} has no column take: takes that failed are not listed."
    rows = {row["take"]: {k: v for k, v in row.items() if isinstance(v, str)} for row in table}
    rows |= _journal(folder / _JOURNAL)
    return rows, [odd] if odd else []


def _journal(path: Path) -> dict[str, dict[str, str]]:
    """Rows of the journal; a line that is cut, the last of a run that was killed, is left out."""
    try:
        lines = path.read_bytes().splitlines()
    except OSError:
        return {}
    rows = {}
    for line in lines:
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if isinstance(row, dict) and isinstance(row.get("take"), str):
            rows[row["take"]] = {k: "" if v is None else str(v) for k, v in row.items()}
    return rows


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")
