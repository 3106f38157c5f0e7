#!/bin/sh -eu
# The chart into the same registry.
echo "$PASSWORD" | helm registry login $DOMAIN -u $USER --password-stdin
helm push ./k8s/metax-operator-$VERSION.tgz oci://$DOMAIN/$PROJECT
