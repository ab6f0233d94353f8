"""Whoever changes the code behind a kept result decides whether older results may still be used."""

from __future__ import annotations

import pytest

from ease.io import result_versions
from tests.result_versions import CODE, COMMAND, found, recorded


def test_every_version_names_its_code() -> None:
    assert sorted(CODE) == sorted(name for name in vars(result_versions) if name.isupper())


@pytest.mark.slow
@pytest.mark.parametrize("name", CODE)
def test_a_change_of_the_code_behind_a_kept_result_is_recorded(name: str) -> None:
    now, then = found()[name], recorded()[name]
    assert now["version"] >= then["version"], f"{name} in src/ease/io/result_versions.py may only grow."
    assert now == then, (
        f"The code behind {name} has changed. If the same input can give another result, raise {name} in "
        f"src/ease/io/result_versions.py. In both cases record the change: {COMMAND}"
    )
