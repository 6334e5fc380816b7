"""Machine code of Intel's GPUs to instructions."""
