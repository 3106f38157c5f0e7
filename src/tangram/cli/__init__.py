"""The command line: reads arguments, wires layers together, prints. It decides nothing."""
