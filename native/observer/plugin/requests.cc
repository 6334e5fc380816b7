#include "requests.h"

#include <algorithm>

namespace kernlens {

namespace {

constexpr unsigned MOST_LANES = 64;

struct Lane {
  uint64_t address;
  uint32_t size, lane;
};

using Request = std::vector<Lane>;

template <typename Number>
size_t distinct(std::vector<Number> &numbers) {
  std::sort(numbers.begin(), numbers.end());
  return std::unique(numbers.begin(), numbers.end()) - numbers.begin();
}

// The most distinct words that one bank serves to the lanes from `first` up to `end`.
unsigned ways(const Request &request, unsigned first, unsigned end, const Machine &machine, size_t *words_of_all) {
  std::vector<uint64_t> words;
  for (const Lane &each : request)
    if (each.lane >= first && each.lane < end)
      for (uint64_t word = each.address / machine.bank_bytes; word <= (each.address + each.size - 1) / machine.bank_bytes; word++)
        words.push_back(word);
  words.resize(distinct(words));
  std::vector<unsigned> of_bank(machine.banks);
  unsigned most = 0;
  for (uint64_t word : words) most = std::max(most, ++of_bank[word % machine.banks]);
  if (words_of_all) *words_of_all = words.size();
  return most;
}

// Whether every lane from `first` up to `end` reads what the lane beside it does, `apart` lanes away.
bool are_equal(const Request &request, unsigned first, unsigned end, unsigned apart) {
  uint64_t address[MOST_LANES];
  bool is_active[MOST_LANES] = {};
  for (const Lane &each : request) {
    is_active[each.lane] = true;
    address[each.lane] = each.address;
  }
  for (unsigned lane = first; lane < end; lane++) {
    unsigned other = lane ^ apart;
    if (is_active[lane] && is_active[other] && address[lane] != address[other]) return false;
  }
  return true;
}

// Wide accesses are served in halves (8 bytes) or quarters (16 bytes) of the sub-group. Two are served together if neighbours
// read the same.
unsigned wavefronts(const Request &request, unsigned size, const Machine &machine) {
  if (size <= 4) return ways(request, 0, machine.width, machine, nullptr);
  unsigned result = 0, step = size <= 8 ? machine.width : machine.width / 2;
  for (unsigned first = 0; first < machine.width; first += step) {
    unsigned end = first + step, middle = first + step / 2;
    if (are_equal(request, first, end, 1) || are_equal(request, first, end, 2))
      result += ways(request, first, end, machine, nullptr);
    else
      result += ways(request, first, middle, machine, nullptr) + ways(request, middle, end, machine, nullptr);
  }
  return result;
}

// Atomics are done lane by lane in each bank. A compiler adds up what goes to one address that it knows, and a lane does it.
unsigned wavefronts_of_atomics(const Access *access, const Request &request, const Machine &machine) {
  if (access->is_fixed) return 1;
  std::vector<unsigned> of_bank(machine.banks);
  unsigned most = 0;
  for (const Lane &each : request) most = std::max(most, ++of_bank[each.address / machine.bank_bytes % machine.banks]);
  return most;
}

void count_pattern(Access *access, const Request &request) {
  auto &counters = access->counters;
  if (request.size() == 1) return counters.add(SINGLE, 1);
  int64_t stride = 0;
  for (size_t each = 1; each < request.size(); each++) {
    int64_t apart = static_cast<int64_t>(request[each].lane) - request[each - 1].lane;
    int64_t step = static_cast<int64_t>(request[each].address - request[each - 1].address);
    if (step % apart != 0 || (each > 1 && step / apart != stride)) return counters.add(IRREGULAR, 1);
    stride = step / apart;
  }
  if (stride == 0) return counters.add(SAME, 1);
  if (stride == static_cast<int64_t>(request[0].size)) return counters.add(CONSECUTIVE, 1);
  counters.add(STRIDED, 1);
  access->least_stride = std::min(access->least_stride, stride);
  access->most_stride = std::max(access->most_stride, stride);
}

void keep_costliest(Access *access, const Request &request, uint64_t cost) {
  Example &example = access->pending_example;
  if (cost <= example.cost || cost <= access->example.cost) return;
  example.cost = cost;
  example.size = request[0].size;
  example.lanes.clear();
  for (const Lane &each : request) example.lanes.emplace_back(each.lane, each.address);
}

// The lanes come in their order.
void count_request(Access *access, const Request &request, const Machine &machine) {
  auto &counters = access->counters;
  std::vector<uint64_t> addresses, units;
  uint64_t bytes = 0, used = 0;
  unsigned size = 0;
  for (const Lane &each : request) {
    bytes += each.size;
    size = std::max(size, each.size);
    addresses.push_back(each.address);
    for (uint64_t unit = each.address / 32; unit <= (each.address + each.size - 1) / 32; unit++) units.push_back(unit);
  }
  counters.add(REQUESTS, 1);
  counters.add(LANES, request.size());
  counters.add(BYTES, bytes);
  count_pattern(access, request);
  std::vector<Lane> sorted(request);
  std::sort(sorted.begin(), sorted.end(), [](const Lane &a, const Lane &b) { return a.address < b.address; });
  uint64_t end = 0, run = 0, most = 0, different = 0;
  for (size_t each = 0; each < sorted.size(); each++) {
    uint64_t first = std::max(end, sorted[each].address), last = sorted[each].address + sorted[each].size;
    if (last > first) used += last - first;
    end = std::max(end, last);
    run = each && sorted[each].address == sorted[each - 1].address ? run + 1 : 1;
    different += run == 1;
    most = std::max(most, run);
  }
  counters.add(USED, used);
  counters.add(DISTINCT, different);
  counters.add(CONTENTION, most);
  units.resize(distinct(units));
  uint64_t cost = units.size();
  for (int each = 0; each < 3; each++) {
    counters.add(UNITS32 + each, units.size());
    counters.add(LEAST32 + each, (used + (32u << each) - 1) / (32u << each));
    for (uint64_t &unit : units) unit /= 2;
    units.resize(std::unique(units.begin(), units.end()) - units.begin());
  }
  if (access->space == LOCAL && machine.banks && (machine.has_phases || size <= machine.bank_bytes)) {
    size_t words = 0;
    ways(request, 0, machine.width, machine, &words);
    bool is_atomic = access->way == ATOMICS;
    cost = is_atomic ? wavefronts_of_atomics(access, request, machine) : wavefronts(request, size, machine);
    counters.add(WAVEFRONTS, cost);
    counters.add(LEAST_WAVEFRONTS, (words + machine.banks - 1) / machine.banks);
  }
  keep_costliest(access, request, cost);
}

// The samples of one access in one round of its loops, by their lanes.
void count_round(const Sample *first, const Sample *end, const Machine &machine) {
  Access *access = first->access;
  // Usually one request. More if a work-item's access is done in parts, or it comes here again in the same round.
  std::vector<Request> requests;
  unsigned lane = MOST_LANES;
  size_t number = 0;
  for (const Sample *each = first; each != end; each++) {
    if (each->lane != lane) number = 0;
    lane = each->lane;
    unsigned part = each->size % access->part ? each->size : access->part;
    for (uint32_t offset = 0; offset < each->size; offset += part, number++) {
      if (requests.size() <= number) requests.resize(number + 1);
      requests[number].push_back(Lane{each->address + offset, part, each->lane});
    }
  }
  for (const Request &each : requests) count_request(access, each, machine);
}

}  // namespace

void count_requests(std::vector<Sample> &samples, const Machine &machine) {
  std::stable_sort(samples.begin(), samples.end(), [](const Sample &a, const Sample &b) {
    if (a.access != b.access) return a.access->id < b.access->id;
    return a.rounds != b.rounds ? a.rounds < b.rounds : a.lane < b.lane;
  });
  const Sample *end = samples.data() + samples.size();
  for (const Sample *first = samples.data(); first != end;) {
    const Sample *last = first;
    while (last != end && last->access == first->access && last->rounds == first->rounds) last++;
    count_round(first, last, machine);
    first = last;
  }
  samples.clear();
}

}  // namespace kernlens
