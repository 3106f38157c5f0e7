"""How long a process takes before it does anything.

A command that people type, and a daemon that restarts with its node, should feel instant. Each case is a fresh
interpreter; the median is printed because the first run also fills the file cache.
"""

import statistics
import subprocess
import sys
import time

RUNS = 9

CASES = {
    "python alone": "pass",
    "the engine": "import pkgutil, importlib, tangram.engine as e; "
    "[importlib.import_module(m.name) for m in pkgutil.walk_packages(e.__path__, 'tangram.engine.')]",
    "the command line": "import tangram.cli.app",
}


def seconds(code: str) -> float:
    """One fresh interpreter running the code, from start to exit."""
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)
    return time.perf_counter() - begin


def main() -> None:
    """Print one line per case."""
    for name, code in CASES.items():
        median = statistics.median(seconds(code) for _ in range(RUNS))
        print(f"{name:<20}{median * 1000:>7.0f} ms")


if __name__ == "__main__":
    main()
