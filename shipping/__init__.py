"""What is handed to people who install Tangram, and the programs that make it; not in the wheel."""
