"""The examples from 10 on, played in a running sandbox: embedded in `make test`, on a real control plane in `make e2e`."""
