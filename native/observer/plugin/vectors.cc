#include "vectors.h"

#include <cstring>
#include <set>
#include <vector>

namespace kernlens {

namespace {

constexpr char TRANSLATED[] = "spirv.MemoryModel";  // what was SPIR-V has stores of parts that are its own
constexpr unsigned GLOBAL_SPACE = 1, LOCAL_SPACE = 3;

bool is_cast(const Value *value) { return interpreter.as_instruction(value) && interpreter.opcode(value) == OP_CAST; }

bool may_set_a_part(const Value *store) {
  if (interpreter.opcode(store) != OP_STORE || interpreter.is_volatile(store) || interpreter.ordering(store)) return false;
  const Value *address = interpreter.operand(store, 1);
  unsigned space = interpreter.pointer_space(interpreter.type(address));
  if ((space != GLOBAL_SPACE && space != LOCAL_SPACE) || !interpreter.as_instruction(address)) return false;
  // A vector of three is stored as the four that it is cast to, of which it has three.
  return interpreter.opcode(address) == OP_ELEMENT && interpreter.operands(address) > 2 && !is_cast(interpreter.operand(address, 0));
}

// Store the vector of which this store sets a part.
void store_whole(Opaque *builder, const Value *store) {
  const Value *address = interpreter.operand(store, 1), *base = interpreter.operand(address, 0);
  std::vector<const Value *> indices;
  for (unsigned each = 1; each < interpreter.operands(address); each++) indices.push_back(interpreter.operand(address, each));
  const Value *part = indices.back();
  indices.pop_back();
  interpreter.build_before(builder, store);
  interpreter.build_at(builder, interpreter.location(store));
  const Opaque *pointed = interpreter.element_type(interpreter.type(base));
  Value *whole = interpreter.build_element(builder, pointed, base, indices.data(), static_cast<unsigned>(indices.size()), "");
  const Opaque *type = interpreter.element_type(interpreter.type(whole));
  if (interpreter.type_kind(type) != KIND_VECTOR) return;
  Value *before = interpreter.build_load(builder, type, whole, "");
  interpreter.build_store(builder, interpreter.build_insert(builder, before, interpreter.operand(store, 0), part, ""), whole);
  interpreter.erase(store);
}

bool is_insert(const Value *value) { return interpreter.as_instruction(value) && interpreter.opcode(value) == OP_INSERT; }

}  // namespace

void store_whole_vectors(Opaque *context, Module *module) {
  if (interpreter.named_metadata(module, TRANSLATED, strlen(TRANSLATED))) return;
  std::vector<const Value *> stores;
  for_each_instruction(module, [&](const Value *each) {
    if (may_set_a_part(each)) stores.push_back(each);
  });
  Opaque *builder = interpreter.new_builder(context);
  for (const Value *each : stores) store_whole(builder, each);
  interpreter.delete_builder(builder);
}

void forget_replaced_parts(Module *module) {
  for_each_instruction(module, [](const Value *last) {
    if (!is_insert(last)) return;
    std::set<unsigned long long> parts;
    for (const Value *each = last;; each = interpreter.operand(each, 0)) {
      const Value *part = interpreter.as_integer(interpreter.operand(each, 2));
      if (!part) return;
      parts.insert(interpreter.integer_value(part));
      if (parts.size() == interpreter.vector_length(interpreter.type(last)))
        return interpreter.set_operand(each, 0, interpreter.undefined(interpreter.type(last)));
      const Value *inner = interpreter.operand(each, 0);
      // What is in between must be for nobody else.
      if (!is_insert(inner) || interpreter.next_use(interpreter.first_use(inner))) return;
    }
  });
}

}  // namespace kernlens
