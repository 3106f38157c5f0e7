#!/bin/sh -eu
# The same for scripts, which find the release by its name.
release=$(helm list -q -f "metax" -n metax-operator)
if [ -n "$release" ]; then
  helm uninstall $release -n metax-operator --wait
fi
