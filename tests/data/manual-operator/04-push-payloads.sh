#!/bin/sh -eu
# $PAYLOADS are files: the driver as `tangram images payload build` made it, and MXMACA, made so or as MetaX ships it.
for file in $PAYLOADS; do
  ./k8s/metax-k8s-images.$VERSION.run push $DOMAIN/$PROJECT --archive $file
done
