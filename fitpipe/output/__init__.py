"""The file of a fit: its schema as data, written whole or not at all, read back with a check."""

from fitpipe.output.atomic import check_writable, write_atomically
from fitpipe.output.entry import Variable
from fitpipe.output.read import load_fit
from fitpipe.output.schema import SCHEMA, fit_variables, schema_markdown
from fitpipe.output.write import save_fit

__all__ = [
    "SCHEMA",
    "Variable",
    "check_writable",
    "fit_variables",
    "load_fit",
    "save_fit",
    "schema_markdown",
    "write_atomically",
]
