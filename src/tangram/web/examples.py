"""Manifests to begin with on the explain page: one of each way to ask, ready to be changed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_POD: Final = """\
apiVersion: v1
kind: Pod
metadata:
  name: {name}
{more}spec:
  schedulerName: tangram-scheduler
  containers:
    - name: main
      image: registry.example.com/train:1
      resources:
        limits:
{limits}
"""


def _pod(name: str, limits: Mapping[str, str], annotations: Mapping[str, str] | None = None) -> str:
    asked = "\n".join(f"          {key}: {value}" for key, value in limits.items())
    noted = "".join(f"    {key}: {value}\n" for key, value in (annotations or {}).items())
    return _POD.format(name=name, limits=asked, more=f"  annotations:\n{noted}" if noted else "")


EXAMPLES: Final[Mapping[str, str]] = {
    "slice": _pod(
        "slice",
        {"metax-tech.com/sgpu": "1", "metax-tech.com/vcore": "25", "metax-tech.com/vmemory": "16Gi"},
    ),
    "whole": _pod("whole", {"metax-tech.com/gpu": "1"}),
    "linked": _pod("linked", {"metax-tech.com/gpu": "4"}, {"tangram.dev/required-scope": "link"}),
    "moore-threads": _pod(
        "moore-threads",
        {"mthreads.com/vgpu": "1", "mthreads.com/sgpu-core": "4", "mthreads.com/sgpu-memory": "32"},
    ),
    "koordinator": _pod(
        "koordinator",
        {
            "koordinator.sh/gpu-core": "50",
            "koordinator.sh/gpu-memory": "16Gi",
            "metax-tech.com/sgpu": "1",
        },
    ),
    "deployment": """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: serving
spec:
  replicas: 2
  selector:
    matchLabels: {app: serving}
  template:
    metadata:
      labels: {app: serving}
      annotations:
        metax-tech.com/sgpu-qos-policy: fixed-share
    spec:
      schedulerName: tangram-scheduler
      containers:
        - name: main
          image: registry.example.com/serve:1
          resources:
            limits:
              metax-tech.com/sgpu: 1
              metax-tech.com/vcore: 50
              metax-tech.com/vmemory: 32Gi
""",
    "too-much": _pod(
        "too-much",
        {"metax-tech.com/sgpu": "2", "metax-tech.com/vcore": "100", "metax-tech.com/vmemory": "64Gi"},
        {"hami.io/gpu-scheduler-policy": "mutex"},
    ),
}
"""By the word that the address has; `explain.example.WORD` says what each is."""
