// The loops of a function, and their lines.
#include <algorithm>
#include <cstring>

#include "code.h"

namespace kernlens {

namespace {

// Where the loop of a branch back begins and ends in the source, as far as its metadata says it.
void bounds_of_loop(const Value *branch, const Opaque *bounds[2]) {
  Opaque *context = interpreter.context_of(interpreter.module_of(interpreter.function_of(interpreter.block_of(branch))));
  const Value *loop = interpreter.metadata(branch, interpreter.metadata_kind(context, "llvm.loop", strlen("llvm.loop")));
  if (!loop) return;
  std::vector<const Value *> parts(interpreter.metadata_size(loop));
  interpreter.operands_of_metadata(loop, parts.data());
  for (const Value *each : parts) {
    const Opaque *part = each ? interpreter.as_metadata(each) : nullptr;
    if (!part || interpreter.kind_of_metadata(part) != METADATA_LOCATION) continue;
    if (!bounds[0]) bounds[0] = part;
    else if (!bounds[1]) bounds[1] = part;
  }
}

}  // namespace

// Natural loops, from the dominators of the blocks (Cooper, Harvey and Kennedy: A Simple, Fast Dominance Algorithm).
void Program::find_loops(Function *function) {
  std::unordered_map<const Block *, int> number;  // in postorder
  std::vector<Block *> order;
  std::vector<std::pair<Block *, size_t>> path{{function->blocks[0].get(), 0}};
  number[path[0].first] = -1;
  while (!path.empty()) {
    auto &[block, next] = path.back();
    if (next < block->edges.size()) {
      Block *to = block->edges[next++].to;
      if (number.emplace(to, -1).second) path.emplace_back(to, 0);
    } else {
      number[block] = static_cast<int>(order.size());
      order.push_back(block);
      path.pop_back();
    }
  }
  int count = static_cast<int>(order.size());
  std::vector<std::vector<int>> before(count);
  for (Block *block : order)
    for (const Edge &edge : block->edges) before[number[edge.to]].push_back(number[block]);
  std::vector<int> dominator(count, -1);
  dominator[count - 1] = count - 1;
  for (bool changed = true; changed;) {
    changed = false;
    for (int each = count - 2; each >= 0; each--) {
      int common = -1;
      for (int other : before[each]) {
        if (dominator[other] < 0) continue;
        if (common < 0) common = other;
        for (int node = other; node != common;) {
          while (node < common) node = dominator[node];
          while (common < node) common = dominator[common];
        }
      }
      if (common != dominator[each]) {
        dominator[each] = common;
        changed = true;
      }
    }
  }
  // From the last in postorder, so that outer loops come before those within them.
  for (int header = count - 1; header >= 0; header--) {
    std::vector<int> work;
    for (int from : before[header]) {
      int above = from;
      while (above < header) above = dominator[above];
      if (above == header) work.push_back(from);
    }
    if (work.empty()) continue;
    std::unique_ptr<Loop> loop(new Loop);
    std::vector<int> latches = work;
    std::vector<bool> inside(count);
    inside[header] = true;
    while (!work.empty()) {
      int each = work.back();
      work.pop_back();
      if (inside[each]) continue;
      inside[each] = true;
      work.insert(work.end(), before[each].begin(), before[each].end());
    }
    loop->header = order[header];
    loop->entry.id = points_++;
    order[header]->heads = loop.get();
    if (!order[header]->loops.empty()) loop->outer = order[header]->loops.back();
    (loop->outer ? loop->outer->inner : function->outermost).push_back(loop.get());
    auto leaves = [&](int from) {
      const auto &edges = order[from]->edges;
      return std::any_of(edges.begin(), edges.end(), [&](const Edge &edge) { return !inside[number[edge.to]]; });
    };
    loop->tests_first = leaves(header) && std::none_of(latches.begin(), latches.end(), leaves);
    std::vector<const Block *> blocks{order[header]};
    for (int each = 0; each < count; each++) {
      if (!inside[each]) continue;
      order[each]->loops.push_back(loop.get());
      blocks.push_back(order[each]);
    }
    std::vector<const Block *> backs;
    for (int each : latches) backs.push_back(order[each]);
    loop->place = place_of_loop(backs, blocks);
    loop->rounds.assign(items_, 0);
    function->loops.push_back(std::move(loop));
  }
}

// The line of a loop: of the branch back to its beginning, which has the condition, as in machine code. Where that is elsewhere than
// between the loop's beginning and its end, which clang states, it is the loop's beginning; without either the loop's first line.
int Program::place_of_loop(const std::vector<const Block *> &latches, const std::vector<const Block *> &blocks) {
  const Opaque *bounds[2] = {nullptr, nullptr};
  for (const Block *latch : latches)
    if (!bounds[0]) bounds_of_loop(interpreter.last_instruction(latch->code), bounds);
  int begin = place(bounds[0]), end = place(bounds[1]);
  auto is_beside = [&](int first, int other) {
    return places[first].file == places[other].file && places[first].outer == places[other].outer;
  };
  for (const Block *latch : latches) {
    int back = latch->branch_place;
    if (back < 0 || places[back].line == 0) continue;
    if (begin < 0 || (is_beside(begin, back) && places[begin].line <= places[back].line &&
                      (end < 0 || places[back].line <= places[end].line)))
      return back;
  }
  if (begin >= 0) return begin;
  int first = -1;
  for (const Block *block : blocks)
    for (const auto &[place, count] : block->instructions) {
      if (place < 0 || places[place].line == 0 || (first >= 0 && !is_beside(first, place))) continue;
      if (first < 0 || places[place].line < places[first].line) first = place;
    }
  return first;
}

}  // namespace kernlens
