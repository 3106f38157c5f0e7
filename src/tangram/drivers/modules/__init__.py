"""The kernel's side of a driver: modules and virtual functions, as `protocol.ModuleLoader`."""
