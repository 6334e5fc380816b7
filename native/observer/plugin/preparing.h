// The IR that is interpreted.
#ifndef KERNLENS_OBSERVER_PREPARING_H
#define KERNLENS_OBSERVER_PREPARING_H

#include "interpreter.h"

namespace kernlens {

// Bring the program of a kernel, which clang wrote without optimisation, to what is counted, unless that was done.
void prepare(const Opaque *kernel);

}  // namespace kernlens
#endif
