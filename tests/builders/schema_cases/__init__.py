"""Bodies, definitions and objects that say what schemas are for, with what a real API server answered to each."""
