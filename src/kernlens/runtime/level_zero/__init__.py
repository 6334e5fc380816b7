"""Level Zero through ctypes: drivers, devices, modules, kernels, links; ``kernlens.level_zero`` exports the names.

This package imports only the standard library, ``kernlens.errors``, ``kernlens.model`` and, to read a module's binary,
``kernlens.formats``, so it runs in a toolchain's root with a bare Python.
"""
