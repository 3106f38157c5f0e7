"""The text of `--help` for container-runtime. Lines stay under 80 columns, as in `cli.manual`."""

from typing import Final

CONTAINER_RUNTIME: Final = """Keep runtime metax registered with this node's container runtime.

As every managed node runs it, with the host's root mounted at /host:
  tangram container-runtime --host-root /host

On the host itself, with a containerd whose files are elsewhere:
  tangram container-runtime --node-name gpu-1 \\
    --containerd-config /var/lib/containerd/config.toml \\
    --restart-command 'systemctl restart containerd-gpu'

Leaving restarts to people; the node says so until somebody has done it:
  tangram container-runtime --host-root /host --restart never

It works with containerd (configuration version 2, 3 and 4), CRI-O and Docker,
changes nothing but its own lines, and has every change read by the engine
itself before it counts. The annotation tangram.dev/operator.remove=true on the
node takes everything out again. docs/container-runtime.md lists what it writes,
and every reason that it can give.
Exit status: 0 told to end, 1 failed, 2 the command line could not be read.
"""
