#!/bin/sh -eu
# Without a registry: on each worker, with the .run file copied there.
./k8s/metax-k8s-images.$VERSION.run load
