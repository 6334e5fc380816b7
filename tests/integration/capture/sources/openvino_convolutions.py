"""Three convolutions with OpenVINO's GPU plugin (for capture_applications.py); it builds in several threads at once."""

import numpy as np
import openvino
from openvino.runtime import opset13 as opset

core = openvino.Core()
print(core.available_devices)
for channels in (3, 16, 32):
    data = opset.parameter([1, channels, 64, 64], np.float32)
    weights = opset.constant(np.ones((16, channels, 3, 3), np.float32))
    convolution = opset.convolution(data, weights, [1, 1], [1, 1], [1, 1], [1, 1])
    model = openvino.Model([opset.relu(convolution)], [data], f"convolution_{channels}")
    core.compile_model(model, "GPU")
    print("compiled", channels, flush=True)
