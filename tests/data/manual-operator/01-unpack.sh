#!/bin/sh -eu
# The offline bundle: the image tool and the charts in one file, here in release $VERSION.
mkdir k8s
tar -C k8s -xvzf metax-gpu-k8s-package.$VERSION.tar.gz
