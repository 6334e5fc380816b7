"""Machine code of targets that LLVM's disassemblers read, through its C API in a process of its own."""
