"""The texts of `--help` for `tangram migrate`. Lines stay under 80 columns, as in `cli.manual`."""

from typing import Final

MIGRATE: Final = """Translate the settings of other software into Tangram's.

The values of HAMi's Helm release:
  tangram migrate hami --values values.yaml
"""

HAMI: Final = """Print values for the chart tangram that say what HAMi's say.

From a file, or from the release itself:
  tangram migrate hami --values values.yaml > tangram-values.yaml
  helm get values hami -n kube-system | tangram migrate hami --values -

Straight on, once you have read what it says:
  helm get values hami -n kube-system | tangram migrate hami --values - |
    helm install tangram tangram-VERSION.tgz -n kube-system -f -

For programs (docs/migrate-from-hami.md):
  tangram migrate hami --values values.yaml -o json

Standard output has the values, with a comment where a name changed. Standard
error says what is not supported, not known, or not needed any more, and why.
Nothing is changed anywhere. docs/migrate-from-hami.md has the whole way.
Exit status: 0 all of it has its place or is not needed, 1 something is not
supported or not known, 2 the values could not be read.
"""
