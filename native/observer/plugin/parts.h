#ifndef KERNLENS_OBSERVER_PARTS_H
#define KERNLENS_OBSERVER_PARTS_H

#include "interpreter.h"

namespace kernlens {

// GVN takes a part out of a vector as a number as wide as the vector, shifted and cut, which Oclgrind does not compute with.
// Take these parts from the vector's elements instead. What is left is dead code.
void take_parts(Opaque *context, Module *module);

}  // namespace kernlens
#endif
