#include "hoisting.h"

namespace kernlens {

namespace {

bool is_access(const Value *value) {
  int opcode = interpreter.opcode(value);
  return opcode == OP_LOAD || opcode == OP_STORE;
}

bool is_equality(const Value *condition) {
  return interpreter.as_instruction(condition) && interpreter.opcode(condition) == OP_COMPARE &&
         interpreter.predicate(condition) == PREDICATE_EQUAL;
}

}  // namespace

Hoisting::Hoisting(Module *module) {
  for_each_instruction(module, [this](const Value *branch) {
    if (interpreter.opcode(branch) != OP_BRANCH || interpreter.successors(branch) != 2) return;
    bool is_second = is_equality(interpreter.operand(branch, 0));
    const Code *block = interpreter.successor(branch, 0);
    const Value *first = interpreter.first_instruction(block);
    const Value *second = interpreter.first_instruction(interpreter.successor(branch, 1));
    for (; first && second; first = interpreter.next_instruction(first), second = interpreter.next_instruction(second))
      if (is_access(first) && is_access(second)) likely_[first] = {block, interpreter.location(is_second ? second : first)};
  });
}

void Hoisting::name_lines(Module *module) const {
  for_each_instruction(module, [this](const Value *each) {
    auto known = is_access(each) ? likely_.find(each) : likely_.end();
    if (known == likely_.end() || interpreter.block_of(each) == known->second.first) return;
    if (known->second.second) interpreter.set_location(each, known->second.second);
  });
}

}  // namespace kernlens
