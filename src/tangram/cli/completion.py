"""`tangram completion`: what makes a shell finish words, and the same for kubectl.

The scripts know subcommands and options by themselves, and ask back for names only a cluster knows. kubectl has a
protocol of its own for plugins: a program named `kubectl_complete-PLUGIN` gets the words after the plugin's name and
prints what could follow, a candidate per line, then a directive.
"""

from __future__ import annotations

import io
import os
import sys
from contextlib import redirect_stdout
from typing import Annotated, Final, Literal

from cyclopts import Parameter

from tangram.cli.failures import InputError
from tangram.vendors.wording import either

Shell = Literal["bash", "zsh", "fish"]
SHELLS: Final[dict[str, Shell]] = {"bash": "bash", "zsh": "zsh", "fish": "fish"}

_ANYTHING: Final = 0
"""kubectl's directive for: file names are welcome too."""
_NO_FILES: Final = 4
_WORDS: Final = "CYCLOPTS_COMPLETION_WORDS"
"""Where the parser looks for the words of a half-written line, each ended by a unit separator."""
_END: Final = "\x1f"
_BEGIN: Final = f"{_END}begin"
_FILES: Final = f"{_END}files"


def completion(
    shell: Annotated[
        str, Parameter(metavar="SHELL", help="bash, zsh or fish.", completer=lambda _context: tuple(SHELLS))
    ],
    /,
) -> int:
    """Print a script that makes a shell finish the words of `tangram`."""
    known = SHELLS.get(shell)
    if known is None:
        raise InputError(f"SHELL is {shell!r:.80}: it is {either(SHELLS)}; write one of these.")
    # Not at the top: that module names this one, and this is the only command that needs all the others.
    from tangram.cli.app import app  # noqa: PLC0415 - see above

    script = app.generate_completion(prog_name="tangram", shell=known)
    if known == "bash":
        # Where nothing else is known, as after -f, bash offers the names of files.
        script = f"{script.rstrip()}\ncomplete -o default -F _tangram tangram\n"
    sys.stdout.write(script)
    return 0


def complete_for_kubectl() -> None:
    """What could follow, in kubectl's protocol. Whatever goes wrong, a shell must see no more than nothing."""
    sys.stdout.write(answer_to_kubectl(sys.argv[1:]))


def answer_to_kubectl(words: list[str]) -> str:
    """Candidates for the last of the words, which may be empty, and the directive."""
    found = [line for line in _found(words).splitlines() if line]
    at = found.index(_BEGIN) + 1 if _BEGIN in found else len(found)
    records = [line for line in found[at:] if not line.startswith(_END)]
    files = _FILES in found[at:] or not records
    return "".join(f"{line}\n" for line in (*records, f":{_ANYTHING if files else _NO_FILES}"))


def _found(words: list[str]) -> str:
    from tangram.cli.app import app  # noqa: PLC0415 - as above

    os.environ[_WORDS] = "".join(f"{word}{_END}" for word in words or [""])
    with redirect_stdout(io.StringIO()) as written:
        app(["__complete"], exit_on_error=False, print_error=False, result_action="return_value")
    return written.getvalue()
