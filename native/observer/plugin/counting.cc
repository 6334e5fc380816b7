#include "counting.h"

#include <algorithm>

namespace kernlens {

namespace {

constexpr size_t MOST_SAMPLES = 4u << 20;  // of one sub-group between two barriers: 160 MB
constexpr size_t MOST_PASSES = 1u << 20;   // and its distinct rounds of blocks

uint64_t mixed(uint64_t hash, uint64_t number) {
  hash = (hash ^ number) * 0x9E3779B97F4A7C15ull;
  return hash ^ (hash >> 29);
}

}  // namespace

void Counting::begin_group(size_t items) {
  if (items != items_.size()) items_.resize(items);
  std::fill(items_.begin(), items_.end(), WorkItem());
  observation.program.resize(items);
  forget_item();
}

void Counting::end_group(Stratum stratum) {
  flush();
  observation.of_strata[stratum]++;
  observation.of_groups[0].add(observation.pending_instructions);
  for (int size = 0; size < UNIT_SIZES; size++) observation.of_groups[1 + size].add(observation.program.pending_units(size));
  observation.sharing.forget();
  observation.program.commit();
  observation.groups_done++;
  observation.instructions += observation.pending_instructions;
  observation.pending_instructions = 0;
  forget_item();
}

void Counting::barrier(const Value *value, bool is_local) {
  flush();
  if (is_local) observation.sharing.forget();
  forget_item();
  int place = value ? observation.program.instruction(value)->place : -1;
  observation.program.barriers[place].add(0, 1);
}

void Counting::executed(const Item *item, const Value *value) {
  observation.pending_instructions++;
  serial_++;
  if (item != item_) turn_to(item);
  Instruction *instruction = observation.program.instruction(value);
  if (instruction->is_first) enter(instruction->block);
  items_[index_].last = instruction;
}

void Counting::end_item(const Item *item) {
  if (item != item_) turn_to(item);
  for (auto &function : observation.program.functions)
    for (auto &loop : function->loops) leave(loop.get());
}

void Counting::access(const Storage *memory, const Item *item, uint64_t address, size_t size, Way way, const uint8_t *value) {
  if (item != item_) turn_to(item);
  Instruction *instruction = observation.program.instruction(interpreter.current_instruction(item));
  Access *access = observation.program.access(instruction, way, interpreter.space_of(memory), address);
  if (size == 0) return;
  if (access->space == PRIVATE && instruction->place < 0) return;  // preparing.cc wrote it
  if (access->space == PRIVATE || access->space == IMAGE) {
    access->counters.add(REQUESTS, 1);
    access->counters.add(LANES, 1);
    access->counters.add(BYTES, size);
    return;
  }
  if (access->space == LOCAL) observation.sharing.access(address, size, sub_group_, way, value);
  // Oclgrind reads and writes the elements of some vectors one by one.
  Sample *last = samples_.empty() ? nullptr : &samples_.back();
  if (last && last_serial_ == serial_ && last->access == access && last->address + last->size == address) {
    last->size += size;
    access->width = std::max<unsigned>(access->width, last->size);
    return;
  }
  last_serial_ = serial_;
  access->width = std::max<unsigned>(access->width, size);
  // Each lane has its share, so that the requests that are counted have all their lanes.
  if (++items_[index_].samples > MOST_SAMPLES / observation.machine.width) return access->counters.add(BEYOND, 1);
  uint64_t rounds = instruction->block ? rounds_of(instruction->block, instruction->block->loops.size()) : 0;
  samples_.push_back(Sample{access, rounds, address, static_cast<uint32_t>(size), index_ % observation.machine.width});
}

void Counting::forget_item() {
  item_ = nullptr;
  sub_group_ = -1;
}

void Counting::turn_to(const Item *item) {
  Sizes id = interpreter.local_id(item), size = interpreter.group_size(interpreter.group_of(item));
  item_ = item;
  index_ = static_cast<unsigned>(id.x + size.x * (id.y + size.y * id.z));
  int sub_group = static_cast<int>(index_ / observation.machine.width);
  if (sub_group != sub_group_) flush();
  sub_group_ = sub_group;
}

uint64_t Counting::rounds_of(const Block *block, size_t depth) const {
  uint64_t hash = block->function->calls[index_];
  for (size_t each = 0; each < depth; each++) hash = mixed(hash, block->loops[each]->rounds[index_]);
  return hash;
}

void Counting::leave(Loop *loop) {
  uint64_t &rounds = loop->rounds[index_];
  if (rounds == 0) return;
  uint64_t trips = rounds - loop->tests_first;
  loop->counters.add(ROUNDS, trips);
  loop->least = std::min(loop->least, trips);
  loop->most = std::max(loop->most, trips);
  rounds = 0;
  for (Loop *each : loop->inner) leave(each);
}

void Counting::enter(Block *block) {
  WorkItem &own = items_[index_];
  Instruction *last = own.last;
  if (block->is_entry) {
    Function *function = block->function;
    // Its caller is the instruction before; there is none before a kernel's first.
    Block *caller = last ? last->block : nullptr;
    uint64_t call = caller ? mixed(rounds_of(caller, caller->loops.size()), reinterpret_cast<uint64_t>(last->value)) : 0;
    for (Loop *each : function->outermost) leave(each);
    function->calls[index_] = call;
  } else if (last && last->block && last->is_branch) {
    go_on(own, last->block, block);
  }
  if (Loop *loop = block->heads) {
    for (Loop *each : loop->inner) leave(each);
    bool comes_in = !last || !last->block || !is_inside(last->block, loop);
    if (comes_in) {
      leave(loop);
      pass(&loop->entry, rounds_of(block, block->loops.size() - 1), 1);
    }
    loop->rounds[index_]++;
  }
  own.pass = pass(block, rounds_of(block, block->loops.size()), 1);
}

bool Counting::is_inside(const Block *block, const Loop *loop) {
  if (block->function != loop->header->function) return true;  // it comes back from a call
  return std::find(block->loops.begin(), block->loops.end(), loop) != block->loops.end();
}

void Counting::go_on(const WorkItem &own, Block *from, const Block *to) {
  for (Edge &edge : from->edges)
    if (edge.to == to) edge.counters.add(0, 1);
  // There is none after a barrier or a call in the block: then who leaves the block together still shows who parts.
  bool is_known = own.pass >= 0 && passes_[own.pass].point == from;
  int number = is_known ? own.pass : pass(from, rounds_of(from, from->loops.size()), 0);
  if (number < 0) return;
  Pass &pass = passes_[number];
  if (!pass.next) pass.next = to;
  pass.has_diverged |= pass.next != to;
}

int Counting::pass(Point *point, uint64_t rounds, uint64_t count) {
  uint64_t key = mixed(rounds, point->id + 1);
  auto known = numbers_.find(key);
  if (known == numbers_.end()) {
    if (passes_.size() >= MOST_PASSES) {
      point->counters.add(RUNS, count);
      point->counters.add(UNGROUPED, count);
      return -1;
    }
    known = numbers_.emplace(key, static_cast<int>(passes_.size())).first;
    passes_.push_back(Pass{point, rounds, 0, nullptr, false});
  }
  passes_[known->second].count += count;
  return known->second;
}

void Counting::flush() {
  for (const Pass &each : passes_) {
    each.point->counters.add(RUNS, each.count);
    each.point->counters.add(SUB_GROUPS, each.count > 0);
    each.point->counters.add(DIVERGED, each.has_diverged);
  }
  passes_.clear();
  numbers_.clear();
  for (WorkItem &each : items_) {
    each.pass = -1;
    each.samples = 0;
  }
  count_requests(samples_, observation.machine);
}

}  // namespace kernlens
