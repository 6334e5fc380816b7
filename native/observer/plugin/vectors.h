#ifndef KERNLENS_OBSERVER_VECTORS_H
#define KERNLENS_OBSERVER_VECTORS_H

#include "interpreter.h"

namespace kernlens {

// clang writes a part of a vector in memory by loading the vector, setting the part and storing the vector, and compilers of
// GPUs keep it so: NVIDIA's, and Intel's of 2022 and 2026. Oclgrind's makes it a store of the part. Undo that.
void store_whole_vectors(Opaque *context, Module *module);

// Forget what a vector was of which each part is set: its load is dead code then.
void forget_replaced_parts(Module *module);

}  // namespace kernlens
#endif
