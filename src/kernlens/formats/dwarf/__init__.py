"""DWARF debug data: line tables and inlined calls."""
