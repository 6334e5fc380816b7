#ifndef KERNLENS_OBSERVER_HOISTING_H
#define KERNLENS_OBSERVER_HOISTING_H

#include <map>

#include "interpreter.h"

namespace kernlens {

// What both branches of a condition begin with, LLVM does once, in front of it, and gives it no line. It gets the line of the
// branch that is taken more likely: a comparison for equality seldom holds.
class Hoisting {
 public:
  explicit Hoisting(Module *module);  // before LLVM does it
  void name_lines(Module *module) const;

 private:
  std::map<const Value *, std::pair<const Code *, const Opaque *>> likely_;
};

}  // namespace kernlens
#endif
