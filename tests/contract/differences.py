"""Where the embedded API server is known to differ from the real one, and why it may.

A case listed here must differ: one that agrees again fails until its line is gone. A case not listed must agree.
"""

from __future__ import annotations

from typing import Final

DIFFERENCES: Final[dict[str, str]] = {}

VERB_DIFFERENCES: Final[dict[tuple[str, str], str]] = {}
"""The same for steps of kubectl's verbs: by session and command line."""
