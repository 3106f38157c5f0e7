"""Cards as the kernel itself shows them, with no vendor library at all: enough for labels and for finding faults.

Only reading. Which files exist depends on the vendor's kernel driver and its version, so every one of them may be
missing or unreadable, and each costs one figure.
"""
