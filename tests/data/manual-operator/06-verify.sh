#!/bin/sh -eu
# The resource under Capacity, Allocatable and Allocated resources, and the labels.
kubectl describe node $NODE
