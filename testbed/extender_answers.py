"""What a scripted extender can be told to answer: the good, the slow and the broken."""

import asyncio

from testbed.api import Object
from testbed.extender import Answer, ExtenderCall, Raw


def accept_only(*names: str) -> Answer:
    """Only these nodes, as far as they were offered; the others are refused with a reason."""

    async def answer(call: ExtenderCall) -> Object:
        return {
            "NodeNames": [name for name in call.offered if name in names],
            "FailedNodes": {name: "not wanted by the test" for name in call.offered if name not in names},
        }

    return answer


def refuse_all(reason: str, *, for_good: bool = False) -> Answer:
    """No node will do. `for_good` says that removing pods would not help either."""

    async def answer(call: ExtenderCall) -> Object:
        field = "FailedAndUnresolvableNodes" if for_good else "FailedNodes"
        return {"NodeNames": [], field: dict.fromkeys(call.offered, reason)}

    return answer


def fail(sentence: str) -> Answer:
    """The `Error` field: the extender could not decide."""

    async def answer(_call: ExtenderCall) -> Object:
        return {"Error": sentence}

    return answer


def say(text: str, *, status: int = 200) -> Answer:
    """Exactly these bytes."""

    async def answer(_call: ExtenderCall) -> Raw:
        return Raw(text, status)

    return answer


def hold(released: asyncio.Event, then: Answer) -> Answer:
    """Nothing until the test lets go."""

    async def answer(call: ExtenderCall) -> Object | list[Object] | Raw:
        await released.wait()
        return await then(call)

    return answer
