// Requests: what the lanes of one sub-group access together.
#ifndef KERNLENS_OBSERVER_REQUESTS_H
#define KERNLENS_OBSERVER_REQUESTS_H

#include <vector>

#include "code.h"

namespace kernlens {

// What the plugin is told of the device that the counts are for.
struct Machine {
  unsigned width = 32;       // work-items of a sub-group, at most 64
  unsigned banks = 0;        // of local memory; 0: not known
  unsigned bank_bytes = 4;
  bool has_phases = false;   // accesses of 8 and 16 bytes are served in halves and quarters of the sub-group
  bool is_split = false;     // what is wider than its alignment is done in parts
};

// One work-item's access, as it happens.
struct Sample {
  Access *access;
  uint64_t rounds;  // a hash of the counters of all loops around it
  uint64_t address;
  uint32_t size;
  uint32_t lane;
};

// Count the requests that the samples of one sub-group are, and forget the samples.
void count_requests(std::vector<Sample> &samples, const Machine &machine);

}  // namespace kernlens
#endif
