#include "messages.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "names.h"

namespace kernlens {

namespace {

// The number at a place in a text, which is then behind the letter that follows. scanf has a name in newer C libraries that the
// interpreter's does not know.
uint64_t number_at(const std::string &text, size_t &at) {
  uint64_t number = 0;
  for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; at++) number = 10 * number + static_cast<uint64_t>(text[at] - '0');
  at++;
  return number;
}

// The first work-item that is not at the barrier where others are.
std::string absent_of(const Group *group) {
  Sizes local = interpreter.group_size(group), id;
  for (id.z = 0; id.z < local.z; id.z++)
    for (id.y = 0; id.y < local.y; id.y++)
      for (id.x = 0; id.x < local.x; id.x++) {
        const Item *item = interpreter.item_of(group, id);
        if (item && interpreter.state_of(item) == FINISHED) {
          Sizes own = interpreter.global_id(item);
          return "\nkernlens: absent Global(" + std::to_string(own.x) + "," + std::to_string(own.y) + "," + std::to_string(own.z) +
                 ")";
        }
      }
  return "";
}

}  // namespace

std::string key_of(const std::string &text, const Sizes &local, unsigned width) {
  std::string key = text.substr(0, std::min(text.find(" address "), text.find('\n')));
  std::vector<uint64_t> sub_groups;
  for (size_t at = text.find(" Local("); at != std::string::npos; at = text.find(" Local(", at + 1)) {
    size_t digit = at + strlen(" Local(");
    uint64_t x = number_at(text, digit), y = number_at(text, digit), z = number_at(text, digit);
    sub_groups.push_back((x + local.x * (y + local.y * z)) / width);
  }
  if (sub_groups.size() == 2) key += sub_groups[0] == sub_groups[1] ? "one" : "two";
  for (size_t at = text.find("At line "); at != std::string::npos; at = text.find("At line ", at + 1))
    key += text.substr(at, text.find('\n', at) - at);
  return key;
}

std::string further(const std::string &message, const Invocation *invocation) {
  if (!invocation) return "";
  if (message.find("ninitialized value") != std::string::npos) {
    const Item *item = interpreter.current_item(invocation);
    std::string names = item ? origins(interpreter.current_instruction(item)) : "";
    return names.empty() ? "" : "\nkernlens: computed from " + names;
  }
  const Group *group = interpreter.current_group(invocation);
  return group && message.find("divergence detected") != std::string::npos ? absent_of(group) : "";
}

}  // namespace kernlens
