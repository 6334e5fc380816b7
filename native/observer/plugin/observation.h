// One launch of a kernel, and what was counted of it.
#ifndef KERNLENS_OBSERVER_OBSERVATION_H
#define KERNLENS_OBSERVER_OBSERVATION_H

#include <cstdio>
#include <map>
#include <string>

#include "requests.h"
#include "sampling.h"
#include "sharing.h"

namespace kernlens {

// What Oclgrind says, and how often it says the same of the same places.
struct Message {
  size_t number;
  int type;
  uint64_t count;
  std::string text;  // of the first
};

struct Launch {
  std::string build, kernel;  // build: the number of its program's, "" if it is not known
  Sizes global, local, groups;
  std::vector<std::pair<uint64_t, std::string>> arguments;  // addresses in global and constant memory, and the arguments' names
  std::vector<std::string> left_out;  // of these, by the look for data races
};

struct Observation {
  Observation(const Machine &machine, const Launch &launch) : machine(machine), launch(launch), program(machine.is_split) {}

  Machine machine;
  Launch launch;
  Program program;
  Sharing sharing;
  uint64_t groups_done = 0, instructions = 0, pending_instructions = 0, copied = 0;
  bool is_out_of_time = false, is_sampled = false;
  uint64_t chosen = 0;  // groups that are to run
  uint64_t of_strata[STRATA] = {};  // groups that ran
  Range of_groups[1 + UNIT_SIZES];  // instructions, and units of global memory of each size
};

// Write it (docs/formats/observation.md).
void write(const Observation &observation, const std::map<std::string, Message> &messages,
           const std::vector<std::pair<uint64_t, uint64_t>> &buffers, FILE *file);
// Write that a launch begins.
void write_begin(const Launch &launch, FILE *file);

}  // namespace kernlens
#endif
