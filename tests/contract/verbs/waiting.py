"""wait, for whatever may come."""

from __future__ import annotations

from typing import Final

from contract.kubectl import Session, do, script
from contract.things import config, job, pod
from contract.verbs.looking import running

SESSIONS: Final = (
    Session(
        "conditions_are_waited_for",
        (
            do(
                "create -f -",
                pod("a", spec={"nodeName": "{tag}-gone"}),
                job("a"),
                config("a", data={"state": "new"}),
            ),
            do("wait --for=condition=Ready pod/a --timeout=1s"),
            running("a"),
            do("wait --for=condition=Ready pod/a --timeout=5s"),
            do("wait --for=jsonpath={.status.phase}=Running pod/a --timeout=5s"),
            do("wait --for=condition=Suspended job/a --timeout=10s"),
            do("wait --for=delete configmap/nothing --timeout=1s"),
            script(
                "$KUBECTL delete configmap a >/dev/null & "
                "$KUBECTL wait --for=delete configmap/a --timeout=10s; wait",
                keep="nothing at all",
            ),
            do("wait --for=condition=Ready pod/nothing --timeout=1s"),
        ),
    ),
)
