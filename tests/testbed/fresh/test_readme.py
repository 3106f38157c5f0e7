"""README's commands are read from the page by its form, and a page that lacks one is refused."""

from pathlib import Path

import pytest

from testbed.errors import BedError
from testbed.fresh.readme import read_guide

ROOT = Path(__file__).resolve().parents[3]
PAGE = """
```sh
apt-get update && apt-get install --yes make python3
```
```sh
make sandbox
```
```console
$ tangram status
6 nodes
```
```sh
.venv/bin/tangram sandbox --scenario shared-card
```
```console
$ kubectl get nodes
a
```
```console
$ tangram status
7 nodes
```
```sh
make test
```
"""


def test_commands_are_those_of_the_page() -> None:
    guide = read_guide(PAGE)
    assert guide.install == "apt-get update && apt-get install --yes make python3"
    assert (guide.sandbox, guide.tests) == ("make sandbox", "make test")
    assert guide.story == ".venv/bin/tangram sandbox --scenario shared-card"


def test_what_comes_before_the_first_kubectl_needs_none() -> None:
    guide = read_guide(PAGE)
    assert [[step.command for step in block] for block in guide.without_kubectl] == [["tangram status"]]
    assert [len(block) for block in guide.with_kubectl] == [1, 1, 1]
    assert guide.with_kubectl[2][0].shown == "7 nodes\n"


@pytest.mark.parametrize(
    "line",
    ["apt-get update && apt-get install --yes make python3", "make sandbox", "make test"],
)
def test_a_page_that_lacks_a_command_or_has_it_twice_is_refused(line: str) -> None:
    for page in (PAGE.replace(f"{line}\n", "true\n"), PAGE.replace(f"{line}\n", f"{line}\n{line}\n")):
        with pytest.raises(BedError, match="exactly one"):
            read_guide(page)


def test_the_readme_of_this_project_can_be_typed() -> None:
    guide = read_guide((ROOT / "README.md").read_text("utf-8"))
    assert guide.without_kubectl, "README shows something to people without kubectl"
    assert len(guide.with_kubectl) > len(guide.without_kubectl)
