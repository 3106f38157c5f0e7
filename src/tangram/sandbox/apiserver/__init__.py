"""An API server good enough for kubectl and for our own services, and held to the real one by one suite of cases."""
