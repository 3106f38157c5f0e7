#!/bin/sh -eu
# A job on nodes with one product of cards.
kubectl create -f sample.yaml
