"""Behaviour of the vendors' real libraries, function by function beside our twins. Run by `make real-libraries`."""
