"""What news of the API server mean for the picture and for the pods that wait.

A pod that somebody else has bound leaves the queue; a waiting one that is deleted gives back what it was nominated or
assumed to have; everything else is told to the pods it could help.
"""

from __future__ import annotations

from collections.abc import Mapping

from tangram.kube.informer import Change
from tangram.sandbox.placing.hosts import NodeFacts
from tangram.sandbox.placing.picture import Picture
from tangram.sandbox.placing.pods import Pod
from tangram.sandbox.placing.waiting import Waiting
from tangram.sandbox.placing.wakes import News, What, changed


class Following:
    """The three methods are for the informers of those kinds."""

    def __init__(self, picture: Picture, waiting: Waiting, names: frozenset[str]) -> None:
        self._picture = picture
        self._waiting = waiting
        self._names = names

    def node(self, change: Change[NodeFacts]) -> None:
        old, new = change.old, change.new
        if new is None:
            self._picture.drop_node(change.key.name)
            self._waiting.hear(News(What.NODE_GONE))
            return
        self._picture.put_node(new)
        if old is None or changed(old, new):
            self._waiting.hear(News(What.NODE, node=(old, new)))

    def namespace(self, change: Change[Mapping[str, str]]) -> None:
        if change.new is None:
            self._picture.namespaces.pop(change.key.name, None)
        else:
            self._picture.namespaces[change.key.name] = change.new

    def pod(self, change: Change[Pod]) -> None:
        old, new = change.old, change.new
        if new is None:
            if old is not None:
                self._gone(old)
        elif new.node:
            self._bound(old, new)
        elif new.scheduler in self._names:
            self._waits(old, new)

    def _bound(self, old: Pod | None, new: Pod) -> None:
        was_bound = old is not None and bool(old.node)
        self._picture.put_pod(new)
        self._picture.forget_nomination(new.uid)
        self._waiting.drop(new.uid)
        what = What.POD_CHANGED if was_bound else What.POD_BOUND
        self._waiting.hear(News(what, pod=(old if was_bound else None, new)))

    def _waits(self, old: Pod | None, new: Pod) -> None:
        if self._picture.assumed(new.uid):
            if new.deleting and old is not None and not old.deleting:
                # Its bind will fail, and until then nobody else need wait for its place.
                self._freed(new)
            return
        if old is None:
            self._picture.nominate(new, new.nominated)
            self._waiting.add(new)
            return
        self._picture.renominate(old, new)
        self._waiting.update(old, new)
        if old.nominated and old.nominated != new.nominated:
            self._waiting.hear(News(What.POD_GONE, pod=(None, old), most=old.priority))

    def _gone(self, pod: Pod) -> None:
        self._waiting.drop(pod.uid)
        self._picture.forget_nomination(pod.uid)
        if pod.node or self._picture.assumed(pod.uid):
            self._freed(pod)
        elif pod.nominated:
            self._waiting.hear(News(What.POD_GONE, pod=(None, pod), most=pod.priority))

    def _freed(self, pod: Pod) -> None:
        self._picture.drop_pod(pod.uid)
        self._waiting.hear(News(What.POD_GONE, pod=(None, pod)))
