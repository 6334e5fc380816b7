"""ELF files: sections, symbols, relocations, and writing them."""
