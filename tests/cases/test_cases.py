"""Every case of the catalogue ends as it should, with its right values."""

from __future__ import annotations

from pathlib import Path

import pytest

from .catalogue import Catalogue
from .fit_cases import FIT
from .ik_cases import IK
from .load_cases import LOAD
from .run_cases import PENDING, RUN

READ_OR_FIT = {**LOAD, **FIT, **IK}


def test_every_case_of_the_catalogue_has_its_handler(catalogue: Catalogue) -> None:
    names = {case["id"] for case in catalogue.manifest["cases"]}
    assert names == {*READ_OR_FIT, *RUN, *PENDING}


@pytest.mark.parametrize("name", READ_OR_FIT)
def test_an_input_ends_as_it_should(catalogue: Catalogue, name: str) -> None:
    READ_OR_FIT[name](catalogue.case(name))


@pytest.mark.parametrize("name", RUN)
def test_a_run_ends_as_it_should(catalogue: Catalogue, name: str, tmp_path: Path) -> None:
    RUN[name](catalogue.case(name), tmp_path)


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.xfail(reason=r)) for n, r in PENDING.items()]
)
def test_a_case_of_a_part_to_come_ends_as_it_should(catalogue: Catalogue, name: str) -> None:
    catalogue.case(name)
    pytest.fail(PENDING[name])
