"""The commands that bring people here from other software: `tangram migrate`."""
