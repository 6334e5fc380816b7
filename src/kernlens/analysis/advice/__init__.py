"""Advice on kernels: rules over facts, one module for each rule (docs/advice.md)."""
