#include "names.h"

#include <set>
#include <vector>

namespace kernlens {

namespace {

constexpr size_t MOST_NAMES = 1000, MOST_VALUES = 1000, MOST_ORIGINS = 3;

std::string text_of(const Value *value) {
  size_t length = 0;
  const char *name = interpreter.name(value, &length);
  return std::string(name, length);
}

// What a pointer points into: an argument, or a variable; nullptr if that is not known.
const Value *base_of(const Value *pointer) {
  for (size_t step = 0; step < MOST_VALUES; step++) {
    if (interpreter.as_argument(pointer) || interpreter.as_variable(pointer)) return pointer;
    bool is_instruction = interpreter.as_instruction(pointer) != nullptr;
    int opcode = is_instruction ? interpreter.opcode(pointer) : 0;
    if (opcode == OP_ALLOCA) return pointer;
    bool leads_on = is_instruction ? opcode == OP_ELEMENT || opcode == OP_CAST || opcode == OP_CAST_OF_SPACE
                                   : interpreter.as_expression(pointer) != nullptr;
    if (!leads_on) return nullptr;
    pointer = interpreter.operand(pointer, 0);
  }
  return nullptr;
}

// Clang calls local variables KERNEL.NAME, and LLVM adds .NUMBER, .i and the like to names.
Name name_of(const Value *base) {
  if (!base) return Name();
  std::string text = text_of(base);
  if (interpreter.as_argument(base)) return Name{text, true};
  size_t first = 0;
  if (interpreter.as_variable(base) && text.find('.') != std::string::npos) first = text.find('.') + 1;
  return Name{text.substr(first, text.find('.', first) - first), false};
}

unsigned space_of(const Value *pointer) { return interpreter.pointer_space(interpreter.type(pointer)); }

}  // namespace

void Names::add(unsigned space, uint64_t address, const Value *pointer) {
  Name name = name_of(base_of(pointer));
  if (name.text.empty() || names_.size() >= MOST_NAMES) return;
  unsigned bits = space == PRIVATE ? PRIVATE_BITS : BUFFER_BITS;
  uint64_t half = 1ull << (bits - 1);  // What is in front of a variable seems to be at the end of the one before.
  Name &known = names_.emplace(std::make_pair(space, (address + half) >> bits), name).first->second;
  if (known.text != name.text) known.text.clear();
}

std::string origins(const Value *instruction) {
  std::set<std::string> own, arguments;
  std::set<const Value *> seen{instruction};
  std::vector<const Value *> work{instruction};
  while (!work.empty() && seen.size() < MOST_VALUES) {
    const Value *value = work.back();
    work.pop_back();
    int opcode = interpreter.opcode(value);
    if (opcode == OP_LOAD) {
      const Value *pointer = interpreter.operand(value, 0);
      Name name = name_of(base_of(pointer));
      if (!name.text.empty()) (space_of(pointer) == PRIVATE || space_of(pointer) == LOCAL ? own : arguments).insert(name.text);
    }
    for (unsigned each = 0; each < interpreter.operands(value); each++) {
      const Value *operand = interpreter.operand(value, each);
      if (interpreter.as_instruction(operand) && seen.insert(operand).second) work.push_back(operand);
    }
  }
  const std::set<std::string> &chosen = own.empty() ? arguments : own;
  std::string text;
  if (chosen.size() > MOST_ORIGINS) return text;
  for (const std::string &each : chosen) text += (text.empty() ? "" : ", ") + each;
  return text;
}

}  // namespace kernlens
