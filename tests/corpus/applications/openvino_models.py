"""Small OpenVINO models, compiled for the GPU: ``python openvino_models.py convolution|attention|mixed``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import openvino as ov
from openvino import opset13 as op

_GENERATOR = np.random.default_rng(1)


def _weights(*shape: int, dtype: Any = np.float16) -> Any:
    return op.constant(_GENERATOR.standard_normal(shape).astype(dtype))


def _quantized(value: Any, levels: int = 256) -> Any:
    low, high = op.constant(np.float32(-2.0)), op.constant(np.float32(2.0))
    return op.fake_quantize(value, low, high, low, high, levels)


def convolution() -> Iterator[ov.Model]:
    """Yield convolutional networks: layers of several sizes, groups and strides, with activations and pooling."""
    for dtype in (np.float16, np.float32):
        for channels, size in ((3, 64), (16, 56), (24, 33)):
            image = op.parameter([1, channels, size, size], dtype)
            layer = image
            for outputs, kernel, stride in ((16, 7, 2), (32, 3, 1), (32, 1, 1), (48, 5, 2), (20, 3, 1)):
                inputs = layer.output(0).shape[1]
                pad = kernel // 2
                weights = _weights(outputs, inputs, kernel, kernel, dtype=dtype)
                layer = op.convolution(layer, weights, [stride] * 2, [pad] * 2, [pad] * 2, [1, 1])
                layer = op.add(layer, _weights(1, outputs, 1, 1, dtype=dtype))
                layer = (op.relu, op.swish, op.hswish, op.tanh, op.gelu)[kernel % 5 if kernel != 1 else 4](
                    layer, *(["erf"] if kernel == 1 else [])
                )
            grouped = op.group_convolution(layer, _weights(20, 1, 1, 3, 3, dtype=dtype), [1, 1], [1, 1], [1, 1], [1, 1])
            pooled = op.max_pool(grouped, [2, 2], [1, 1], [0, 0], [0, 0], [2, 2]).output(0)
            averaged = op.reduce_mean(pooled, op.constant(np.array([2, 3])), keep_dims=True)
            scaled = op.interpolate(
                op.add(pooled, averaged), op.constant(np.array([9, 9])), "linear_onnx", "sizes",
                axes=op.constant(np.array([2, 3])),
            )  # fmt: skip
            yield ov.Model([op.softmax(scaled, 1)], [image], f"convolution_{channels}")


def attention() -> Iterator[ov.Model]:
    """Yield attention of several sizes, plain and causal, and what a transformer has beside it."""
    for heads, length, width in ((8, 128, 64), (4, 77, 32), (2, 256, 128), (12, 64, 80)):
        for causal in (False, True):
            shape = [1, heads, length, width]
            inputs = [op.parameter(shape, np.float16) for _ in range(3)]
            out = op.scaled_dot_product_attention(*inputs, causal=causal)
            mean = op.reduce_mean(out, op.constant(np.array([3])), keep_dims=True)
            centred = op.subtract(out, mean)
            squares = op.reduce_mean(op.multiply(centred, centred), op.constant(np.array([3])), keep_dims=True)
            normal = op.divide(centred, op.sqrt(op.add(squares, op.constant(np.float16(1e-3)))))
            turned = op.transpose(normal, op.constant(np.array([0, 2, 1, 3])))
            rows = op.reshape(turned, op.constant(np.array([1, length, -1])), special_zero=False)
            gate = op.matmul(rows, _weights(heads * width, 96), False, False)
            best = op.topk(op.multiply(gate, op.sigmoid(gate)), op.constant(np.int64(5)), 2, "max", "value")
            yield ov.Model([best.output(0), best.output(1)], inputs, f"attention_{heads}_{causal}")


def mixed() -> Iterator[ov.Model]:
    """Yield networks whose layers are int8, f16 and f32, and conversions between these."""
    for channels, size in ((16, 40), (32, 28), (8, 51)):
        image = op.parameter([1, channels, size, size], np.float32)
        layer = image
        for outputs in (32, 16, 64):
            inputs = layer.output(0).shape[1]
            weights = _quantized(_weights(outputs, inputs, 3, 3, dtype=np.float32), 255)
            layer = op.convolution(_quantized(layer), weights, [1, 1], [1, 1], [1, 1], [1, 1])
            layer = op.relu(op.add(layer, _weights(1, outputs, 1, 1, dtype=np.float32)))
        flat = op.reshape(layer, op.constant(np.array([size, -1])), special_zero=False)
        product = op.matmul(_quantized(flat), _quantized(_weights(64 * size, 40, dtype=np.float32), 255), False, False)
        half = op.convert(product, np.float16)
        whole = op.convert(op.clamp(half, -100.0, 100.0), np.int32)
        sums = op.cum_sum(whole, op.constant(np.int64(0)))
        picked = op.gather(sums, op.constant(np.array([3, 1, 2])), op.constant(np.int64(0)))
        yield ov.Model([op.softmax(half, 1), picked], [image], f"mixed_{channels}")


def main() -> None:
    """Compile the models of the kinds that are named, and print how many there are."""
    core = ov.Core()
    for name in sys.argv[1:]:
        for model in {"convolution": convolution, "attention": attention, "mixed": mixed}[name]():
            hint = "f16" if name != "mixed" else "f32"
            core.compile_model(model, "GPU", {"INFERENCE_PRECISION_HINT": hint})
            print(model.friendly_name, flush=True)


if __name__ == "__main__":
    main()
