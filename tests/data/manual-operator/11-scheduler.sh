#!/bin/sh -eu
# Slices of cards: every node makes them, and the scheduler that places them comes with the same release.
helm upgrade $RELEASE oci://$DOMAIN/$PROJECT/metax-operator -n metax-operator --wait --reset-then-reuse-values \
  --set gpuScheduler.deploy=true --set gpuDevice.deviceConfig.version=v1 \
  --set gpuDevice.deviceConfig.cluster-config.mode=sgpu
