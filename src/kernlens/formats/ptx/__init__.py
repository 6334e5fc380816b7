"""PTX, the text form of NVIDIA's programs."""
