"""The vendors there are, and the only module that knows them all.

A new vendor is one folder and one line here.
"""

from collections.abc import Collection

from tangram.model.cards import SERVED, Vendor
from tangram.vendors.generic import GenericRules
from tangram.vendors.metax.rules import MetaxRules
from tangram.vendors.mthreads.rules import MthreadsRules
from tangram.vendors.protocol import VendorRules
from tangram.vendors.settings import DEFAULT_SETTINGS, AdmissionSettings


def rules_for(vendor: Vendor, settings: AdmissionSettings = DEFAULT_SETTINGS) -> VendorRules:
    """The rules of one vendor under the operator's settings."""
    largest = settings.largest_memory.get(vendor)
    match vendor:
        case Vendor.METAX:
            return MetaxRules(largest, settings.qos_policy)
        case Vendor.MTHREADS:
            limited = vendor in settings.compute_limited
            return MthreadsRules(
                settings.mthreads_memory_per_card,
                largest,
                compute_limited=limited,
                served=settings.mthreads_served,
            )
        case Vendor.GENERIC:
            return GenericRules()


def names_of_others(served: Collection[Vendor]) -> frozenset[str]:
    """The resources of the vendors that a cluster has switched off."""
    off = [vendor for vendor in SERVED if vendor not in served]
    return frozenset(name for vendor in off for name in rules_for(vendor).resource_names)


def rules_for_all(settings: AdmissionSettings = DEFAULT_SETTINGS) -> tuple[VendorRules, ...]:
    """The rules of every vendor whose words a pod can use in this cluster."""
    return tuple(rules_for(vendor, settings) for vendor in SERVED if vendor in settings.vendors)
