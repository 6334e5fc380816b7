// The static code of the kernels that run: blocks, the loops around them, instructions with their places in the source, and the
// memory accesses that they make, each with its counters.
#ifndef KERNLENS_OBSERVER_CODE_H
#define KERNLENS_OBSERVER_CODE_H

#include <map>
#include <memory>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "names.h"

namespace kernlens {

// Counters that are added to as work-groups run. What the group that runs now has added counts when it is complete.
template <int N>
struct Counters {
  uint64_t done[N] = {}, pending[N] = {};
  void add(int which, uint64_t amount) { pending[which] += amount; }
  void commit() {
    for (int each = 0; each < N; each++) {
      done[each] += pending[each];
      pending[each] = 0;
    }
  }
};

struct Place {
  unsigned line, column;
  int file, outer;  // outer: the place of the call that it was inlined at, -1 for none
};

struct Block;

// A point that lanes of a sub-group pass together: a block, or the entry of a loop.
enum { RUNS, SUB_GROUPS, DIVERGED, UNGROUPED, POINT_COUNTERS };
struct Point {
  unsigned id;
  Counters<POINT_COUNTERS> counters;
};

enum { ROUNDS, LOOP_COUNTERS };
struct Loop {
  Block *header = nullptr;
  Loop *outer = nullptr;
  bool tests_first = false;  // its header also runs when it is left, one time more than its body
  int place = -1;  // its line
  std::vector<Loop *> inner;
  std::vector<uint64_t> rounds;  // of each work-item of the group, since it last entered the loop; 0: it is outside
  Point entry;
  Counters<LOOP_COUNTERS> counters;
  uint64_t least = ~0ull, most = 0;
};

struct Function {
  const Value *value;
  std::vector<std::unique_ptr<Block>> blocks;
  std::vector<std::unique_ptr<Loop>> loops;
  std::vector<Loop *> outermost;
  std::vector<uint64_t> calls;  // for each work-item of the group: by which calls it came here
};

struct Edge {
  Block *to;
  Counters<1> counters;
};

struct Block : Point {
  Function *function;
  const Code *code;
  std::vector<Loop *> loops;  // around it, the outermost first
  Loop *heads = nullptr;
  bool is_entry = false;
  std::vector<Edge> edges;
  int branch_place = -1;
  std::map<int, unsigned> instructions;  // number of instructions of each place
};

struct Access;

struct Instruction {
  const Value *value;
  Block *block;  // nullptr: it is in no function
  int place;     // -1: none
  bool is_first, is_branch;
  Access *accesses[4];  // of loads, stores, atomics; made when the first happens
};

enum {
  REQUESTS, LANES, BYTES, USED, UNITS32, UNITS64, UNITS128, LEAST32, LEAST64, LEAST128, WAVEFRONTS, LEAST_WAVEFRONTS,
  DISTINCT, CONTENTION, SAME, CONSECUTIVE, STRIDED, IRREGULAR, SINGLE, BEYOND, ACCESS_COUNTERS
};
constexpr int UNIT_SIZES = 3;  // of 32, 64 and 128 bytes
enum Way { LOADS, STORES, ATOMICS };

// A request as it was: the lanes with their addresses, of so many bytes each.
struct Example {
  uint64_t cost = 0;  // the wavefronts of local memory, or the units of 32 bytes
  uint32_t size = 0;
  std::vector<std::pair<uint32_t, uint64_t>> lanes;
};

struct Access {
  unsigned id;
  const Instruction *instruction;
  Way way;
  uint64_t buffer;                  // the number of the one that it came to first
  unsigned space, width = 0, part;  // part: bytes that one request takes of a work-item at most
  bool is_fixed = false;            // all work-items access the same address, as a compiler can see
  Counters<ACCESS_COUNTERS> counters;
  int64_t least_stride = INT64_MAX, most_stride = INT64_MIN;
  Example example, pending_example;  // the costliest request of all complete groups, and one of this group that costs more
  void commit() {
    counters.commit();
    if (pending_example.cost > example.cost) std::swap(example, pending_example);
    pending_example.cost = 0;
  }
};

class Program {
 public:
  // is_split: what is wider than its alignment is done in parts.
  explicit Program(bool is_split) : is_split_(is_split) {}
  Instruction *instruction(const Value *value) {
    const Entry &entry = recent_[(reinterpret_cast<uintptr_t>(value) >> 4) & (RECENT - 1)];
    return entry.value == value ? entry.instruction : look_up(value);
  }
  Access *access(Instruction *instruction, Way way, unsigned space_of_memory, uint64_t at);
  void resize(size_t items);  // a work-group of so many items begins
  void commit();
  // Units of global memory that the group that runs now has touched, of one size.
  uint64_t pending_units(int size) const;

  std::vector<std::unique_ptr<Function>> functions;
  std::vector<std::unique_ptr<Access>> accesses;
  std::vector<Place> places;
  std::vector<const char *> files;
  std::map<int, Counters<1>> barriers;
  Names names;

 private:
  static constexpr size_t RECENT = 4096;
  struct Entry {
    const Value *value = nullptr;
    Instruction *instruction = nullptr;
  };
  Instruction *look_up(const Value *value);
  Function *function(const Value *value);
  void find_loops(Function *function);
  int place_of_loop(const std::vector<const Block *> &latches, const std::vector<const Block *> &blocks);
  int place(const Opaque *location);

  bool is_split_;
  size_t items_ = 0;
  unsigned points_ = 0;
  Entry recent_[RECENT];
  std::unordered_map<const Value *, std::unique_ptr<Instruction>> instructions_;
  std::map<std::tuple<unsigned, unsigned, int, int>, int> numbers_;
};

}  // namespace kernlens
#endif
