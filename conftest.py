"""What holds for every suite of the project."""

import signal

pytest_plugins = ["testbed.left_out"]


def pytest_configure() -> None:
    """Have Ctrl-C reach what tests start, however the run was started.

    A script's command in the background has it ignored, and hands that on to every process of its own; tests that
    press it there would never end.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
