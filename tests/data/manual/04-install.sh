#!/bin/sh -eu
# From the registry. $OPTIONS are further ones, each as --set OPTION=VALUE.
helm install oci://$DOMAIN/$PROJECT/metax-gpu-extensions --create-namespace -n metax-gpu-extensions \
  --generate-name --wait --set registry=$DOMAIN/$PROJECT $OPTIONS
