"""The file of a fit: its schema as data, written whole or not at all, read back with a check."""

from fitpipe.output.atomic import check_writable, sweep_parts, write_atomically
from fitpipe.output.checksum import sealed_sha256
from fitpipe.output.entry import Variable
from fitpipe.output.overwriting import recordings, refuse_other_files, refuse_same
from fitpipe.output.read import load_fit, load_provenance
from fitpipe.output.schema import SCHEMA, fit_variables, schema_markdown
from fitpipe.output.write import FitWriter, save_fit

__all__ = [
    "SCHEMA",
    "FitWriter",
    "Variable",
    "check_writable",
    "fit_variables",
    "load_fit",
    "load_provenance",
    "recordings",
    "refuse_other_files",
    "refuse_same",
    "save_fit",
    "schema_markdown",
    "sealed_sha256",
    "sweep_parts",
    "write_atomically",
]
