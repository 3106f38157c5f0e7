"""The cases, a module for each subject."""
