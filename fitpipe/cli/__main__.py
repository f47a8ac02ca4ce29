"""``python -m fitpipe.cli``, for when the command is not on the path."""

from fitpipe.cli import main

main()
