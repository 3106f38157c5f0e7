"""Koordinator's formats: the `Device` object, the device-info file, and what its scheduler writes on pods and nodes."""
