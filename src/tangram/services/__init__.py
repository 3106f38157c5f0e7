"""One package per daemon. They never import each other: each must be able to run, and to fail, alone."""
