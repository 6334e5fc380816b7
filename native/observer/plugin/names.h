// The names that variables and arguments have in the source, for memory and for values.
#ifndef KERNLENS_OBSERVER_NAMES_H
#define KERNLENS_OBSERVER_NAMES_H

#include <map>
#include <string>
#include <utility>

#include "interpreter.h"

namespace kernlens {

// What a variable is called that is the value of another one when nothing has set it (preparing.cc): its name with this behind.
constexpr char UNSET[] = ".unset";

// An address in global and local memory has the number of its buffer or variable in its upper bits, one in private memory too.
constexpr unsigned BUFFER_BITS = 48, PRIVATE_BITS = 32;

struct Name {
  std::string text;  // "" if it is not known
  bool is_argument = false;
};

// The names of variables in local and private memory, by the address space and the number that Oclgrind gives each.
class Names {
 public:
  // An access through `pointer` is at `address`.
  void add(unsigned space, uint64_t address, const Value *pointer);
  const std::map<std::pair<unsigned, uint64_t>, Name> &all() const { return names_; }

 private:
  std::map<std::pair<unsigned, uint64_t>, Name> names_;
};

// The variables in local and private memory that what an instruction uses was computed from, with commas between them; the
// arguments where there are none.
std::string origins(const Value *instruction);

}  // namespace kernlens
#endif
