"""The operator-controller: it turns nodes with MetaX cards into GPU nodes, in order, and keeps them so."""
