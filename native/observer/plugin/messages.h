// What Oclgrind says of a kernel, and what it does not say of it.
#ifndef KERNLENS_OBSERVER_MESSAGES_H
#define KERNLENS_OBSERVER_MESSAGES_H

#include <string>

#include "interpreter.h"

namespace kernlens {

// What messages have in common that say the same of the same places: the first words, and the lines with places; of two
// work-items also whether they are of one sub-group.
std::string key_of(const std::string &text, const Sizes &local, unsigned width);

// What Oclgrind does not say of a kernel that runs: where a value comes from that was never set, and which work-item misses a
// barrier; "" if there is nothing.
std::string further(const std::string &message, const Invocation *invocation);

}  // namespace kernlens
#endif
