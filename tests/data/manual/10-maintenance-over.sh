#!/bin/sh -eu
# It comes back; 05-verify.sh shows it.
kubectl uncordon $NODE
