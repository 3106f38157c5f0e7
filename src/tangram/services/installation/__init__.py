"""What a cluster must be before Tangram is installed, and what it must show afterwards.

`preflight` looks at the ground, `verify` at what stands on it. Both read and ask; all that is ever sent to be made is
marked as a dry run, but for the one pod that a person asks `verify` to place. Who else works in the cluster is known to
the scheduler's checkup, so it is handed in: services do not import each other.
"""
