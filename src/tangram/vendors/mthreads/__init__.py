"""Moore Threads: resource names, admission rules, fit rules and slice shapes of its cards."""
