#!/bin/sh -eu
# The weights, at run time, in the editor of $KUBE_EDITOR.
# T3, in the manual: kubectl edit cm -n metax-gpu $(kubectl get cm -n metax-gpu | grep gpu-aware-plugin | awk '{print $2}')
kubectl edit cm -n metax-gpu $(kubectl get cm -n metax-gpu | grep gpu-aware-plugin | awk '{print $1}')
