#include "sharing.h"

namespace kernlens {

namespace {

constexpr size_t MOST_BYTES = 1u << 20;  // what is beyond is taken for shared
constexpr int NONE = -1, SEVERAL = -2;

}  // namespace

void Sharing::access(uint64_t address, size_t size, int sub_group, Way way, const uint8_t *value) {
  if (!crosses && size > MOST_BYTES - bytes_.size()) crosses = true;
  for (size_t each = 0; each < size && !crosses; each++) {
    Byte &byte = bytes_[address + each];
    int written = way == STORES && value ? value[each] : -1;
    for (int other : {LOADS, STORES, ATOMICS}) {
      if (byte.of[other] == NONE || byte.of[other] == sub_group) continue;
      bool is_harmless = other == way && (way != STORES || (written >= 0 && written == byte.value));
      crosses |= !is_harmless;
    }
    int &own = byte.of[way];
    own = own == NONE || own == sub_group ? sub_group : SEVERAL;
    if (way == STORES) byte.value = written;
  }
}

}  // namespace kernlens
