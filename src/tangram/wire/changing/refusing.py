"""A change that cannot be said in the words of the manifest."""

from __future__ import annotations


class NoSuchWords(Exception):  # noqa: N818 - says what is the case
    """Why, for whoever reads a log or a test; on a page the change is merely not offered."""
