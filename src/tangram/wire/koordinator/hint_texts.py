"""The JSON object in an annotation with which a Koordinator user says how cards are to be chosen.

koord-scheduler passes over fields that it does not know, so a slip of the pen places the cards anywhere. Here a text
is an object of known fields or a refusal. An empty value is what it is to Koordinator: nothing said.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from tangram.model.pods import ScopeWish
from tangram.model.refusals import Refusal
from tangram.model.topology import TopologyScope
from tangram.units.refusal import quoted
from tangram.vendors.codes import Code
from tangram.vendors.wording import annotated, either, sentence
from tangram.wire import jsontext, loose
from tangram.wire.errors import WireError


class HintText(msgspec.Struct, frozen=True, kw_only=True):
    """One annotation as it is written, with what it should look like."""

    key: str
    written: str
    form: str
    example: str

    def fields(self) -> Mapping[str, object] | Refusal:
        """The object that the annotation holds; `null` is an object without fields."""
        try:
            found = jsontext.parse(self.written, self.key)
        except WireError:
            return self.malformed()
        if found is not None and not loose.is_object(found):
            return self.malformed()
        return loose.members(found)

    def malformed(self) -> Refusal:
        """The refusal of a text without that form."""
        return Refusal(
            Code.HINT_MALFORMED,
            sentence(annotated(self.key, self.written), self.form, f"write {self.example}"),
        )

    def unknown_fields(self, found: Mapping[str, object], known: Iterable[str]) -> tuple[Refusal, ...]:
        """The refusal of fields that Koordinator does not have either."""
        offered = tuple(known)
        strange = [name for name in found if name not in offered]
        if not strange:
            return ()
        return (
            Refusal(
                Code.HINT_FIELD_UNKNOWN,
                sentence(
                    self._with(f"the field {either(map(quoted, strange[:3]))}"),
                    f"its fields are {either(offered)}",
                    "correct the spelling, or remove the field",
                ),
            ),
        )

    def unknown_word(
        self, field: str, found: object, known: Iterable[str], code: Code = Code.HINT_WORD_UNKNOWN
    ) -> Refusal:
        """The refusal of a word that is none of the few that a field may hold."""
        spelled = loose.scalar_text(found)
        shown = "something that is no text" if spelled is None else quoted(spelled)
        return Refusal(
            code,
            sentence(
                self._with(f"{field} {shown}"),
                f"{field} may be {either(known)}",
                "write it exactly so, or leave the field out",
            ),
        )

    def unsupported(self, field: str, why: str, instead: str) -> Refusal:
        """The refusal of a wish that is clear and cannot be met."""
        return Refusal(Code.HINT_UNSUPPORTED, sentence(self._with(field), why, instead))

    def other_device(self, kind: str) -> Refusal:
        """The refusal of a wish about something that is no card."""
        return Refusal(
            Code.HINT_OTHER_DEVICE,
            sentence(
                self._with(f"the device type {quoted(kind)}"),
                "the only type that is placed here is 'gpu'",
                "remove it, or leave the pod to koord-scheduler with schedulerName: koord-scheduler",
            ),
        )

    def wish(self, scope: TopologyScope) -> ScopeWish:
        """What the annotation means for the cards."""
        return ScopeWish(annotated(self.key, self.written), scope)

    def _with(self, part: str) -> str:
        return f"{annotated(self.key, self.written)}, with {part}"


def says_something(value: object) -> bool:
    """Whether a field holds more than nulls, empty texts, empty lists and empty objects."""
    # Nesting has no end in somebody else's text, so this does not call itself.
    unread = [value]
    while unread:
        each = unread.pop()
        if loose.is_object(each):
            unread += loose.members(each).values()
        elif loose.is_list(each):
            unread += loose.elements(each)
        elif each is not None and each != "":
            return True
    return False
