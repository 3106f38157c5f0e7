#!/bin/sh -eu
# Straight from the chart of the bundle, with the images that were loaded.
helm install ./k8s/metax-gpu-extensions-$VERSION.tgz --create-namespace -n metax-gpu-extensions \
  --generate-name --wait $OPTIONS
