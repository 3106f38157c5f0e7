"""`tangram doctor --self-test`: what this machine's cards answer through our drivers, and whether it holds together.

Unlike the probes of `doctor`, which ask whether a machine is set up, these checks ask the vendor's library every
question that the agent asks, and compare the answers with each other. Judgements are pure (`judging`), so that the
suite over the vendors' libraries applies the same ones. A library may end the process that calls it; so the checks run
in a child process (`child`), and whoever started it (`supervising`) tells in which check it died, and puts the card
back.
"""
