"""README's commands, typed as a newcomer types them, on a Debian that has nothing else.

A developer's machine has every program that somebody once installed on it, so a check that runs there cannot find a
missing prerequisite. `readme` reads what the page tells people to type, `settings` and `root` make a Debian of the
smallest set of packages, `person` is an ordinary user in it, `story` types.
"""
