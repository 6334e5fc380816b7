"""What AMD's GPU compilers write: code objects, their metadata, and the line tables of their kernels."""
