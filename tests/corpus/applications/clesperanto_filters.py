"""Three filters with pyclesperanto, whose wheel has a loader of its own (for tests.corpus.programs)."""

import numpy as np
import pyclesperanto as cle

image = np.random.default_rng(1).random((64, 64)).astype(np.float32)
for filtered in (
    cle.gaussian_blur(cle.push(image), sigma_x=2, sigma_y=2),
    cle.top_hat_box(cle.push(image), radius_x=3, radius_y=3),
    cle.gaussian_blur(cle.push(image), sigma_x=1, sigma_y=1),
):
    print(np.asarray(filtered).sum(dtype=float).round(2))
