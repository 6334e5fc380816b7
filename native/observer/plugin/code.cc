#include "code.h"

#include <algorithm>
#include <cstring>

namespace kernlens {

namespace {

bool contains(const Value *call, const char *word) {
  size_t length = 0;
  const Value *callee = interpreter.called(call);
  const char *name = callee ? interpreter.name(callee, &length) : nullptr;
  return name && memmem(name, length, word, strlen(word)) != nullptr;
}

bool is_pointer(const Value *value) { return interpreter.type_kind(interpreter.type(value)) == KIND_POINTER; }

// The operand of an instruction that is the address of its loads or stores; nullptr if that is not known.
const Value *address_of(const Value *value, Way way, unsigned *argument) {
  int opcode = interpreter.opcode(value);
  *argument = 0;
  if (opcode == OP_LOAD || opcode == OP_ATOMIC || opcode == OP_COMPARE_EXCHANGE) return interpreter.operand(value, 0);
  if (opcode == OP_STORE) return interpreter.operand(value, 1);
  if (opcode != OP_CALL) return nullptr;
  unsigned ordinal = contains(value, "llvm.memcpy") || contains(value, "llvm.memmove") ? (way == LOADS ? 1 : 0) : 0;
  // The last operand is the function that is called.
  for (unsigned each = 0; each + 1 < interpreter.operands(value); each++)
    if (is_pointer(interpreter.operand(value, each)) && ordinal-- == 0) {
      *argument = each;
      return interpreter.operand(value, each);
    }
  return nullptr;
}

// The bytes of the number that a pointer points to; 0 if it points to something else.
unsigned pointed_to(const Value *address) {
  const Opaque *type = interpreter.element_type(interpreter.type(address));
  switch (interpreter.type_kind(type)) {
    case KIND_HALF:
      return 2;
    case KIND_FLOAT:
      return 4;
    case KIND_DOUBLE:
      return 8;
    case KIND_INTEGER:
      return interpreter.integer_width(type) / 8;
    default:
      return 0;
  }
}

// The alignment that an access states; 0 if it states none.
unsigned alignment_of(const Value *value, unsigned argument) {
  int opcode = interpreter.opcode(value);
  if (opcode == OP_LOAD || opcode == OP_STORE) return interpreter.alignment(value);
  if (opcode != OP_CALL) return 0;
  static const unsigned kind = interpreter.attribute_kind("align", 5);
  const Opaque *attribute = interpreter.call_attribute(value, argument + 1, kind);
  if (attribute) return static_cast<unsigned>(interpreter.attribute_value(attribute));
  if (contains(value, "llvm.mem")) return 1;
  // A built-in function. Only these need more than the alignment of an element.
  return contains(value, "vloada_") || contains(value, "vstorea_") ? 0 : pointed_to(interpreter.operand(value, argument));
}

}  // namespace

int Program::place(const Opaque *location) {
  if (location == nullptr) return -1;
  const Opaque *inlined_at = interpreter.inlined_at(location);
  int outer = inlined_at ? place(inlined_at) : -1;
  const Opaque *file = interpreter.file(interpreter.scope(location));
  unsigned length = 0;
  const char *name = file ? interpreter.file_name(file, &length) : "";
  auto known = std::find_if(files.begin(), files.end(), [name](const char *each) { return strcmp(each, name) == 0; });
  int number = static_cast<int>(known - files.begin());
  if (known == files.end()) files.push_back(strndup(name, length));
  Place place{interpreter.line(location), interpreter.column(location), number, outer};
  auto result = numbers_.emplace(std::make_tuple(place.line, place.column, number, outer), static_cast<int>(places.size()));
  if (result.second) places.push_back(place);
  return result.first->second;
}

Instruction *Program::look_up(const Value *value) {
  auto known = instructions_.find(value);
  if (known == instructions_.end()) {
    const Code *block = interpreter.block_of(value);
    if (block) {
      function(interpreter.function_of(block));
      known = instructions_.find(value);
    }
    if (known == instructions_.end())
      known = instructions_.emplace(value, new Instruction{value, nullptr, -1, false, false, {}}).first;
  }
  Entry &entry = recent_[(reinterpret_cast<uintptr_t>(value) >> 4) & (RECENT - 1)];
  entry.value = value;
  return entry.instruction = known->second.get();
}

Function *Program::function(const Value *value) {
  functions.emplace_back(new Function{value, {}, {}, {}, {}});
  Function *function = functions.back().get();
  std::unordered_map<const Code *, Block *> blocks;
  for (const Code *code = interpreter.first_block(value); code; code = interpreter.next_block(code)) {
    std::unique_ptr<Block> block(new Block);
    block->id = points_++;
    block->function = function;
    block->code = code;
    block->is_entry = function->blocks.empty();
    blocks[code] = block.get();
    const Value *first = interpreter.first_instruction(code);
    for (const Value *each = first; each; each = interpreter.next_instruction(each)) {
      int number = place(interpreter.location(each));
      instructions_.emplace(each, new Instruction{each, block.get(), number, each == first, false, {}});
      block->instructions[number]++;
    }
    function->blocks.push_back(std::move(block));
  }
  for (auto &block : function->blocks) {
    const Value *last = interpreter.last_instruction(block->code);
    for (unsigned each = 0; last && each < interpreter.successors(last); each++) {
      Block *to = blocks[interpreter.successor(last, each)];
      auto same = std::find_if(block->edges.begin(), block->edges.end(), [to](const Edge &edge) { return edge.to == to; });
      if (same == block->edges.end()) block->edges.push_back(Edge{to, {}});
    }
    if (!last) continue;
    instructions_[last]->is_branch = block->edges.size() > 1;
    block->branch_place = instructions_[last]->place;
  }
  find_loops(function);
  function->calls.assign(items_, 0);
  return function;
}

Access *Program::access(Instruction *instruction, Way way, unsigned space_of_memory, uint64_t at) {
  Access *&known = instruction->accesses[way];
  if (known) return known;
  const Value *value = instruction->value;
  unsigned argument = 0, space = space_of_memory, alignment = 0;
  const Value *address = address_of(value, way, &argument);
  // Constant memory is a part of global memory to Oclgrind, and so are images.
  if (address && space == GLOBAL && interpreter.pointer_space(interpreter.type(address)) == CONSTANT) space = CONSTANT;
  if (interpreter.opcode(value) == OP_CALL && contains(value, "image")) space = IMAGE;
  if (address) alignment = alignment_of(value, argument);
  if (address && (space == PRIVATE || space == LOCAL)) names.add(space, at, address);
  bool is_fixed = address && (interpreter.is_constant(address) || interpreter.as_argument(address));
  accesses.emplace_back(new Access);
  known = accesses.back().get();
  known->id = static_cast<unsigned>(accesses.size() - 1);
  known->buffer = at >> BUFFER_BITS;
  known->instruction = instruction;
  known->way = way;
  known->space = space;
  known->is_fixed = is_fixed;
  unsigned widest = 16;
  unsigned natural = alignment ? std::min(alignment, widest) : widest;
  // Where accesses need no alignment beyond that of a word, wider ones are split only below that.
  known->part = is_split_ || natural < 4 ? natural : widest;
  return known;
}

void Program::resize(size_t items) {
  items_ = items;
  for (auto &function : functions) {
    function->calls.assign(items, 0);
    for (auto &loop : function->loops) loop->rounds.assign(items, 0);
  }
}

uint64_t Program::pending_units(int size) const {
  uint64_t units = 0;
  for (const auto &access : accesses)
    if (access->space == GLOBAL || access->space == CONSTANT) units += access->counters.pending[UNITS32 + size];
  return units;
}

void Program::commit() {
  for (auto &function : functions) {
    for (auto &block : function->blocks) {
      block->counters.commit();
      for (Edge &edge : block->edges) edge.counters.commit();
    }
    for (auto &loop : function->loops) {
      loop->entry.counters.commit();
      loop->counters.commit();
    }
  }
  for (auto &access : accesses) access->commit();
  for (auto &barrier : barriers) barrier.second.commit();
}

}  // namespace kernlens
