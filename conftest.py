"""What holds for every suite of the project."""

pytest_plugins = ["testbed.left_out"]
