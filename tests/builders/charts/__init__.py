"""Charts as tests see them: the cases in which each is rendered, and what came of them, kept as files."""
