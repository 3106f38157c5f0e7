#!/bin/sh -eu
# The virtual functions of nodes, in the editor of $KUBE_EDITOR.
kubectl edit cm -n metax-operator driver-config
