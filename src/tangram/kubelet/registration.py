"""Whether the kubelet knows a plugin, and introducing the plugin when it does not.

A kubelet forgets. It starts anew; it drops the younger of two plugins of a resource when the older one ends; it dies
and leaves a socket that nobody answers. All of it is told from what can be seen, which socket is there and whether the
list is read, and never from what was said before. Being quick matters: a pod that a new kubelet looks at before it
knows the units again may be ended for good.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import grpc
import grpc.aio

from tangram.kubelet.listing import Listing
from tangram.kubelet.sockets import SocketFile, ask, listened_at, open_channel, socket_file_at
from tangram.wire.kubelet import deviceplugin

RETRY_S: Final = 0.02
"""Between two tries while a kubelet may be about to listen."""
EAGER_S: Final = 5.0
"""How long it may. A file that nobody answered for so long was left by a kubelet that died."""
STALE_S: Final = 1.0
"""Between two tries from then on. The next kubelet makes another file, which is noticed at once."""
ANSWER_S: Final = 10.0
"""How long a kubelet may take to answer, and then to begin reading the list."""
LASTING_S: Final = 1.0
"""A list that was read for less time than this was dropped: then the next try waits, twice as long each time."""
LONGEST_DROP_S: Final = 5.0
FIRST_PAUSE_S: Final = 1.0
LONGEST_PAUSE_S: Final = 30.0
"""Between two tries at a kubelet that refuses us, and at most between two looks at anything."""

_NOT_ITS_WILL = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED)
"""What is answered for a kubelet that is not there, or went while it was asked."""

_log = logging.getLogger("tangram.kubelet")


class Registration:
    """Of one plugin, with whichever kubelet makes its socket at the path. `changed` says: look at `holds` again."""

    def __init__(
        self,
        kubelet: Path,
        introduction: deviceplugin.RegisterRequest,
        listing: Listing,
        changed: Callable[[], None],
    ) -> None:
        self.count = 0
        self.seconds = 0.0
        self._kubelet = kubelet
        self._introduction = introduction
        self._listing = listing
        self._changed = changed
        self._seen: SocketFile | None = None
        self._looked = False
        self._accepted_at: float | None = None
        self._forgotten_at = time.monotonic()
        self._pause = FIRST_PAUSE_S
        self._drop_pause = RETRY_S
        self._not_before = 0.0
        self._complaint = ""

    @property
    def holds(self) -> bool:
        """Whether the kubelet knows the plugin and reads its list now."""
        return self._accepted_at is not None and self._listing.read

    def look(self) -> bool:
        """Whether there is a kubelet's socket. Another one is another kubelet: it does not know us, nor refused us."""
        kubelet = socket_file_at(self._kubelet)
        if kubelet != self._seen:
            # A file that was there before us says nothing about how late we are.
            late = time.time() - kubelet.made_ns / 1e9 if kubelet is not None and self._looked else 0.0
            self._seen = kubelet
            self._forget(late)
            self.forgive()
            self._drop_pause = RETRY_S
            self._changed()
        self._looked = True
        return kubelet is not None

    def list_changed(self) -> None:
        """A reader has come or gone."""
        if self._accepted_at is not None and not self._listing.read and not self._listing.expected:
            self._dropped(time.monotonic() - self._accepted_at)
        self._changed()

    def forgive(self) -> None:
        """A refusal counts no longer: there is a reason to believe that the next try ends otherwise."""
        self._pause, self._not_before = FIRST_PAUSE_S, 0.0

    def wait(self) -> float:
        """For how long there is no point in asking."""
        now = time.monotonic()
        if self._accepted_at is not None:
            if (left := self._accepted_at + ANSWER_S - now) > 0:
                return left
            self.complain("the kubelet accepted the plugin and did not come to read its list")
            self._forget()
        if (left := self._not_before - now) > 0:
            return left
        return 0.0 if listened_at(self._kubelet) else self._patience(f"nobody listens at '{self._kubelet}'")

    async def ask(self) -> float:
        """Introduce the plugin. How long to wait before anything else is tried."""
        # Looked at as late as possible: an answer counts for the kubelet whose socket was seen last.
        self.look()
        self._listing.registering()
        try:
            async with open_channel(self._kubelet) as channel:
                await ask(channel, deviceplugin.REGISTER, self._introduction, within=ANSWER_S)
        except grpc.aio.AioRpcError as error:
            said = f"{error.code().name}, {error.details()}"
            if error.code() in _NOT_ITS_WILL:
                return self._patience(f"the kubelet at '{self._kubelet}' cannot be asked: {said}")
            return self._refused(f"the kubelet at '{self._kubelet}' refuses the plugin: {said}")
        now = time.monotonic()
        self.count += 1
        self.seconds = now - self._forgotten_at
        self._complaint = ""
        self.forgive()
        _log.info("registered with the kubelet", extra={**self._about(), "seconds": round(self.seconds, 4)})
        self._accepted_at = now
        if not self._listing.read and not self._listing.expected:
            # It began to read and stopped before this answer came.
            self._dropped(0.0)
        self._changed()
        return 0.0

    def complain(self, sentence: str) -> None:
        """Say it, but not over and over."""
        if sentence != self._complaint:
            self._complaint = sentence
            _log.warning("%s", sentence, extra=self._about())

    def _forget(self, ago: float = 0.0) -> None:
        """The kubelet does not know us, since so long if that is believable: a busy loop may come to look late."""
        self._accepted_at = None
        self._forgotten_at = time.monotonic() - (ago if 0 < ago < EAGER_S else 0.0)

    def _dropped(self, lasted: float) -> None:
        """The kubelet reads no more. One that does so again and again must not be asked all the time."""
        self._forget()
        if lasted < LASTING_S:
            self._not_before = time.monotonic() + self._drop_pause
            self._drop_pause = min(2 * self._drop_pause, LONGEST_DROP_S)
        else:
            self._drop_pause = RETRY_S
        _log.info("the kubelet reads the list no more", extra=self._about())

    def _refused(self, sentence: str) -> float:
        self.complain(sentence)
        pause, self._pause = self._pause, min(2 * self._pause, LONGEST_PAUSE_S)
        self._not_before = time.monotonic() + pause
        return pause

    def _patience(self, trouble: str) -> float:
        """When to try again where a kubelet may come to life any moment, or has been dead for long."""
        if time.monotonic() - self._forgotten_at < EAGER_S:
            return RETRY_S
        self.complain(trouble)
        return STALE_S

    def _about(self) -> dict[str, str]:
        return {"resource": self._introduction.resource_name}
