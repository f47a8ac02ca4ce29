"""Settings of all tests."""

from __future__ import annotations

from hypothesis import settings

# the same examples in every run, and no deadline: compiling and a busy machine take time
settings.register_profile("fitpipe", deadline=None, derandomize=True)
settings.load_profile("fitpipe")
