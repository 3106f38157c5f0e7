#!/bin/sh -eu
# The chart into the same registry.
# T10, in the manual: Helm 3.0 or newer
echo "$PASSWORD" | helm registry login $DOMAIN -u $USER --password-stdin
helm push ./k8s/metax-gpu-extensions-$VERSION.tgz oci://$DOMAIN/$PROJECT
