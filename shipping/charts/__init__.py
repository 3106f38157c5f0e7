"""The charts as packages that helm installs and registries keep, made without helm."""
