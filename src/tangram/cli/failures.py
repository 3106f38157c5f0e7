"""The one way in which a command gives up on what it was given."""

from __future__ import annotations


class InputError(Exception):
    """Something on the command line, or in a file named there, that cannot be used.

    Its text is one sentence for the person who typed it: what was read, what is legal, what to write. It ends the
    process with status 2 and never with a traceback.
    """
