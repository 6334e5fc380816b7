"""Array functions of dpnp, whose kernels are SYCL's: ``python dpnp_arrays.py``."""

from __future__ import annotations

import dpnp as np

UNARY = ("sin", "cos", "exp", "log", "sqrt", "tanh", "floor", "square", "isnan", "negative", "abs", "sign")
BINARY = ("add", "multiply", "divide", "maximum", "power", "hypot", "less", "equal", "arctan2", "fmod")
REDUCTIONS = ("sum", "prod", "max", "min", "argmax", "mean", "cumsum", "any")


def main() -> None:
    """Call functions of several kinds on arrays of two types. Nothing is computed on a simulated device."""
    for dtype in ("float32", "int32"):
        x = np.ones((64, 33), dtype=dtype)
        for name in UNARY:
            getattr(np, name)(x)
        for name in BINARY:
            getattr(np, name)(x, x)
        for name in REDUCTIONS:
            getattr(np, name)(x, axis=0)
        np.sort(x, axis=0)
        np.where(x > 0, x, -x)
        np.take(x, np.zeros(8, dtype="int64"), axis=0)
        np.roll(x.T.copy(), 3)


if __name__ == "__main__":
    main()
