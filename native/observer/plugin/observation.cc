#include "observation.h"

#include <algorithm>

namespace kernlens {

namespace {

// Text as the last field of a line: without control characters.
void put_text(const char *text, FILE *file) {
  for (; *text; text++) {
    if (*text == '\\') fputs("\\\\", file);
    else if (*text == '\n') fputs("\\n", file);
    else if (static_cast<unsigned char>(*text) >= 32) fputc(*text, file);
  }
  fputc('\n', file);
}

template <int N>
void put_counters(const Counters<N> &counters, FILE *file) {
  for (uint64_t each : counters.done) fprintf(file, "\t%lu", static_cast<unsigned long>(each));
}

void put_function(const Function &function, FILE *file) {
  for (const auto &block : function.blocks) {
    if (!block->counters.done[RUNS]) continue;
    fprintf(file, "block\t%u", block->id);
    put_counters(block->counters, file);
    fputc('\n', file);
    for (const auto &[place, count] : block->instructions) fprintf(file, "code\t%u\t%d\t%u\n", block->id, place, count);
    if (block->edges.size() > 1) {
      fprintf(file, "branch\t%u\t%d", block->id, block->branch_place);
      for (const Edge &edge : block->edges) fprintf(file, "\t%lu", static_cast<unsigned long>(edge.counters.done[0]));
      fputc('\n', file);
    }
  }
  for (const auto &loop : function.loops) {
    if (!loop->entry.counters.done[RUNS]) continue;
    fprintf(file, "loop\t%u\t%d\t%d", loop->header->id, loop->outer ? static_cast<int>(loop->outer->header->id) : -1,
            loop->place);
    put_counters(loop->entry.counters, file);
    put_counters(loop->counters, file);
    fprintf(file, "\t%lu\t%lu\t%d\n", static_cast<unsigned long>(loop->least), static_cast<unsigned long>(loop->most),
            loop->tests_first);
  }
}

// Which groups ran, and how far they differ.
void put_groups(const Observation &observation, FILE *file) {
  const Sizes &groups = observation.launch.groups;
  fprintf(file, "groups\t%lu\t%d", static_cast<unsigned long>(observation.chosen), observation.is_sampled);
  uint64_t inside = 1, corners = 1;
  for (size_t all : {groups.x, groups.y, groups.z}) {
    inside *= all > 2 ? all - 2 : all == 1;
    corners *= std::min<size_t>(all, 2);
  }
  if (groups.product() == 1) inside = 0;
  const uint64_t of_strata[STRATA] = {corners, groups.product() - corners - inside, inside};
  for (int each = 0; each < STRATA; each++)
    fprintf(file, "\t%lu\t%lu", static_cast<unsigned long>(of_strata[each]), static_cast<unsigned long>(observation.of_strata[each]));
  for (const Range &each : observation.of_groups)
    fprintf(file, "\t%lu\t%lu\t%lu", observation.groups_done ? static_cast<unsigned long>(each.least) : 0,
            static_cast<unsigned long>(each.sum), static_cast<unsigned long>(each.most));
  fputc('\n', file);
}

}  // namespace

void write(const Observation &observation, const std::map<std::string, Message> &messages,
           const std::vector<std::pair<uint64_t, uint64_t>> &buffers, FILE *file) {
  const Program &program = observation.program;
  const Launch &launch = observation.launch;
  const Sizes &global = launch.global, &local = launch.local, &groups = launch.groups;
  const Machine &machine = observation.machine;
  fprintf(file, "observation\t1\t%u\t%u\t%u\t%d\t%d\n", machine.width, machine.banks, machine.bank_bytes, machine.has_phases,
          machine.is_split);
  fprintf(file, "launch\t%zu\t%zu\t%zu\t%zu\t%zu\t%zu\t%zu\t%lu\t%lu\t%lu\t%d\t", global.x, global.y, global.z, local.x,
          local.y, local.z, groups.product(), static_cast<unsigned long>(observation.groups_done),
          static_cast<unsigned long>(observation.instructions), static_cast<unsigned long>(observation.copied),
          observation.is_out_of_time);
  put_text(launch.kernel.c_str(), file);
  if (!launch.build.empty()) fprintf(file, "build\t%s\n", launch.build.c_str());
  put_groups(observation, file);
  for (const auto &[address, name] : launch.arguments) {
    fprintf(file, "argument\t%lu\t", static_cast<unsigned long>(address));
    put_text(name.c_str(), file);
  }
  for (const std::string &name : launch.left_out) {
    fputs("left_out\t", file);
    put_text(name.c_str(), file);
  }
  for (const auto &[key, name] : program.names.all()) {
    if (name.text.empty()) continue;
    fprintf(file, "variable\t%u\t%lu\t%d\t", key.first, static_cast<unsigned long>(key.second), name.is_argument);
    put_text(name.text.c_str(), file);
  }
  if (observation.groups_done) fprintf(file, "sharing\t%d\n", observation.sharing.crosses);
  for (const char *each : program.files) {
    fputs("file\t", file);
    put_text(each, file);
  }
  for (const Place &each : program.places) fprintf(file, "place\t%d\t%u\t%u\t%d\n", each.file, each.line, each.column, each.outer);
  for (const auto &each : program.functions) put_function(*each, file);
  unsigned number = 0;
  for (const auto &each : program.accesses) {
    if (!each->counters.done[REQUESTS] && !each->counters.done[BEYOND]) continue;
    bool has_stride = each->most_stride >= each->least_stride;
    fprintf(file, "access\t%d\t%d\t%u\t%u\t%u", each->instruction->place, static_cast<int>(each->way), each->space, each->width,
            each->part);
    put_counters(each->counters, file);
    fprintf(file, "\t%ld\t%ld\t%lu\n", has_stride ? static_cast<long>(each->least_stride) : 0,
            has_stride ? static_cast<long>(each->most_stride) : 0, static_cast<unsigned long>(each->buffer));
    if (each->example.cost) {
      fprintf(file, "example\t%u\t%u", number, each->example.size);
      for (const auto &[lane, address] : each->example.lanes)
        fprintf(file, "\t%u\t%lu", lane, static_cast<unsigned long>(address));
      fputc('\n', file);
    }
    number++;
  }
  for (const auto &[place, counters] : program.barriers)
    fprintf(file, "barrier\t%d\t%lu\n", place, static_cast<unsigned long>(counters.done[0]));
  for (const auto &[address, size] : buffers)
    fprintf(file, "buffer\t%lu\t%lu\n", static_cast<unsigned long>(address), static_cast<unsigned long>(size));
  for (const auto &[key, message] : messages) {
    fprintf(file, "message\t%zu\t%d\t%lu\t", message.number, message.type, static_cast<unsigned long>(message.count));
    put_text(message.text.c_str(), file);
  }
  fputs("end\n", file);
}

void write_begin(const Launch &launch, FILE *file) {
  fprintf(file, "begin\t%s\t", launch.build.c_str());
  put_text(launch.kernel.c_str(), file);
}

}  // namespace kernlens
