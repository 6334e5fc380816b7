// Whether work-items of different sub-groups meet at the same bytes of local memory between two barriers. Oclgrind names one race
// of each address, which may be one within a sub-group where another one is not.
#ifndef KERNLENS_OBSERVER_SHARING_H
#define KERNLENS_OBSERVER_SHARING_H

#include <unordered_map>

#include "code.h"

namespace kernlens {

class Sharing {
 public:
  // `value` are the bytes that a store writes; nullptr if they are not known.
  void access(uint64_t address, size_t size, int sub_group, Way way, const uint8_t *value);
  // All work-items have come to a barrier for local memory.
  void forget() { bytes_.clear(); }

  bool crosses = false;

 private:
  struct Byte {
    int of[3] = {-1, -1, -1};  // the sub-group of the loads, stores and atomics; -1: none, -2: several
    int value = -1;
  };
  std::unordered_map<uint64_t, Byte> bytes_;
};

}  // namespace kernlens
#endif
