"""How a sandbox fails, other than by something that a person wrote."""

from __future__ import annotations


class NotStarted(Exception):  # noqa: N818 - says what is the case
    """Something of a sandbox did not come up. Its text is one sentence."""


class PlaneEnded(NotStarted):
    """The control plane is no more, or never was. Its text is what it said last."""
