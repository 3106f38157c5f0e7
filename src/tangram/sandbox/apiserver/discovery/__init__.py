"""What the server can do, told to clients that ask before they do anything else: groups, versions, resources, verbs."""

from tangram.sandbox.apiserver.discovery.aggregated import aggregated
from tangram.sandbox.apiserver.discovery.documents import core_versions, group, groups, resources
from tangram.sandbox.apiserver.discovery.version import version_info

__all__ = ["aggregated", "core_versions", "group", "groups", "resources", "version_info"]
