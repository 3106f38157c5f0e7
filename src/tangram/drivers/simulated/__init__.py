"""Cards that exist only in a description, held to the rules that the real ones are held to.

Everything above the drivers is tried on these: in one process (`driver.SimulatedDriver`), or shared by several over a
unix socket (`server`, `client`). Time comes from outside and ids from the description, so the same file and the same
calls give the same answers; nothing here is random and nothing reads the machine it runs on.
"""
