// Which work-groups of a launch run, in which order: the first ones, or a sample of all.
#ifndef KERNLENS_OBSERVER_SAMPLING_H
#define KERNLENS_OBSERVER_SAMPLING_H

#include <vector>

#include "interpreter.h"

namespace kernlens {

// Where a work-group lies in its launch.
enum Stratum { CORNER, EDGE, INSIDE, STRATA };
Stratum stratum_of(const Sizes &group, const Sizes &groups);

// The groups that Oclgrind runs, in their order; nullptr if its list is not as expected.
std::vector<Sizes> *groups_of(const Invocation *invocation);

// Order the groups from `first` on so that those up to any number are a sample of them: of each stratum its share and one at least,
// drawn by a hash, the same in each run.
void spread(std::vector<Sizes> &list, size_t first, const Sizes &groups);

// The least, all and the most of a number that each group has.
struct Range {
  uint64_t least = ~0ull, sum = 0, most = 0;
  void add(uint64_t number) {
    least = number < least ? number : least;
    most = number > most ? number : most;
    sum += number;
  }
};

}  // namespace kernlens
#endif
