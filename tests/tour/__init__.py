"""The examples from 10 on, played in a sandbox: an embedded one in `make test`, a real one in `make e2e`."""
