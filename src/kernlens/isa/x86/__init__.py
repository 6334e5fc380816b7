"""Machine code of x86-64 processors."""
