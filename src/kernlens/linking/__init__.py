"""Links done: on a driver, offline, and of SPIR-V."""
