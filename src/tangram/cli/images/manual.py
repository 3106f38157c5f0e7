"""The texts of `--help` for `tangram images`. Lines stay under 80 columns, as in `cli.manual`."""

from typing import Final

IMAGES: Final = """Bring images from a file to a registry, or into this node's runtime.

  tangram images list --archive tangram-0.1.0-oci.tar
  tangram images push registry.example.com/cloud --archive tangram-0.1.0-oci.tar
  tangram images load --archive tangram-0.1.0-oci.tar
  tangram images verify --archive tangram-0.1.0-oci.tar

`tangram images payload` makes such files of drivers and MXMACA.
The file is what `make image` writes, or the .run file of a bundle, which runs
these commands by itself (docs/bundle.md). What `docker save` writes is read
too, also compressed, as are MetaX's files of MXMACA images:
  tangram images push registry.example.com/cloud \\
    --archive mxc500-maca-2.23.0.4-ubuntu20.04-amd64.container.xz
"""

PUSH: Final = """Push all images of a file to a registry, for all platforms.

Log in as for docker or helm, then push:
  docker login registry.example.com
  tangram images push registry.example.com/cloud --archive FILE

With a password from somewhere else, and an authority of one's own:
  pass registry | tangram images push registry.example.com/cloud \\
    --archive FILE --user robot --password-stdin --ca authority.pem

A registry on this machine that speaks no HTTPS:
  tangram images push localhost:5000/cloud --archive FILE --plain-http

What the registry has already is not sent again, so a push that was cut off is
simply repeated. HTTPS_PROXY and NO_PROXY are heeded.
Exit status: 0 everything is there, 1 something could not be pushed, 2 the
command line could not be read.
"""

LOAD: Final = """Load all images of a file into the container runtime of this machine.

On each node of a cluster without a registry, as root:
  tangram images load --archive FILE

Where several runtimes answer, the kubelet's is taken; else say which:
  tangram images load --archive FILE --runtime containerd

Only what this machine can run is loaded. containerd (also of k3s, RKE2, k0s
and MicroK8s), docker, and podman with CRI-O are known.
Exit status: 0 everything is there, 1 something could not be loaded, 2 the
command line could not be read.
"""

LIST: Final = """Show the images of a file: names, versions, platforms, sizes, digests.

  tangram images list --archive FILE
  tangram images list --archive FILE -o json
"""

VERIFY: Final = """Compare a file of images with its checksums, and a registry with the file.

Whether a file has arrived whole:
  tangram images verify --archive FILE

Whether a registry has all that is in it, under the same digests:
  tangram images verify registry.example.com/cloud --archive FILE

The same, with every byte fetched from there and compared:
  tangram images verify registry.example.com/cloud --archive FILE --read

Nothing is changed. -o json has a line for each name and each blob.
Exit status: 0 all is as it should be, 1 something is missing, different or
could not be looked at, 2 the command line could not be read.
"""
