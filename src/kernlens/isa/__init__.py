"""Machine code to instructions, and the devices that run it."""
