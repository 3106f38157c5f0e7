"""`python -m testbed.fresh`: what `make fresh` runs."""

import asyncio
import shutil
import sys
import time
from typing import Annotated

from cyclopts import App, CycloptsError, Parameter

from shipping.image.cachefolder import cache_folder, only_builder
from shipping.image.errors import ImageError
from shipping.image.progress import Progress
from tangram.cli.usage import usage_sentence
from testbed.box import REPOSITORY
from testbed.errors import BedError
from testbed.fresh import story
from testbed.fresh.machine import clone, enter_namespaces, mounted, prepare, set_mirrors
from testbed.fresh.person import Person
from testbed.fresh.readme import Guide, read_guide
from testbed.fresh.root import bare_debian, changed_debian, unpacked
from testbed.fresh.settings import settings_of_this_machine

HELP = """Type README's commands on a Debian that has nothing but the packages README names, as an ordinary user.

The install line as root; then make sandbox and what README shows of it, without kubectl and with it; Ctrl-C; make test.
The project is the last commit, in a clone: what is not committed is not tested. It needs root, apt, git, and Go for
the kubectl. A first run makes the Debian (a minute or two), later ones unpack it."""
EXAMPLES = """Examples:

  make fresh

  make fresh NO_TESTS=1

  make fresh SMOKE=1

Exit status: 0 README is true, 1 it is not or the Debian could not be made, 2 the command line is wrong."""

app = App(name="fresh", help=HELP, help_epilogue=EXAMPLES, help_format="plaintext", version_flags=[])


@app.default
def fresh(
    *,
    tests: Annotated[bool, Parameter(help="Run make test too; --no-tests leaves it out.")] = True,
    smoke: Annotated[bool, Parameter(help="Run make e2e-smoke as well, as root.", negative="")] = False,
) -> None:
    """Type README's commands on a bare Debian."""
    enter_namespaces()
    progress = Progress(sys.stdout)
    guide = read_guide((REPOSITORY / "README.md").read_text("utf-8"))
    work = cache_folder() / "fresh"
    with only_builder(work, progress.say):
        _type_all(guide, progress, tests=tests, smoke=smoke)


def _type_all(guide: Guide, progress: Progress, *, tests: bool, smoke: bool) -> None:
    began = time.monotonic()
    settings = settings_of_this_machine()
    archive = changed_debian(
        bare_debian(progress), guide.install, lambda root: prepare(root, guide.install, settings)
    )
    root = cache_folder() / "fresh" / "root"
    shutil.rmtree(root, ignore_errors=True)  # of a run that was killed
    try:
        with progress.step("Unpacking a Debian with README's packages, and a clone of the last commit"):
            unpacked(archive, root)
            set_mirrors(root, settings)
            clone(root)
        with mounted(root, settings.paths):
            person = Person(root, settings.environment)
            asyncio.run(_sandboxes(person, guide, progress))
            if tests:
                story.tests_pass(person, guide)
            if smoke:
                story.smoke_passes(person)
    finally:
        shutil.rmtree(root, ignore_errors=True)
    progress.say(f"README.md is true on a bare Debian ({time.monotonic() - began:.0f} s).")


async def _sandboxes(person: Person, guide: Guide, progress: Progress) -> None:
    def indented(line: str) -> None:
        progress.say(f"  | {line}")

    progress.say(f"Typing `{guide.sandbox}`, without kubectl:")
    await story.sandbox_without_kubectl(person, guide, indented)
    progress.say(f"Typing `{guide.sandbox}`, with kubectl:")
    await story.sandbox_with_kubectl(person, guide, indented)


def main() -> int:
    """The exit status."""
    try:
        app(exit_on_error=False, print_error=False, result_action="return_value")
    except CycloptsError as error:
        sys.stderr.write(f"fresh: {usage_sentence(error, 'fresh')}\n")
        return 2
    except (BedError, ImageError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except OSError as error:  # a full disk, a mirror that ended
        sys.stderr.write(f"The bare Debian could not be made or used: {error}.\n")
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
