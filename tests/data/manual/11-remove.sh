#!/bin/sh -eu
# $RELEASE is what the list shows.
helm list -n metax-gpu-extensions
helm uninstall $RELEASE -n metax-gpu-extensions --wait
