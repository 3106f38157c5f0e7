"""The four kinds of patch, and the books about who owns which field."""

from tangram.sandbox.apiserver.patching.applying import server_side_apply
from tangram.sandbox.apiserver.patching.json_patch import apply_json_patch
from tangram.sandbox.apiserver.patching.managers import same_but_for_times
from tangram.sandbox.apiserver.patching.merge_patch import apply_merge_patch
from tangram.sandbox.apiserver.patching.strategic import apply_strategic
from tangram.sandbox.apiserver.patching.tracking import with_managed_fields

__all__ = (
    "apply_json_patch",
    "apply_merge_patch",
    "apply_strategic",
    "same_but_for_times",
    "server_side_apply",
    "with_managed_fields",
)
