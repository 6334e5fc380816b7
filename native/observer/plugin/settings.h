// What the plugin is told by the environment, and which launches of a kernel it counts.
#ifndef KERNLENS_OBSERVER_SETTINGS_H
#define KERNLENS_OBSERVER_SETTINGS_H

#include <map>
#include <set>
#include <string>

#include "requests.h"

namespace kernlens {

// The order in which groups run: theirs; theirs, but a sample of the others if the time will not do for all; or a sample.
enum Order { IN_ORDER, IF_NEEDED, SAMPLED };

// KERNLENS_OBSERVE: words NAME=VALUE with blanks between them, `file` or `folder` the last.
struct Settings {
  Machine machine;
  uint64_t asks = 0;        // the number of the socket of a process that knows how wide the sub-groups of a kernel are; 0: none
  double seconds = 0;       // 0: no limit
  unsigned launches = 0;    // of a kernel and its sizes that are counted; 0: all
  uint64_t groups = 0;      // of a launch that run; 0: all
  Order order = IN_ORDER;   // of the groups
  bool ends = false;        // the process, when the time is over
  bool tells = false;       // on standard output, how many work-groups have ended
  uint64_t races = 0;       // bytes that the look for data races may keep; 0: there is none
  bool marks = false;       // variables as unset before anything sets them, for Oclgrind's look for uses of such
  std::string file, folder;

  explicit Settings(const char *text);
};

// What was counted of a kernel of a build so far.
struct Counted {
  double seconds = 0;
  unsigned width = 0;
  std::map<std::string, unsigned> launches;  // by the sizes
  std::set<std::string> told;                // messages

  // Whether one more launch of these sizes is counted, which then is one of them.
  bool takes(const std::string &sizes, const Settings &settings);
};

// Asks that process; 0 if it does not say.
unsigned asked_width(uint64_t number, const std::string &build, const std::string &kernel);

}  // namespace kernlens
#endif
