"""Link modules: on a driver, offline, and as SPIR-V."""
