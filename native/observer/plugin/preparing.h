// The IR that is interpreted.
#ifndef KERNLENS_OBSERVER_PREPARING_H
#define KERNLENS_OBSERVER_PREPARING_H

#include "interpreter.h"

namespace kernlens {

// Bring the program of a kernel, which clang wrote without optimisation, to what is counted, unless that was done.
// `marks`: a variable that nothing has set has a value that Oclgrind knows to be unset; else LLVM takes any value for it.
void prepare(const Opaque *kernel, bool marks);

// Whether Oclgrind has code of the kernel after that.
bool can_run(const Opaque *kernel);

}  // namespace kernlens
#endif
