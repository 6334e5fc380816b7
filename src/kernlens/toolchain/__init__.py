"""Find and drive compilers and drivers."""
