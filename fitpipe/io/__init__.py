"""Reads motion-capture files into takes: metres, seconds, NaN for missing."""

from fitpipe.io.registry import read_take, read_takes

__all__ = ["read_take", "read_takes"]
