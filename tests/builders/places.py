"""A machine that the commands about hardware are shown on."""

from pathlib import Path
from typing import NamedTuple

from builders.commands import Answer, run
from builders.hanging import LONG


class Place(NamedTuple):
    """A machine, and how to speak to its cards."""

    driver: str
    root: Path

    def run(self, *arguments: str) -> Answer:
        """Unless it says otherwise, a test about answers is no test of how fast this machine is."""
        patient = () if "--timeout" in arguments else ("--timeout", f"{LONG:g}s")
        answer = run(*arguments, *patient, "--driver", self.driver, "--root", str(self.root))
        # Where a test keeps its files is no part of any answer.
        return Answer(answer.status, *(text.replace(str(self.root), "") for text in answer[1:]))
