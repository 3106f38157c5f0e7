"""The two compiled programs that run on hosts, for every test that needs them.

They are compiled once for each state of their sources and kept with what `make image` keeps, under a lock of their own
so that nobody waits for an image.
"""

import functools
import sys
from pathlib import Path

from shipping.image.cachefolder import cache_folder, only_builder
from shipping.image.platforms import of_this_machine
from shipping.image.programs import SOURCES, compiled, find_go
from testbed.box import REPOSITORY

VERSION = "0.0.0-e2e"
"""What they say of themselves."""


def _say(sentence: str) -> None:
    sys.stderr.write(f"{sentence}\n")


@functools.cache
def host_programs() -> Path:
    """The folder with `mx-container-runtime` and `mx-payload` for this machine."""
    sources = REPOSITORY / SOURCES
    with only_builder(cache_folder() / "programs", _say):
        return compiled(sources, VERSION, of_this_machine(), find_go(sources))
