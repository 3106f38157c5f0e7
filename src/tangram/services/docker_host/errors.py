"""The one way in which a container is not started: a sentence, before the engine was asked for anything."""

from __future__ import annotations


class HostError(Exception):
    """What was read, what is legal and what to write instead; never a traceback."""
