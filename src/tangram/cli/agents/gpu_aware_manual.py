"""The texts of `--help` for gpu-aware and its switch. Lines stay under 80 columns, as in `cli.manual`."""

from typing import Final

GPU_AWARE: Final = """Score nodes by how a pod's MetaX cards would be joined there.

Beside a kube-scheduler that you keep, in a pod on a control-plane node:
  tangram gpu-aware

With the weights from a ConfigMap elsewhere, or from one that is mounted:
  tangram gpu-aware --weights-configmap metax-gpu/gpu-aware-weight
  tangram gpu-aware --weights-dir /weights

Make kube-scheduler ask it, on each control-plane node, and no more:
  tangram gpu-aware enable --manifest FILE --extender-url http://10.96.0.20:8080
  tangram gpu-aware disable --manifest FILE

Weights are followed as they change; docs/gpu-aware.md says what they do.
Exit status: 0 told to end or done, 1 failed or not confirmed, 2 the command
line or a file could not be read.
"""

ENABLE: Final = """Make a kube-scheduler ask gpu-aware, by its static manifest.

In /etc/kubernetes/manifests, show what would change, ask, and change it:
  tangram gpu-aware enable --manifest kube-scheduler.yaml --extender-url URL

Only print it, as 'patch -p1 -d /' takes it:
  tangram gpu-aware enable --manifest FILE --extender-url URL --print-patch

Without asking, for scripts:
  tangram gpu-aware enable --manifest FILE --extender-url URL --yes

Where the tag of kube-scheduler's image does not say its version:
  tangram gpu-aware enable --manifest FILE --extender-url URL \\
    --scheduler-version 1.30

URL is http://ADDRESS:8080 with the address of the service, as shown by
kubectl get services -A. A configuration that has one already keeps it.
The version decides which apiVersion the configuration has. A manifest that
is not understood is refused and left as it is.
Exit status: 0 done (also when nothing was left to do), 1 not confirmed, 2 the
command line or a file could not be read.
"""

DISABLE: Final = """Make a kube-scheduler ask gpu-aware no more.

In /etc/kubernetes/manifests, show what would change, ask, and change it:
  tangram gpu-aware disable --manifest kube-scheduler.yaml

Only print it, or change it without asking:
  tangram gpu-aware disable --manifest FILE --print-patch
  tangram gpu-aware disable --manifest FILE --yes

The manifest becomes what it was before, byte for byte, unless somebody changed
it since; then only our own lines are taken out.
Exit status: 0 done (also when nothing was left to do), 1 not confirmed, 2 the
command line or a file could not be read.
"""
