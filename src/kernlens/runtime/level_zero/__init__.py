"""Level Zero through ctypes: drivers, devices, modules, kernels, linking; ``kernlens.level_zero`` exports them.

What lies here imports nothing but the standard library, ``kernlens.errors``, ``kernlens.model`` and, to read a
module's own binary, ``kernlens.formats``: it runs in a toolchain's root that holds a bare Python.
"""
