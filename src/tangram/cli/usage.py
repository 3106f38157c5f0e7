"""A command line that cannot be read, in one sentence: what was read, what is legal, where to look."""

from __future__ import annotations

import cyclopts


def usage_sentence(error: cyclopts.CycloptsError, program: str = "tangram") -> str:
    """What is wrong with the command line of `program`."""
    command = " ".join((program, *(error.command_chain or ())))
    return f"{_fault(error)} Run '{command} --help' to see what is legal."


def _fault(error: cyclopts.CycloptsError) -> str:
    match error:
        case cyclopts.UnusedCliTokensError():
            unused = " ".join(error.unused_tokens or ())
            return f"{unused!r:.80} belongs to no option: put an option such as -f before it."
        case cyclopts.UnknownOptionError():
            names = [
                name
                for argument in error.argument_collection
                if argument.parse
                for name in argument.names
                # A group of options has a star for a name.
                if name.startswith("-")
            ]
            legal = f" The options are {', '.join(names)}." if names else ""
            return f"{' '.join(str(error).split())}{legal}"
        case _:
            return " ".join(str(error).split())
