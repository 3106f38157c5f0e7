"""Commands about the machine one stands on: `devices`, `topology`, `top` and `doctor`.

They print what drivers and probes report and decide nothing. Each one answers within its time limit, whatever a vendor
library does in the meantime.
"""
