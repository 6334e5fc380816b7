"""The way of loaders to kernlens's layers and to a toolchain's drivers, in the applications that are started."""
