"""Links of modules: on a driver, offline, and of SPIR-V."""
