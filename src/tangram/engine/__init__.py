"""Pure decisions: given cards, tenants and a request, where does it go, onto which cards, and why not elsewhere.

Nothing here reads a clock, a file or a socket; time is an argument. The live filter, `explain`, `simulate`, the node's
own card choice and the tests call these same functions, so they cannot disagree.
"""
