"""SASS, the machine code of NVIDIA's GPUs."""
