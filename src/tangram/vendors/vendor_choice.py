"""Whose cards a container means: exactly one vendor's, and said aloud when Koordinator's words are used."""

from collections.abc import Iterable

from tangram.model.pods import Container
from tangram.model.refusals import Refusal
from tangram.vendors.amounts import names_any
from tangram.vendors.codes import Code
from tangram.vendors.koordinator import word_faults
from tangram.vendors.koordinator_words import read_totals
from tangram.vendors.names import KOORDINATOR_OTHER_VENDORS, KOORDINATOR_RESOURCES
from tangram.vendors.protocol import VendorRules
from tangram.vendors.wording import asked, either, sentence


def vendor_faults(
    container: Container, vendors: Iterable[VendorRules], *, bound: bool
) -> tuple[Refusal, ...]:
    """Refuse a container that names two vendors, or Koordinator's words without any."""
    named = [rules for rules in vendors if names_any(container, rules.resource_names)]
    if len(named) > 1:
        words = sorted(name for rules in named for name in rules.resource_names)
        return (
            Refusal(
                Code.TWO_VENDORS,
                sentence(
                    asked(container, *words),
                    "a container uses the cards of one vendor",
                    "split it into one container for each vendor, or remove one vendor's resources",
                ),
                container.name,
            ),
        )
    if named or not names_any(container, KOORDINATOR_RESOURCES):
        return ()
    if not bound and names_any(container, KOORDINATOR_OTHER_VENDORS):
        # They say whose cards are meant, and what stands beside our words is refused elsewhere.
        return ()
    return (
        Refusal(
            Code.KOORDINATOR_WITHOUT_VENDOR,
            sentence(
                asked(container, *sorted(KOORDINATOR_RESOURCES)),
                "Koordinator's words do not say whose cards are meant",
                f"add {either(rules.koordinator_resource for rules in vendors)} with the number of cards",
            ),
            container.name,
        ),
        *word_faults(container, read_totals(container)),
    )
