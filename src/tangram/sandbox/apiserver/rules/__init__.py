"""What the server does to an object of a built-in kind besides storing it: fill in, restore, count and refuse.

The order is the real server's: `complete` when an object has been read (and again after mutating webhooks), then
`prepare_create` or `prepare_update`, then `faults`. Each step is written so that doing it twice changes nothing.
"""
