"""What send instructions ask of the shared functions, from their descriptors."""
