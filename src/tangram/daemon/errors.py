"""The one way in which a daemon refuses to start."""

from __future__ import annotations


class SettingError(Exception):
    """A setting that cannot be used. Its text is one sentence: what was read, what is legal, what to write."""
