// Counting: follows the work-items that Oclgrind runs, one after the other up to the next barrier, and counts what they do
// together as sub-groups.
#ifndef KERNLENS_OBSERVER_COUNTING_H
#define KERNLENS_OBSERVER_COUNTING_H

#include <unordered_map>
#include <vector>

#include "observation.h"

namespace kernlens {

// The lanes of a sub-group that pass one point in one round.
struct Pass {
  Point *point;
  uint64_t rounds;
  uint64_t count;
  const Block *next;  // where the first of them went on to
  bool has_diverged;
};

struct WorkItem {
  Instruction *last = nullptr;
  int pass = -1;  // of the block that it is in
  size_t samples = 0;  // since the last barrier
};

class Counting {
 public:
  Counting(const Machine &machine, const Launch &launch) : observation(machine, launch) { samples_.reserve(1024); }

  Observation observation;

  void begin_group(size_t items);
  void end_group(Stratum stratum);

  // All work-items of the group have come to a barrier; is_local: for local memory.
  void barrier(const Value *value, bool is_local);
  void executed(const Item *item, const Value *value);
  void end_item(const Item *item);
  void access(const Storage *memory, const Item *item, uint64_t address, size_t size, Way way, const uint8_t *value = nullptr);

 private:
  void forget_item();
  void turn_to(const Item *item);

  // A hash of how the work-item came to a block: its call, and the rounds of the first `depth` loops around it.
  uint64_t rounds_of(const Block *block, size_t depth) const;
  void leave(Loop *loop);
  void enter(Block *block);
  static bool is_inside(const Block *block, const Loop *loop);
  void go_on(const WorkItem &own, Block *from, const Block *to);
  int pass(Point *point, uint64_t rounds, uint64_t count);
  void flush();

  std::vector<WorkItem> items_;
  std::vector<Pass> passes_;
  std::unordered_map<uint64_t, int> numbers_;
  std::vector<Sample> samples_;
  const Item *item_ = nullptr;
  unsigned index_ = 0;
  int sub_group_ = -1;
  uint64_t serial_ = 0, last_serial_ = ~0ull;
};

}  // namespace kernlens
#endif
