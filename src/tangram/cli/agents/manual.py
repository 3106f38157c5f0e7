"""The texts of `--help` for daemons and what goes with them. Lines stay under 80 columns, as in `cli.manual`."""

from typing import Final

GPU_LABEL: Final = """Keep the labels of this node true: which cards it has, and which driver.

As every node runs it, with NODE_NAME from the pod's manifest:
  tangram gpu-label

From a container that has the host mounted, looking every minute:
  tangram gpu-label --root /host --interval 1m

Once, with what was changed in kubectl's words, and then end:
  tangram gpu-label --node-name gpu-1 --once

With simulated cards and your own kubeconfig:
  tangram gpu-label --node-name gpu-1 --driver simulated:cards.yaml --once

While a node is cordoned (kubectl cordon) its labels are taken off, and with
them gpu-device; uncordon brings them back. docs/gpu-label.md lists every label.
Exit status: 0 told to end or done, 1 failed or refused by the API server,
2 the command line could not be read.
"""

GPU_DEVICE: Final = """Offer this node's cards to the kubelet, and give containers what they were promised.

As every GPU node runs it, with NODE_NAME from the pod's manifest:
  tangram gpu-device --config /config

The same, following the ConfigMap metax-device-config of a namespace instead,
so that an edit counts within seconds:
  tangram gpu-device --config-namespace kube-system

Without a GPU, on simulated cards (see 'tangram simulate-cards serve'):
  tangram gpu-device --node-name gpu-1 --driver simulated:unix:cards.sock \\
    --kubeconfig ~/.kube/config --log-dir ''

Health every ten seconds, devices as nodes in the answer instead of CDI:
  tangram gpu-device --healthy-interval 10 --cdi off

It needs the kubelet's sockets, the CDI folder and /dev of the host;
docs/gpu-device.md says which, why, and what an interruption can cost.
Exit status: 0 told to end, 1 failed, 2 the command line could not be read.
"""

DRIVER_MANAGER: Final = """Bring the kernel driver and MXMACA onto this node, and keep them.

As the operator runs it on every node with MetaX cards:
  tangram driver-manager --host-root /host --config-namespace metax-operator \\
    --deploy-policy IfNotPresent \\
    --driver-payload cr.metax-tech.com/cloud/driver-image:2.32.0

With the host's own driver, and two versions of MXMACA side by side, on a
node that gpu-label has labelled with its product:
  tangram driver-manager --host-root /host --deploy-policy Never \\
    --maca-payload reg/maca-c500:2.32.0 --maca-payload reg/maca-c500:2.31.0

Without a GPU, on simulated cards (see 'tangram simulate-cards serve'):
  tangram driver-manager --node-name gpu-1 --driver simulated:unix:cards.sock \\
    --loader simulated:unix:cards.sock --host-root ./host --log-dir '' \\
    --driver-payload reg/driver-image:2.32.0 --kubeconfig ~/.kube/config

It never pulls a driver from under a pod, and replaces one that works only in
the turn that the operator gives; docs/driver-manager.md says what it writes,
when it waits, and what every code means.
Exit status: 0 told to end, 1 failed, 2 the command line could not be read.
"""

_CORDON_STATUS = """CARD is a uuid, a number, or a number as in GPU-3. The list is kept in the
node's annotation hami.io/device-cordon. Exit status: 0 done (also when nothing
was left to do), 1 refused by the API server or no card is known there, 2 the
command line could not be read or names a card the node does not have.
"""

CORDON: Final = f"""Take cards of a node out of placement. Pods on them keep running.

One card, by the number that 'tangram status' and 'tangram devices' show, in
the cluster your kubeconfig names:
  tangram cordon gpu-1 3
  tangram cordon gpu-1 3 --kubeconfig other.yaml

Several, and by uuid:
  tangram cordon gpu-1 GPU-0 GPU-1
  tangram cordon gpu-1 GPU-01e3a5c7-0001-4b0e-9d2f-5d1c8f0a7b31

For programs:
  tangram cordon gpu-1 3 -o json

{_CORDON_STATUS}"""

UNCORDON: Final = f"""Give cards of a node back to placement.

By number, or by uuid as with cordon:
  tangram uncordon gpu-1 3
  tangram uncordon gpu-1 GPU-0 GPU-1

For programs:
  tangram uncordon gpu-1 3 -o json

{_CORDON_STATUS}"""

SCHEDULER = """Place pods on cards, as the extender of a kube-scheduler.

It runs beside a kube-scheduler that asks it over loopback (filter, bind, preempt), keeps the state of every card of the
cluster in memory, and writes what it decided in the Binding itself. Of several such pairs the one that holds
kube-scheduler's Lease is active; the others are warm.

Example:
    tangram scheduler --lease kube-system/tangram-scheduler --extender-address 127.0.0.1:8080
"""
