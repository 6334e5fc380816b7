// One launch of a kernel, and what was counted of it.
#ifndef KERNLENS_OBSERVER_OBSERVATION_H
#define KERNLENS_OBSERVER_OBSERVATION_H

#include <cstdio>
#include <map>
#include <string>

#include "requests.h"

namespace kernlens {

// What Oclgrind says, and how often it says the same of the same places.
struct Message {
  size_t number;
  int type;
  uint64_t count;
  std::string text;  // of the first
};

struct Observation {
  explicit Observation(const Machine &machine) : machine(machine), program(machine.is_split) {}

  Machine machine;
  Program program;
  std::string kernel;
  Sizes global, local, groups;
  uint64_t groups_done = 0, instructions = 0, pending_instructions = 0, copied = 0;
  bool is_out_of_time = false;
};

// Append it to a file (docs/formats/observation.md).
void write(const Observation &observation, const std::map<std::string, Message> &messages,
           const std::vector<std::pair<uint64_t, uint64_t>> &buffers, FILE *file);

}  // namespace kernlens
#endif
