"""A product of matrices and a softmax with tinygrad, which calls OpenCL through ctypes (for tests.corpus.programs)."""

import numpy as np
from tinygrad import Tensor

matrix = Tensor(np.arange(4096, dtype=np.float32).reshape(64, 64))
print((matrix @ matrix.T).sum().item(), matrix.softmax().sum().item())
