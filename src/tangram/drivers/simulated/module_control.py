"""The command `module`: the kernel of a simulated node as an administrator, a boot or a bad day would change it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.simulated.kernel import Breaking, When
from tangram.drivers.simulated.world import World
from tangram.units.durations import DurationError, duration_text, parse_duration
from tangram.units.refusal import quoted
from tangram.vendors.wording import either
from tangram.wire.operator.payloads import VERSION

Answer = dict[str, object]

MODULE_USAGE: Final = (
    f"module [none|load VERSION|slow DURATION|heal|fail {'|'.join(Breaking)} [once|always|VERSION]]"
)
_MOST_SECONDS: Final = 60


def module_command(world: World, words: Sequence[str]) -> Answer:
    """Change what the kernel has, if told so, and say what it has then."""
    with world.lock:
        match words:
            case []:
                pass
            case ["none"]:
                world.kernel.by_hand(None)
                world.restart_cards()
            case ["load", version]:
                world.kernel.by_hand(_version(version))
                world.restart_cards()
            case ["slow", duration]:
                world.kernel.slow = _seconds(duration)
            case ["heal"]:
                world.kernel.heal()
            case ["fail", what, *when]:
                world.kernel.break_next(_breaking(what), _when(when[0] if when else When.ONCE))
            case _:
                read = quoted(" ".join(("module", *words)))
                raise DriverError(
                    Kind.INVALID, f"read {read}; module is written {MODULE_USAGE!r}; write it so"
                )
        return _shown(world)


def _shown(world: World) -> Answer:
    kernel = world.kernel
    return {
        "kernel": kernel.release,
        "module": None if kernel.loaded is None else kernel.loaded,
        "host_driver": kernel.host_driver,
        "slow": duration_text(kernel.slow),
        "fails": kernel.breaking,
    }


def _version(text: str) -> str:
    if not VERSION.fullmatch(text):
        raise DriverError(Kind.INVALID, f"{quoted(text)} is no version; write one such as 2.33.0")
    return text


def _breaking(text: str) -> Breaking:
    if text not in tuple(Breaking):
        raise DriverError(
            Kind.INVALID, f"{quoted(text)} cannot fail; what can is {either(Breaking)}; write one of these"
        )
    return Breaking(text)


def _when(text: str) -> str:
    return text if text in tuple(When) else _version(text)


def _seconds(text: str) -> float:
    try:
        seconds = parse_duration(text)
    except DurationError as error:
        raise DriverError(Kind.INVALID, str(error)) from error
    if seconds > _MOST_SECONDS:
        raise DriverError(
            Kind.INVALID, f"{quoted(text)} is too long; a module takes at most {_MOST_SECONDS}s; write less"
        )
    return seconds
