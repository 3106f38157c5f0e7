"""How much randomness the tests use.

`make test` must give the same answer twice, on any machine, in little time: the "sample" profile draws a
modest number of examples from a fixed seed. `make soak` is for finding what nobody thought of: many examples,
a new seed every time, and failures kept in `.hypothesis` so that the next run starts with them.

Tests take their counts from the profile; one that writes its own `max_examples` escapes both rules.
"""

import os

from hypothesis import HealthCheck, settings

settings.register_profile(
    "sample",
    derandomize=True,
    max_examples=60,
    stateful_step_count=30,
    deadline=None,
    # How fast examples are drawn says something about the machine, and an answer about the project must not.
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "soak",
    derandomize=False,  # hypothesis would fix the seed by itself where CI is set
    max_examples=5_000,
    stateful_step_count=100,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("soak" if os.environ.get("TANGRAM_SOAK") == "1" else "sample")
