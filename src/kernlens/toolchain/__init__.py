"""The compilers and drivers: where they are, and their use."""
