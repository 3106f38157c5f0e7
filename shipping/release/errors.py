"""The one error of the release builder: a sentence for the person at the keyboard.

Whoever catches it prints it and exits with 1; a traceback instead would be a bug.
"""


class ReleaseError(Exception):
    """What was found, what a release needs and what to do, in words that need no knowledge of the code."""
