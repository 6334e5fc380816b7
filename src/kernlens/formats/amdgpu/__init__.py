"""The files of AMD's GPU compilers: code objects, their metadata, and the line tables of their kernels."""
