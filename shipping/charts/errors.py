"""The one error of the packer: a sentence for the person at the keyboard.

Whoever catches it prints it and exits with 1; a traceback instead would be a bug.
"""


class ChartError(Exception):
    """What was found in a chart, what is legal and what to write instead."""
