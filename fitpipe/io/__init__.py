"""Reads motion-capture files into takes: metres, seconds, NaN for missing."""

from fitpipe.io.axes import infer_up
from fitpipe.io.inspect import FileReport, PointReport, inspect_file
from fitpipe.io.long import open_takes
from fitpipe.io.registry import read_take, read_takes

__all__ = [
    "FileReport",
    "PointReport",
    "infer_up",
    "inspect_file",
    "open_takes",
    "read_take",
    "read_takes",
]
