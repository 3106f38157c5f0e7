"""The vendor's library in folders of the host that a container sees."""

from pathlib import Path

import pytest

from tangram.drivers.mtml.locate import PATH_VARIABLE, library_in


@pytest.mark.parametrize(
    ("files", "found"),
    [
        pytest.param((), None, id="nothing there"),
        pytest.param(("lib/libmtml.so",), "lib/libmtml.so", id="the older name"),
        pytest.param(("lib/libmtml.so", "lib/libmtml.so.2"), "lib/libmtml.so.2", id="the newer name first"),
        pytest.param(
            ("lib/aarch64-linux-gnu/libmtml.so.2",),
            "lib/aarch64-linux-gnu/libmtml.so.2",
            id="Debian's folder",
        ),
        pytest.param(("lib/x86_64-linux-gnu/libmtml.so.2",), None, id="another machine's"),
        pytest.param(("lib64/libmtml.so.2", "lib/libmtml.so"), "lib/libmtml.so", id="folders in their order"),
    ],
)
def test_the_library_is_found_where_the_variable_says(
    tmp_path: Path, files: tuple[str, ...], found: str | None
) -> None:
    for file in files:
        place = tmp_path / file
        place.parent.mkdir(parents=True, exist_ok=True)
        place.touch()
    environment = {PATH_VARIABLE: f"{tmp_path}/lib:{tmp_path}/lib64"}
    expected = None if found is None else str(tmp_path / found)
    assert library_in(environment, "aarch64") == expected


@pytest.mark.parametrize("environment", [{}, {PATH_VARIABLE: ""}, {PATH_VARIABLE: "::"}])
def test_without_the_variable_the_loader_searches(environment: dict[str, str]) -> None:
    assert library_in(environment) is None


def test_a_folder_of_that_name_is_no_library(tmp_path: Path) -> None:
    (tmp_path / "libmtml.so.2").mkdir()
    assert library_in({PATH_VARIABLE: str(tmp_path)}) is None
