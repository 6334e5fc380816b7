#include "sampling.h"

#include <algorithm>
#include <cstring>

namespace kernlens {

namespace {

// Where Oclgrind 21.10's KernelInvocation has its list of groups (m_workGroups), behind the number of groups (m_numGroups).
constexpr size_t OFFSET = 0x80, OF_COUNTS = 0x68;

uint64_t drawn(uint64_t number) {
  number = (number ^ (number >> 30)) * 0xBF58476D1CE4E5B9ull;
  number = (number ^ (number >> 27)) * 0x94D049BB133111EBull;
  return number ^ (number >> 31);
}

uint64_t index_of(const Sizes &group, const Sizes &groups) { return group.x + groups.x * (group.y + groups.y * group.z); }

}  // namespace

Stratum stratum_of(const Sizes &group, const Sizes &groups) {
  unsigned dimensions = 0, borders = 0;
  for (auto [own, all] : {std::make_pair(group.x, groups.x), {group.y, groups.y}, {group.z, groups.z}}) {
    dimensions += all > 1;
    borders += all > 1 && (own == 0 || own == all - 1);
  }
  return borders == dimensions ? CORNER : borders ? EDGE : INSIDE;
}

std::vector<Sizes> *groups_of(const Invocation *invocation) {
  Sizes groups = interpreter.groups_of(invocation);
  char *bytes = reinterpret_cast<char *>(const_cast<Invocation *>(invocation));
  if (memcmp(bytes + OF_COUNTS, &groups, sizeof groups) != 0) return nullptr;
  auto list = reinterpret_cast<std::vector<Sizes> *>(bytes + OFFSET);
  if (list->size() != groups.product() || list->empty()) return nullptr;
  for (size_t number : {size_t{0}, list->size() / 2, list->size() - 1})
    if (index_of((*list)[number], groups) != number) return nullptr;
  return list;
}

void spread(std::vector<Sizes> &list, size_t first, const Sizes &groups) {
  std::sort(list.begin() + first, list.end(), [&](const Sizes &a, const Sizes &b) {
    return drawn(index_of(a, groups) + 1) < drawn(index_of(b, groups) + 1);
  });
  std::vector<Sizes> of[STRATA];
  for (size_t each = first; each < list.size(); each++) of[stratum_of(list[each], groups)].push_back(list[each]);
  size_t taken[STRATA] = {};
  for (size_t each = first; each < list.size(); each++) {
    int next = -1;
    // The one that lacks most of its share: it has the least of its own, the next one counted half.
    for (int stratum = 0; stratum < STRATA; stratum++) {
      if (taken[stratum] == of[stratum].size()) continue;
      if (next < 0 || (2 * taken[stratum] + (taken[stratum] > 0)) * of[next].size() < (2 * taken[next] + (taken[next] > 0)) * of[stratum].size())
        next = stratum;
    }
    list[each] = of[next][taken[next]++];
  }
}

}  // namespace kernlens
