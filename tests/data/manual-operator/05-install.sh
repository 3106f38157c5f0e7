#!/bin/sh -eu
# From the registry, with the tag of the driver's payload and the MXMACA images. $OPTIONS are further ones.
helm install oci://$DOMAIN/$PROJECT/metax-operator --create-namespace -n metax-operator \
  --generate-name --wait --set registry=$DOMAIN/$PROJECT --set driver.payload.version=$DRIVER \
  --set "maca.payload.images={$MACA}" $OPTIONS
