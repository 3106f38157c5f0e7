#!/bin/sh -eu
# A node leaves GPU service. $PODS are those on it that use cards.
kubectl cordon $NODE
while kubectl get pods -n metax-operator -o wide | grep gpu-device | grep -w $NODE; do
  sleep 1
done
kubectl delete pod $PODS
