"""The one error of the bundler: a sentence for the person at the keyboard.

Whoever catches it prints it and exits with 1; a traceback instead would be a bug.
"""


class BundleError(Exception):
    """What was found, what is needed and what to do."""
