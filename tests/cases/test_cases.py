"""Every case of the catalogue ends as it should, with its right values."""

from __future__ import annotations

from pathlib import Path

import pytest

from .batch_cases import BATCH
from .catalogue import Catalogue
from .fit_cases import FIT
from .ik_cases import IK
from .load_cases import LOAD
from .run_cases import RUN

READ_OR_FIT = {**LOAD, **FIT, **IK}
RUN_OR_BATCH = {**RUN, **BATCH}


def test_every_case_of_the_catalogue_has_its_handler(catalogue: Catalogue) -> None:
    names = {case["id"] for case in catalogue.manifest["cases"]}
    assert names == {*READ_OR_FIT, *RUN_OR_BATCH}


@pytest.mark.parametrize("name", READ_OR_FIT)
def test_an_input_ends_as_it_should(catalogue: Catalogue, name: str) -> None:
    READ_OR_FIT[name](catalogue.case(name))


@pytest.mark.parametrize("name", RUN_OR_BATCH)
def test_a_run_ends_as_it_should(catalogue: Catalogue, name: str, tmp_path: Path) -> None:
    RUN_OR_BATCH[name](catalogue.case(name), tmp_path)
