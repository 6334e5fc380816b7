"""Links of modules on a driver."""
