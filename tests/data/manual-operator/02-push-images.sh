#!/bin/sh -eu
# The images into the registry $DOMAIN, project $PROJECT. A person types the password; a script hands it over.
echo "$PASSWORD" | docker login $DOMAIN -u $USER --password-stdin
./k8s/metax-k8s-images.$VERSION.run push $DOMAIN/$PROJECT
