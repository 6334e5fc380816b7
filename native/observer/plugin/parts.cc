#include "parts.h"

#include <vector>

namespace kernlens {

namespace {

constexpr unsigned WIDEST = 64;  // bits of a number that Oclgrind computes with

unsigned width_of(const Value *value) {
  const Opaque *type = interpreter.type(value);
  return interpreter.type_kind(type) == KIND_INTEGER ? interpreter.integer_width(type) : 0;
}

bool is_wide_cast(const Value *value) {
  return width_of(value) > WIDEST && interpreter.as_instruction(value) && interpreter.opcode(value) == OP_CAST;
}

unsigned common(unsigned a, unsigned b) { return b ? common(b, a % b) : a; }

// The bits of a wide number, from the bit at which they begin; as a vector.
Value *bits(Opaque *builder, Opaque *context, const Value *vector, unsigned whole, unsigned begin, unsigned count) {
  unsigned unit = common(common(whole, count), common(begin, WIDEST));
  Value *units = interpreter.build_cast(builder, vector, interpreter.vector_type(interpreter.integer_type(context, unit), whole / unit), "");
  std::vector<Value *> chosen;
  for (unsigned each = begin / unit; each < (begin + count) / unit; each++)
    chosen.push_back(interpreter.integer(interpreter.integer_type(context, 32), each, 0));
  Value *undefined = interpreter.undefined(interpreter.type(units));
  return interpreter.build_shuffle(builder, units, undefined, interpreter.vector_of(chosen.data(), chosen.size()), "");
}

// Replace a value by bits of a vector where it is a number that is narrow enough, or else where it is cast to a vector.
void put(Opaque *builder, Opaque *context, const Value *value, const Value *vector, unsigned whole, unsigned begin) {
  unsigned count = width_of(value);
  if (count <= WIDEST) {
    interpreter.build_before(builder, value);
    Value *part = bits(builder, context, vector, whole, begin, count);
    interpreter.replace(value, interpreter.build_cast(builder, part, interpreter.type(value), ""));
    return;
  }
  for (const Opaque *use = interpreter.first_use(value); use; use = interpreter.next_use(use)) {
    const Value *user = interpreter.user(use);
    if (interpreter.opcode(user) != OP_CAST || interpreter.type_kind(interpreter.type(user)) == KIND_INTEGER) continue;
    interpreter.build_before(builder, user);
    Value *part = bits(builder, context, vector, whole, begin, count);
    interpreter.replace(user, interpreter.build_cast(builder, part, interpreter.type(user), ""));
  }
}

// What is cut out of a number, which may be shifted by constants and cut itself. A shift over the end of a cut one brings zeros.
void take(Opaque *builder, Opaque *context, const Value *cut) {
  const Value *number = interpreter.operand(cut, 0);
  uint64_t begin = 0;
  for (; interpreter.as_instruction(number); number = interpreter.operand(number, 0)) {
    if (interpreter.opcode(number) == OP_SHIFT_RIGHT) {
      const Value *shift = interpreter.as_integer(interpreter.operand(number, 1));
      if (!shift) return;
      begin += interpreter.integer_value(shift);
    } else if (interpreter.opcode(number) != OP_TRUNCATE) {
      break;
    }
    if (begin + width_of(cut) > width_of(number)) return;
  }
  if (is_wide_cast(number)) put(builder, context, cut, interpreter.operand(number, 0), width_of(number), static_cast<unsigned>(begin));
}

}  // namespace

void take_parts(Opaque *context, Module *module) {
  std::vector<const Value *> wide;
  for_each_instruction(module, [&](const Value *each) {
    if (interpreter.opcode(each) == OP_TRUNCATE && width_of(interpreter.operand(each, 0)) > WIDEST) wide.push_back(each);
  });
  if (wide.empty()) return;
  Opaque *builder = interpreter.new_builder(context);
  for (const Value *each : wide) take(builder, context, each);
  interpreter.delete_builder(builder);
}

}  // namespace kernlens
