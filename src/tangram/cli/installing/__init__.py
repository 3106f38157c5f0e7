"""The commands around an installation: `tangram preflight` before it, `tangram verify` after it."""
