"""What changed since somebody last asked, remembered as one number per thing and never as a copy of it.

Every node and every pod that waits has the version at which it was last another. Followers say which version they have
heard, so nothing is kept per follower, and one that comes back after an hour costs no more than what changed in that
hour. What is gone is remembered too, up to a bound; whoever slept through more than that begins anew.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Final, Generic, NamedTuple, TypeVar

MOST_GONE: Final = 8192
"""Names of each kind that are remembered after their end."""

_Key = TypeVar("_Key", bound=Hashable)


class Entry(NamedTuple, Generic[_Key]):
    key: _Key
    version: int
    gone: bool


class Versions(Generic[_Key]):
    """Things of one kind. `tick` gives the next version, which several kinds may share."""

    def __init__(self, tick: Callable[[], int], *, most_gone: int = MOST_GONE) -> None:
        self._tick = tick
        self._most_gone = most_gone
        self._at: dict[_Key, tuple[int, bool]] = {}
        """Whoever changes goes to the end, so that the end is what is new."""
        self._gone: dict[_Key, None] = {}
        self.forgotten = 0
        """The last version at which something went that is not remembered any more."""

    def __contains__(self, key: _Key) -> bool:
        """Whether it is there, as far as was told."""
        return key in self._at and key not in self._gone

    def __len__(self) -> int:
        return len(self._at) - len(self._gone)

    def there(self) -> list[_Key]:
        return [key for key in self._at if key not in self._gone]

    def changed(self, key: _Key) -> None:
        self._at.pop(key, None)
        self._gone.pop(key, None)
        self._at[key] = (self._tick(), False)

    def went(self, keys: Iterable[_Key]) -> None:
        """These are there no longer; what was never told of is passed over."""
        for key in keys:
            if key in self:
                del self._at[key]
                self._at[key] = (self._tick(), True)
                self._gone[key] = None
        while len(self._gone) > self._most_gone:
            oldest = next(iter(self._gone))
            del self._gone[oldest]
            self.forgotten = self._at.pop(oldest)[0]

    def after(self, version: int, *, began: int = 0) -> list[Entry[_Key]]:
        """Everything after that version, oldest first; without what went before the follower began."""
        found: list[Entry[_Key]] = []
        for key in reversed(self._at):
            at, gone = self._at[key]
            if at <= version:
                break
            if not gone or at > began:
                found.append(Entry(key, at, gone))
        found.reverse()
        return found
