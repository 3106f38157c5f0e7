"""Run the stories over schedulers of others, on real kubelets, and print how each ended.

make peers HAMI=/path/to/hami-scheduler KOORD=/path/to/koord-scheduler EXAMPLES=/path/to/HAMi/examples
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Final

from cyclopts import App, CycloptsError, Parameter

from peers.programs import EXAMPLES, HAMI, KOORD, PEERS, expectation, named_program
from testbed.building import build, readiness
from testbed.errors import BedError

HERE: Final = Path(__file__).resolve().parent
app = App(name="peers", help=__doc__)


@app.default
def run(
    *words: Annotated[str, Parameter(help="Further words for pytest, behind --.", allow_leading_hyphen=True)],
    hami: Annotated[Path | None, Parameter(help="HAMi's scheduler.")] = None,
    koord: Annotated[Path | None, Parameter(help="koord-scheduler.")] = None,
    examples: Annotated[Path | None, Parameter(help="The folder examples of a checkout of HAMi.")] = None,
) -> int:
    """Each story on a cluster of its file; the exit status is 0 if all passed."""
    files = zip(PEERS, (hami, koord), strict=True)
    named = {peer: file for peer, file in files if file is not None and str(file).strip(". ")}
    if not named:
        raise BedError(f"No scheduler was named.\n{expectation()}")
    for peer, file in named.items():
        found = named_program(peer, file)
        other = "" if found.lstrip("v").startswith(f"{peer.version}.") else f"; expected is {peer.version}"
        sys.stdout.write(f"{peer.name}: {file} says {found}{other}\n")
        os.environ[peer.variable] = str(file.resolve())
    if examples is not None and str(examples).strip(". "):
        if not (examples / "metax").is_dir():
            raise BedError(f"EXAMPLES is {examples}, which has no folder metax.\n{expectation()}")
        os.environ[EXAMPLES] = str(examples.resolve())
    # Minutes the first time, so nothing is built before every name on the command line has turned out to be right.
    sys.stdout.write(f"{readiness(build())}\n")
    sys.stdout.flush()
    suites = [
        *(sorted(HERE.glob("test_hami*.py")) if HAMI in named else ()),
        *(sorted(HERE.glob("test_koord*.py")) if KOORD in named else ()),
    ]
    # Later than the command line is read, which is read otherwise where pytest is loaded.
    import pytest  # noqa: PLC0415

    from peers.table import Stories, table  # noqa: PLC0415

    stories = Stories()
    plugins: list[object] = [stories]
    status = pytest.main(["-q", "-p", "no:cacheprovider", *map(str, suites), *words], plugins)
    sys.stdout.write(f"\n{table(stories.rows.values())}\n")
    return int(status)


def main() -> int:
    """The exit status: 0 all passed, 1 a story failed, 2 a program is missing or the command line is wrong."""
    try:
        return int(app(exit_on_error=False, print_error=False, result_action="return_value"))
    except (CycloptsError, BedError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    except KeyboardInterrupt:
        sys.stderr.write("Stopped before the stories began; what was built so far is kept.\n")
        return 130


if __name__ == "__main__":
    sys.exit(main())
