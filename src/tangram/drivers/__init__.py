"""The only layer that touches hardware: vendor libraries, vendor tools, sysfs, procfs, and simulated cards.

One Protocol (`protocol.Driver`), one folder per way of reaching cards. Everything above sees `model.devices` records
and `errors.DriverError`, never a status code.
"""
