#!/bin/sh -eu
# It comes back; 06-verify.sh shows it.
kubectl uncordon $NODE
