#!/bin/sh -eu
# On a management node: the argument, the mount and the volume are taken out again.
sed -e '/^    - --config=\/etc\/metax\/extender.yaml$/d' \
  -e '/^    - name: extenderconfig$/,+2d' \
  -e '/^  - name: extenderconfig$/,+3d' \
  /etc/kubernetes/manifests/kube-scheduler.yaml > /etc/metax/kube-scheduler.yaml
mv /etc/metax/kube-scheduler.yaml /etc/kubernetes/manifests/kube-scheduler.yaml
