"""Writes a fit as one HDF5 file that is also valid netCDF-4."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import h5py
import numpy as np

import fitpipe
from fitpipe.errors import OutputError
from fitpipe.output.atomic import PartFile, refused
from fitpipe.output.checksum import VariableSum, seal, total_sum
from fitpipe.output.column import Column, chunk_shape
from fitpipe.output.entry import Variable, group_of
from fitpipe.output.overwriting import refuse_other_files, refuse_recordings
from fitpipe.output.schema import CONVENTIONS, GROUPS, OPTIONAL_GROUPS, SCHEMA, schema_variables
from fitpipe.output.sink import Sink
from fitpipe.records import Finding, Fit

_PLAIN_BELOW_BYTES: Final = 16 * 1024  # a chunk index weighs more than it saves on less
_AT_LAST: Final = ("log", "provenance")  # groups that are complete with the last block only
_NAME: Final = re.compile(r"[A-Za-z0-9_][\w .+@-]*(?<! )")  # names netCDF allows, the common part
_UNSTORABLE: Final = re.compile("[\x00\ud800-\udfff]")


def save_fit(fit: Fit, path: str | Path, *, compression: int = 4) -> Path:
    """Write a fit to one file, schema ``fitpipe.fit/1`` (see fitpipe.output.schema).

    The same fit gives the same bytes. A reader sees the old file or the new one, never half of
    one. Text that UTF-8 or HDF5 cannot hold (a file name that is not Unicode, a null character)
    is written with escapes such as ``\\udce9``, and the file's log says so.

    Parameters
    ----------
    fit : Fit
        ``provenance`` may hold whatever JSON can: text, numbers, lists, mappings.
    path : path-like
        Missing folders are made.
    compression : int
        gzip level from 0 (none) to 9.

    Returns
    -------
    Path
        ``path``.

    Raises
    ------
    OutputError
        The file cannot be written (the old one stays as it was), would take the place of
        anything but a fit, or the fit holds what the format cannot; lists every such fault at once.
    """
    with FitWriter(path, fit.n_frames, compression=compression) as writer:
        writer.add(fit)
        return writer.finish(fit.log)


class FitWriter:
    """Writes a fit as its blocks of frames come; used in a ``with``, which cleans up on an error.

    Parameters
    ----------
    path : path-like
        Missing folders are made.
    n_frames : int
        Of the whole fit.
    compression : int
        gzip level from 0 (none) to 9.
    provenance : mapping, optional
        Entries to put over those of the fit.

    Raises
    ------
    OutputError
        As `save_fit`, from whichever method meets it.
    """

    def __init__(
        self,
        path: str | Path,
        n_frames: int,
        *,
        compression: int = 4,
        provenance: Mapping[str, Any] | None = None,
    ) -> None:
        self._path, self._n_frames, self._compression = Path(path), n_frames, compression
        self._more = dict(provenance or {})
        self._file: _PartOfFit | None = None
        refuse_other_files(self._path)

    def __enter__(self) -> FitWriter:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.discard()

    def add(self, block: Fit) -> None:
        """Write the next frames, those of ``block``.

        All but the arrays along time and the log is taken from the first block.
        """
        if self._file is None:
            provenance = self._checked(block)
            refuse_recordings(self._path, block.provenance)
            self._file = _PartOfFit(self._path, self._n_frames, self._compression, provenance)
        self._file.add(block)

    def finish(self, log: Sequence[Finding]) -> Path:
        """Write the log, and put the file in its place; returns its path."""
        if self._file is None:
            raise ValueError("no block was added")
        self._file.finish(log)
        self._file = None
        return self._path

    def _checked(self, fit: Fit) -> list[Variable]:
        """The provenance as variables; OutputError with all that cannot be stored."""
        faults = []
        if self._compression not in range(10):
            faults.append(f"compression is {self._compression}, expected 0 to 9")
        calibrated = tuple(transform.source for transform in fit.calibration.transforms)
        if calibrated != fit.sources:
            faults.append(f"the calibration is for sources {calibrated}, the fit for {fit.sources}")
        provenance = []
        for key, value in (dict(fit.provenance) | self._more).items():
            if not _NAME.fullmatch(str(key)):
                faults.append(
                    f"provenance {key!r} is no name for a variable: use letters, digits, _"
                )
                continue
            try:
                text, kind = _as_text(value)
            except (TypeError, ValueError) as error:
                faults.append(f"provenance {key!r} cannot be written as JSON: {error}")
                continue
            attributes = {"units": "1", "long_name": key, "format": kind}
            values = np.array(text, dtype=object)
            provenance.append(Variable(f"provenance/{key}", (), values, attributes))
        if faults:
            raise OutputError("the fit cannot be written", path=self._path, faults=faults)
        return provenance


class _PartOfFit:
    """The file while it is written.

    HDF5 writes through a Python file: so a full disk or a lost share is an ordinary OSError with
    its reason, and HDF5's locks never meet a network file system.
    """

    def __init__(
        self, path: Path, n_frames: int, compression: int, provenance: list[Variable]
    ) -> None:
        self._path, self._n_frames, self._compression = path, n_frames, compression
        self._provenance = provenance
        self._columns: dict[str, Column] = {}
        self._sums: dict[str, VariableSum] = {}
        self._scales: dict[str, h5py.Dataset] = {}
        self._escaped: list[str] = []
        self._latest: Fit
        self._part = PartFile(path)
        self._sink = Sink(self._part.handle)
        self._pool = ThreadPoolExecutor(os.cpu_count() or 1)
        with self._told():
            # 1.8 is what every netCDF-4 library reads, and the first whose headers carry checksums
            self._h5 = h5py.File(
                self._sink,
                "w",
                libver=("v108", "v108"),
                track_order=True,  # netCDF-4 asks for it, and readers list variables in our order
            )

    def add(self, block: Fit) -> None:
        """Write the next frames."""
        with self._told():
            if not self._sums:
                self._begin(block)
            for variable in schema_variables(block):
                if column := self._columns.get(variable.name):
                    self._sums[variable.name].add(variable.values)
                    column.add(variable.values)
            self._latest = block

    def finish(self, log: Sequence[Finding]) -> None:
        """Write the rest, and put the file in its place."""
        with self._told():
            for column in self._columns.values():
                column.finish()
            self._add_group("log", self._log_variables(tuple(log)))
            self._add_group("provenance", self._provenance)
            self._h5.attrs["checksum"] = total_sum(self._sums, dict(self._h5.attrs))
            self._pool.shutdown()
            self._h5.close()
            seal(self._part.handle)
        self._part.put_in_place()

    def discard(self) -> None:
        """Remove what was written."""
        self._sink.is_given_up = True
        self._pool.shutdown()
        self._h5.close()
        self._part.discard()

    @contextmanager
    def _told(self) -> Iterator[None]:
        """OutputError with the reason where the file cannot be written."""
        try:
            yield
        except BaseException as error:
            # HDF5 may bury what the file said under errors of its own
            reason = self._sink.error or error
            if isinstance(reason, OSError) and not isinstance(error, KeyboardInterrupt):
                raise refused(reason, self._path) from error
            raise

    def _begin(self, fit: Fit) -> None:
        """Write all that is known with the first block, and the variables along time empty."""
        for name, value in _root_attributes(fit).items():
            self._h5.attrs[name] = value
        for group in GROUPS:
            own = [v for v in schema_variables(fit) if group_of(v.name) == group]
            if group not in _AT_LAST and (own or group not in OPTIONAL_GROUPS):
                self._add_group(group, own)

    def _log_variables(self, log: tuple[Finding, ...]) -> list[Variable]:
        """The findings, and one more if any text had to be escaped."""
        latest = self._latest

        def of_log(findings: tuple[Finding, ...]) -> list[Variable]:
            told = schema_variables(replace(latest, log=findings))
            return [v for v in told if group_of(v.name) == "log"]

        escaped = [*self._escaped, *(v.name for v in of_log(log) if _unstorable(v))]
        if _UNSTORABLE.search(latest.name):
            escaped.append("the name of the take")
        if not escaped:
            return of_log(log)
        what = f"text that is not Unicode in {', '.join(escaped)}"
        return of_log((*log, Finding(what, r"written as escapes (\udce9)")))

    def _add_group(self, group: str, variables: Sequence[Variable]) -> None:
        if group:
            self._h5.create_group(group, track_order=True)
        for variable in variables:
            self._add(variable)

    def _add(self, variable: Variable) -> None:
        """Write one variable; a dimension's own variable becomes its scale."""
        if _unstorable(variable):
            self._escaped.append(variable.name)
            variable = _storable(variable)
        values, along_time = variable.values, variable.dims[:1] == ("time",)
        shape = (self._n_frames, *values.shape[1:]) if along_time else values.shape
        options: dict[str, Any] = {"dtype": values.dtype}
        if _is_text(variable):
            options["dtype"] = h5py.string_dtype("utf-8")
        elif self._compression and np.prod(shape) * values.itemsize >= _PLAIN_BELOW_BYTES:
            options |= {
                "chunks": chunk_shape(shape, values.itemsize),
                "compression": self._compression,
                "shuffle": True,
            }
        dataset = self._h5.create_dataset(
            variable.name, shape, track_order=True, track_times=False, **options
        )
        total = VariableSum(variable.name, values.dtype, shape, variable.attributes)
        self._sums[variable.name] = total
        if along_time:
            self._columns[variable.name] = Column(dataset, self._compression, self._pool)
        else:
            dataset[...] = values
            total.add(values)
        name = variable.name.rpartition("/")[2]
        if variable.dims == (name,):
            dataset.make_scale(name)
            dataset.attrs["_Netcdf4Dimid"] = np.int32(len(self._scales))
            self._scales[name] = dataset
        else:
            for axis, dim in enumerate(variable.dims):
                dataset.dims[axis].attach_scale(self._scales[dim])
        for attribute, value in variable.attributes.items():
            dataset.attrs[attribute] = value


def _as_text(value: Any) -> tuple[str, str]:
    """Text as it is, anything else as JSON; and which of the two it is."""
    if isinstance(value, str) and not _UNSTORABLE.search(value):
        return value, "text"
    text = json.dumps(value, ensure_ascii=False, default=_plain)
    if _UNSTORABLE.search(text):
        text = json.dumps(value, default=_plain)
    return text, "json"


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is not JSON")


def _is_text(variable: Variable) -> bool:
    return variable.values.dtype == object


def _unstorable(variable: Variable) -> bool:
    return _is_text(variable) and any(_UNSTORABLE.search(text) for text in variable.values.ravel())


def _escaped(text: str) -> str:
    return _UNSTORABLE.sub(lambda hit: ascii(hit[0])[1:-1], text)


def _storable(variable: Variable) -> Variable:
    values = np.empty(variable.values.shape, dtype=object)
    values.ravel()[:] = [_escaped(text) for text in variable.values.ravel()]
    return replace(variable, values=values)


def _root_attributes(fit: Fit) -> dict[str, str]:
    name = _escaped(fit.name)
    skeleton = _escaped(fit.skeleton.name)
    return {
        "schema": SCHEMA,
        "title": f"Rigid skeleton {skeleton} fitted to the take {name}",
        "take": name,
        "Conventions": CONVENTIONS,
        "creator": f"fitpipe {fitpipe.__version__}",
    }
