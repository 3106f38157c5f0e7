"""What the server does to an object of a built-in kind besides storing it: fill in, restore, count and refuse.

The order is the real server's: `complete` when an object has been read, mutating admission and `complete` again, then
`prepare_create` or `prepare_update`, then `faults`. Each step does nothing the second time. `prepare_create` needs the
name and the uid, for a Job's pods are labelled with both.
"""

from tangram.sandbox.apiserver.rules.cluster import admit_node
from tangram.sandbox.apiserver.rules.metadata import metadata_faults
from tangram.sandbox.apiserver.rules.pod_admission import SYSTEM_PRIORITY_CLASSES, admit_pod
from tangram.sandbox.apiserver.rules.registry import rules_of
from tangram.sandbox.apiserver.rules.ruling import Rules
from tangram.sandbox.apiserver.rules.service_addresses import give_addresses

__all__ = [
    "SYSTEM_PRIORITY_CLASSES",
    "Rules",
    "admit_node",
    "admit_pod",
    "give_addresses",
    "metadata_faults",
    "rules_of",
]
