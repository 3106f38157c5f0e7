"""What in a cluster does not go together with a scheduler that is an extender, and what to do about it.

Everything here reads and nothing writes. What may not be read is a finding of its own, and keeps no other check from
answering.
"""
