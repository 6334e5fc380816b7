"""AMD's GPUs: their devices, and their instructions as LLVM prints them."""
