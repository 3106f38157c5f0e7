"""Commands to a running simulation, in the words a person types: `fail GPU-3`, `use GPU-0/2`, `advance 30s`.

A line of words in, plain values out. A line that means nothing is answered with a sentence that says what would.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from typing import Final

from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.simulated.description import CardSpec, Fault, Figure
from tangram.drivers.simulated.module_control import MODULE_USAGE, module_command
from tangram.drivers.simulated.refusing import label
from tangram.drivers.simulated.state import WHOLE, card_uuid
from tangram.drivers.simulated.world import World
from tangram.model.devices import Health
from tangram.units.durations import DurationError, duration_text, parse_duration
from tangram.units.memory import Bytes, MemorySizeError, memory_text, parse_memory
from tangram.units.refusal import quoted
from tangram.vendors.wording import either

Answer = dict[str, object]

SETTABLE: Final = (Figure.TEMPERATURE, Figure.UTILISATION, Figure.POWER, Figure.ECC)
_FAULTS: Final = tuple(fault for fault in Fault if fault is not Fault.RECOVER)
_LARGEST_FIGURE: Final = 1e9
_UNDRIVEN: Final = Health(healthy=False, code="no-driver", message="no kernel driver holds the card")


def carry_out(world: World, line: str) -> Answer:
    """Do what the line says. Raises `DriverError` with the sentence to answer."""
    try:
        words = shlex.split(line)
    except ValueError:
        raise _unclear(line, "its quotes do not match") from None
    if not words:
        raise _unclear(line, "it is empty")
    command = _COMMANDS.get(words[0])
    if command is None:
        raise _unclear(line, f"{quoted(words[0])} is no command")
    fewest, most, usage, run = command
    if not fewest <= len(words) - 1 <= most:
        raise DriverError(Kind.INVALID, f"read {quoted(line)}; {words[0]} is written {usage!r}; write it so")
    return run(world, words[1:])


def _unclear(line: str, why: str) -> DriverError:
    usages = ", ".join(usage for _, _, usage, _ in _COMMANDS.values())
    return DriverError(Kind.INVALID, f"read {quoted(line)}, and {why}; the commands are: {usages}")


def _list(world: World, _words: Sequence[str]) -> Answer:
    cards: list[Answer] = []
    health = world.health()
    for spec in world.description.cards:
        uuid, state = card_uuid(world.description, spec), world.state(spec.position)
        report = health.get(uuid, _UNDRIVEN)
        cards.append(
            {
                "card": label(spec),
                "uuid": uuid,
                "product": spec.product,
                "healthy": report.healthy,
                "code": report.code,
                "sliced": state.sliced,
                "virtual_functions": state.virtual_functions,
                "slices": [
                    {
                        "slice": f"{label(spec)}/{each.id}",
                        "memory": memory_text(each.memory),
                        "cores": each.cores,
                        "name": each.name,
                        "busy": each.id in state.holders,
                    }
                    for each in state.slices
                ],
                "in_use": bool(state.holders),
            }
        )
    return {"time": duration_text(round(world.now(), 3)), "cards": cards}


def _fail(world: World, words: Sequence[str]) -> Answer:
    fault = words[1] if len(words) > 1 else Fault.ECC
    if fault not in _FAULTS:
        raise DriverError(
            Kind.INVALID, f"fault {quoted(fault)} is not known; it is {either(_FAULTS)}; write one"
        )
    return _strike(world, words[0], Fault(fault))


def _vanish(world: World, words: Sequence[str]) -> Answer:
    return _strike(world, words[0], Fault.VANISH)


def _recover(world: World, words: Sequence[str]) -> Answer:
    return _strike(world, words[0], Fault.RECOVER)


def _strike(world: World, word: str, fault: Fault) -> Answer:
    spec = card_named(world, word)
    world.strike(spec.position, fault)
    return {"card": label(spec), "faults": sorted(world.faults(spec.position))}


def _use(world: World, words: Sequence[str]) -> Answer:
    spec, part = part_named(world, words[0])
    memory = _memory(words[1]) if len(words) > 1 else None
    holder = world.use(spec.position, part, memory)
    return {"used": words[0], "pid": holder.pid, "memory": memory_text(holder.memory)}


def _release(world: World, words: Sequence[str]) -> Answer:
    spec, part = part_named(world, words[0])
    world.release(spec.position, part)
    return {"released": words[0]}


def _set(world: World, words: Sequence[str]) -> Answer:
    what, card, value = words
    spec = card_named(world, card)
    if what == "sliced":
        if value not in ("on", "off"):
            raise DriverError(Kind.INVALID, f"sliced is {quoted(value)}; it is on or off; write one of these")
        world.set_sliced(card_uuid(world.description, spec), on=value == "on")
    elif what in SETTABLE:
        world.set_figure(spec.position, Figure(what), _figure(value))
    else:
        legal = either((*SETTABLE, "sliced"))
        raise DriverError(Kind.INVALID, f"{quoted(what)} cannot be set; it is {legal}; write one of these")
    return {"card": label(spec), what: value}


def _advance(world: World, words: Sequence[str]) -> Answer:
    try:
        seconds = parse_duration(words[0])
    except DurationError as error:
        raise DriverError(Kind.INVALID, str(error)) from error
    return {"time": duration_text(round(world.advance(seconds), 3))}


def _run(world: World, words: Sequence[str]) -> Answer:
    environment: dict[str, str] = {}
    for word in words[1:]:
        name, equals, value = word.partition("=")
        if not equals:
            raise DriverError(
                Kind.INVALID, f"{quoted(word)} is no variable; write for example MTHREADS_VISIBLE_DEVICES=0"
            )
        environment[name] = value
    made = world.start_container(words[0], environment)
    return {"container": words[0], "slices": [f"{each.card}/{each.id}" for each in made]}


def _stop(world: World, words: Sequence[str]) -> Answer:
    world.stop_container(words[0])
    return {"container": words[0]}


def card_named(world: World, word: str) -> CardSpec:
    """The card of a number (`3`, `GPU-3`) or a uuid."""
    for spec in world.description.cards:
        if word in (label(spec), str(spec.position), card_uuid(world.description, spec)):
            return spec
    count = len(world.description.cards)
    legal = f"the cards are GPU-0 to GPU-{count - 1}" if count else "there are no cards"
    raise DriverError(
        Kind.INVALID, f"there is no card {quoted(word)}; {legal}; name one of these, or its uuid"
    )


def part_named(world: World, word: str) -> tuple[CardSpec, int]:
    """A card, or after a slash the number of a slice or virtual function of it; slices also by name or uuid."""
    card, slash, number = word.rpartition("/")
    if slash:
        spec = card_named(world, card)
        if not (number.isascii() and number.isdigit() and len(number) <= 4):
            raise DriverError(
                Kind.INVALID, f"{quoted(word)} names no slice; write for example {label(spec)}/0"
            )
        return spec, int(number)
    for device in world.devices():
        if device.virtual_function_of is None:
            for each in world.slices(device.uuid):
                if word in (each.uuid, each.name) and word:
                    return card_named(world, device.uuid), each.id
    return card_named(world, word), WHOLE


def _memory(text: str) -> Bytes:
    try:
        return parse_memory(text)
    except MemorySizeError as error:
        raise DriverError(Kind.INVALID, str(error)) from error


def _figure(text: str) -> float | None:
    if text == "none":
        return None
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    # Comparing like this also refuses what is not a number.
    if not 0 <= value <= _LARGEST_FIGURE:
        raise DriverError(
            Kind.INVALID,
            f"{quoted(text)} is no figure; it is a number from 0, or none to let it go; write one",
        )
    return value


_Run = Callable[[World, Sequence[str]], Answer]
_COMMANDS: Final[dict[str, tuple[int, int, str, _Run]]] = {
    "list": (0, 0, "list", _list),
    "fail": (1, 2, f"fail CARD [{'|'.join(_FAULTS)}]", _fail),
    "vanish": (1, 1, "vanish CARD", _vanish),
    "recover": (1, 1, "recover CARD", _recover),
    "use": (1, 2, "use CARD[/SLICE] [MEMORY]", _use),
    "release": (1, 1, "release CARD[/SLICE]", _release),
    "set": (3, 3, f"set {'|'.join((*SETTABLE, 'sliced'))} CARD VALUE", _set),
    "advance": (1, 1, "advance DURATION", _advance),
    "run": (1, 64, "run CONTAINER [NAME=VALUE ...]", _run),
    "stop": (1, 1, "stop CONTAINER", _stop),
    "module": (0, 3, MODULE_USAGE, module_command),
}
USAGES: Final = tuple(usage for _, _, usage, _ in _COMMANDS.values())
"""How each command is written."""
