"""The wall: every call into the vendor's package goes through here, and only our own values and errors come out.

The package has no types, so what it returns is checked; its errors cannot be hashed or compared without raising, so
they do not travel on; its texts are decoded without asking, so a broken one may raise; and it reads the signed
temperature as unsigned. Nothing above this module needs to know any of that.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Final, NewType, TypeVar, cast

from tangram.drivers.errors import DriverError, Kind
from tangram.drivers.mtml.failures import FUNCTION_NOT_FOUND, failure
from tangram.units.na import NA, Maybe, NotAvailable

_Answer = TypeVar("_Answer")

Handle = NewType("Handle", object)
"""Owned by the library and never freed by us: the calls that free are deprecated, and one of them crashes."""
_Question = tuple[int | str, ...]

FUNCTIONS: Final = (
    "mtmlLibraryInit",
    "mtmlLibraryShutDown",
    "mtmlLibraryInitSystem",
    "mtmlSystemGetDriverVersion",
    "mtmlLibraryCountDevice",
    "mtmlLibraryInitDeviceByIndex",
    "mtmlLibraryInitDeviceByUuid",
    "mtmlDeviceGetIndex",
    "mtmlDeviceGetUUID",
    "mtmlDeviceGetName",
    "mtmlDeviceGetBrand",
    "mtmlDeviceGetSerialNumber",
    "mtmlDeviceGetPciInfo",
    "mtmlDeviceGetProperty",
    "mtmlDeviceGetGpuPath",
    "mtmlDeviceGetPrimaryPath",
    "mtmlDeviceGetRenderPath",
    "mtmlDeviceGetMtBiosVersion",
    "mtmlDeviceGetPowerUsage",
    "mtmlDeviceGetMemoryAffinityWithinNode",
    "mtmlDeviceGetTopologyLevel",
    "mtmlDeviceGetMtLinkSpec",
    "mtmlDeviceGetMtLinkState",
    "mtmlDeviceGetMtLinkRemoteDevice",
    "mtmlDeviceCountMtLinkLayouts",
    "mtmlDeviceGetMtLinkLayouts",
    "mtmlDeviceInitGpu",
    "mtmlDeviceInitMemory",
    "mtmlGpuGetUtilization",
    "mtmlGpuGetTemperature",
    "mtmlGpuGetClock",
    "mtmlMemoryGetTotal",
    "mtmlMemoryGetUsed",
    "mtmlMemoryGetClock",
    "mtmlMemoryGetEccMode",
    "mtmlMemoryGetEccErrorCounter",
    "mtmlMemoryGetRetiredPagesCount",
    "mtmlMemoryGetRetiredPagesPendingStatus",
    "mtmlErrorString",
)
"""Every function of the library that this driver uses."""


class Calls:
    """Calls through one copy of the package. Used by one thread at a time."""

    def __init__(
        self, package: ModuleType, entering: Callable[[str, str], None] = lambda _call, _subject: None
    ) -> None:
        self._package = package
        self._entering = entering
        self._subject = ""
        self.failures: list[DriverError] = []
        """What went wrong since `about` was last said, also where it became `NA`."""
        self._vendor_error = cast("type[Exception]", package.MTMLError)
        self._handles: dict[_Question, Handle] = {}
        self._cards = -1

    def about(self, subject: str) -> None:
        """Which card the following calls concern, for errors and for whoever waits."""
        self._subject = subject
        self.failures = []

    def raw(self, function: str, *arguments: object) -> object:
        """What the package returns, or a `DriverError`; no other exception."""
        self._entering(function, self._subject)
        call = cast("Callable[..., object] | None", getattr(self._package, function, None))
        if call is None:
            raise failure(function, FUNCTION_NOT_FOUND, "", self._subject)
        try:
            return call(*arguments)
        except self._vendor_error as error:
            raise self._failure(function, error) from None
        except UnicodeDecodeError:
            raise self._nonsense(function, "bytes that are no text") from None

    def unwrapped(self, function: str, *arguments: object) -> None:
        """Ask a function that the package does not know, which answers with a code. Raises `DriverError`."""
        self._entering(function, self._subject)
        # ctypes finds a function of the library as an attribute, and makes none of a name that is not there.
        call = cast("Callable[..., int] | None", getattr(self._package.mtmlLib, function, None))
        code = FUNCTION_NOT_FOUND if call is None else call(*arguments)
        if code:
            raise failure(function, code, "", self._subject)

    def number(self, function: str, *arguments: object) -> int:
        answer = self.raw(function, *arguments)
        if not isinstance(answer, int):
            raise self._nonsense(function, "no number")
        return answer

    def text(self, function: str, *arguments: object) -> str:
        """A text without blanks around it. An empty one is no answer."""
        answer = self.raw(function, *arguments)
        if not isinstance(answer, str) or not answer.strip() or not answer.strip().isprintable():
            raise self._nonsense(function, "no text")
        return answer.strip()

    def handle(self, function: str, *arguments: object) -> Handle:
        """The handle that this question gave first, kept until the library is started again.

        libmtml 1.5.0 makes a new handle at each call and never gives its memory back. A handle that no longer holds
        shows in the calls that take it.
        """
        # Handles are pointers, which cannot be hashed; those that may be asked about are kept, so an id names one.
        question = (function, *(each if isinstance(each, int | str) else id(each) for each in arguments))
        if question not in self._handles:
            answer = self.raw(function, *arguments)
            if not answer:
                raise self._nonsense(function, "a null handle")
            self._handles[question] = Handle(answer)
        return self._handles[question]

    def count_cards(self) -> int:
        """How many cards the library lists. After another number than before, no handle is taken for what it was."""
        count = self.number("mtmlLibraryCountDevice")
        if count != self._cards:
            self._handles.clear()
        self._cards = count
        return count

    def known_number(self, function: str, *arguments: object) -> Maybe[int]:
        return self._known(self.number, function, arguments)

    def known_text(self, function: str, *arguments: object) -> Maybe[str]:
        return self._known(self.text, function, arguments)

    def known_handle(self, function: str, *arguments: object) -> Maybe[Handle]:
        return self._known(self.handle, function, arguments)

    def known_answer(self, function: str, *arguments: object) -> Maybe[object]:
        return self._known(self.raw, function, arguments)

    def _known(
        self, ask: Callable[..., _Answer], function: str, arguments: tuple[object, ...]
    ) -> _Answer | NotAvailable:
        try:
            return ask(function, *arguments)
        except DriverError:
            return NA

    def _failure(self, function: str, error: Exception) -> DriverError:
        code = cast("object", getattr(error, "value", None))
        number = code if isinstance(code, int) else 999
        failed = failure(function, number, self._words(error), self._subject)
        self.failures.append(failed)
        return failed

    def _words(self, error: Exception) -> str:
        # Printing the error asks the library for its text, and that answer may be broken as well.
        self._entering("mtmlErrorString", self._subject)
        try:
            words = str(error)
        except (UnicodeDecodeError, ValueError):
            return ""
        return "" if words == "None" else words

    def _nonsense(self, function: str, what: str) -> DriverError:
        about = f" ({self._subject})" if self._subject else ""
        return DriverError(Kind.FAILED, f"{function}{about} answered with {what}", call=function)


def signed(number: int) -> int:
    """The 32-bit number with its sign, which the package loses: 4294967292 is -4."""
    return number - 2**32 if number >= 2**31 else number
