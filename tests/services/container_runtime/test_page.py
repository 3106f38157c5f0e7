"""docs/container-runtime.md names every reason that can be given, and the very lines that are written."""

import re
from pathlib import Path

from tangram.services.container_runtime.trouble import Code
from tangram.wire.runtime_config import containerd, crio
from tangram.wire.runtime_config.wishes import Wish

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "container-runtime.md").read_text("utf-8")
PROGRAM = "/var/lib/metax/tools/usr/bin/mx-container-runtime"


def test_every_reason_is_on_the_page_and_no_other() -> None:
    listed = set(
        re.findall(r"^\| `([a-z-]+)` \|", PAGE.partition("## When something is wrong")[2], re.MULTILINE)
    )
    codecs = (ROOT / "src/tangram/wire/runtime_config").glob("*.py")
    texts = "".join(path.read_text("utf-8") for path in codecs)
    raised = set(re.findall(r'WireError\(\s*"([a-z-]+)"', texts)) - {"toml-value"}
    assert listed == {*Code, *raised, "in-use"}


def test_the_lines_on_the_page_are_those_that_are_written() -> None:
    runc = '[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]\nSystemdCgroup = true\n'
    before = f"version = 3\n{runc}"
    added = containerd.with_metax(before, Wish(program=PROGRAM)).removeprefix(before)
    assert added in PAGE
    assert crio.drop_in([], Wish(program=PROGRAM), (1, 34)) in PAGE
    assert containerd.ADDED in " ".join(PAGE.split())
