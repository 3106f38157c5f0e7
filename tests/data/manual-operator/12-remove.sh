#!/bin/sh -eu
# $RELEASE is what the list shows.
helm list -n metax-operator
helm uninstall $RELEASE -n metax-operator --wait
