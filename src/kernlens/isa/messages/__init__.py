"""The requests of send instructions to the shared functions, from their descriptors."""
