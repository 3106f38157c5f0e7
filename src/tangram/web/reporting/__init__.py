"""An explanation as pages show it: the scheduler's report in the viewer's language, and what could be done about it."""
