"""The container image of all commands, made from Debian packages and locked wheels without a daemon."""
