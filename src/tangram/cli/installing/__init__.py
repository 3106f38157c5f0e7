"""The commands around an installation: `preflight` before it, `verify` after it, `cleanup` when it has gone."""
