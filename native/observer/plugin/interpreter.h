// What the plugin uses of Oclgrind 21.10 and of LLVM 14's C interface. Neither's headers are needed: Oclgrind's functions are
// asked for by their mangled names, and the plugin's table of virtual functions is laid out as its interface has it (observer.cc).
#ifndef KERNLENS_OBSERVER_INTERPRETER_H
#define KERNLENS_OBSERVER_INTERPRETER_H

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace kernlens {

// Objects of Oclgrind and LLVM, of which only addresses are known here.
struct Context;
struct Invocation;
struct Group;
struct Item;
struct Storage;
struct Value;
struct Code;
struct Opaque;
struct Module;
struct Metadata;

struct Sizes {
  size_t x, y, z;
  Sizes() : x(0), y(0), z(0) {}
  size_t product() const { return x * y * z; }
};

// Opcodes of LLVM's C interface (llvm-c/Core.h), whose numbers are stable.
enum Opcode {
  OP_BRANCH = 2, OP_SHIFT_RIGHT = 21, OP_ALLOCA = 26, OP_LOAD = 27, OP_STORE = 28, OP_ELEMENT = 29, OP_TRUNCATE = 30, OP_CAST = 41, OP_COMPARE = 42, OP_CALL = 45, OP_INSERT = 51, OP_COMPARE_EXCHANGE = 56, OP_ATOMIC = 57,
  OP_CAST_OF_SPACE = 60
};
enum Kind { KIND_HALF = 1, KIND_FLOAT = 2, KIND_DOUBLE = 3, KIND_INTEGER = 8, KIND_STRUCT = 10, KIND_ARRAY = 11, KIND_POINTER = 12, KIND_VECTOR = 13 };

constexpr int PREDICATE_EQUAL = 32;
constexpr unsigned METADATA_LOCATION = 5;  // llvm-c/DebugInfo.h

// Oclgrind's address spaces (AddressSpace).
enum Space { PRIVATE = 0, GLOBAL = 1, CONSTANT = 2, LOCAL = 3, IMAGE = 4 };

enum State { READY, AT_BARRIER, FINISHED };  // of a work-item

// A value of Oclgrind's, and its table of them.
struct Content {
  unsigned size, count;
  const unsigned char *bytes;
};
using Contents = std::map<const Value *, Content>;

struct Interpreter {
  // Oclgrind
  void (*register_plugin)(Context *, void *);
  void (*unregister_plugin)(Context *, void *);
  void (*new_race_detector)(void *, const Context *);  // makes it at an address
  const Value *(*current_instruction)(const Item *);
  Sizes (*local_id)(const Item *);
  Sizes (*global_id)(const Item *);
  int (*state_of)(const Item *);
  const Group *(*group_of)(const Item *);
  Sizes (*group_size)(const Group *);
  Sizes (*group_id)(const Group *);
  const Item *(*item_of)(const Group *, Sizes);
  const Value *(*current_barrier)(const Group *);
  unsigned (*space_of)(const Storage *);
  const Item *(*current_item)(const Invocation *);
  const Group *(*current_group)(const Invocation *);
  const Opaque *(*kernel_of)(const Invocation *);
  Sizes (*groups_of)(const Invocation *);
  Sizes (*global_size)(const Invocation *);
  Sizes (*local_size)(const Invocation *);
  const Value *(*function_of_kernel)(const Opaque *);
  Opaque *(*program_of_kernel)(const Opaque *);
  const std::string &(*build_options)(const Opaque *);
  size_t (*argument_count)(const Opaque *);
  const Value *(*argument)(const Opaque *, unsigned);
  Contents::const_iterator (*contents)(const Opaque *);
  Contents::const_iterator (*contents_end)(const Opaque *);
  void (*forget_code)(Opaque *);
  Opaque *(*create_kernel)(Opaque *, std::string);
  void (*delete_kernel)(Opaque *);
  // LLVM
  const Code *(*block_of)(const Value *);
  const Value *(*function_of)(const Code *);
  const Code *(*first_block)(const Value *);
  const Code *(*next_block)(const Code *);
  const Value *(*first_instruction)(const Code *);
  const Value *(*next_instruction)(const Value *);
  const Value *(*last_instruction)(const Code *);
  int (*opcode)(const Value *);
  unsigned (*successors)(const Value *);
  const Code *(*successor)(const Value *, unsigned);
  int (*predicate)(const Value *);
  int (*is_constant)(const Value *);
  const Value *(*as_argument)(const Value *);
  const Value *(*as_instruction)(const Value *);
  const Value *(*as_expression)(const Value *);
  const Value *(*as_variable)(const Value *);
  unsigned (*operands)(const Value *);
  const Value *(*operand)(const Value *, unsigned);
  const Value *(*called)(const Value *);
  const char *(*name)(const Value *, size_t *);
  const Opaque *(*type)(const Value *);
  int (*type_kind)(const Opaque *);
  unsigned (*pointer_space)(const Opaque *);
  const Opaque *(*element_type)(const Opaque *);
  unsigned (*integer_width)(const Opaque *);
  const Opaque *(*allocated_type)(const Value *);
  unsigned (*array_length)(const Opaque *);
  unsigned (*vector_length)(const Opaque *);
  unsigned (*field_count)(const Opaque *);
  const Opaque *(*field)(const Opaque *, unsigned);
  unsigned (*alignment)(const Value *);
  unsigned (*attribute_kind)(const char *, size_t);
  const Opaque *(*call_attribute)(const Value *, unsigned, unsigned);
  uint64_t (*attribute_value)(const Opaque *);
  const Opaque *(*location)(const Value *);
  unsigned (*line)(const Opaque *);
  unsigned (*column)(const Opaque *);
  const Opaque *(*scope)(const Opaque *);
  const Opaque *(*inlined_at)(const Opaque *);
  const Opaque *(*file)(const Opaque *);
  const char *(*file_name)(const Opaque *, unsigned *);
  const Value *(*metadata)(const Value *, unsigned);
  unsigned (*metadata_size)(const Value *);
  void (*operands_of_metadata)(const Value *, const Value **);
  const Opaque *(*as_metadata)(const Value *);
  unsigned (*kind_of_metadata)(const Opaque *);
  // LLVM, to change the program
  Module *(*module_of)(const Value *);
  Opaque *(*context_of)(Module *);
  Value *(*first_function)(Module *);
  Value *(*next_function)(const Value *);
  unsigned (*calling_convention)(const Value *);
  unsigned (*parameters)(const Value *);
  const Opaque *(*first_use)(const Value *);
  const Opaque *(*attribute)(const Value *, unsigned, unsigned);
  void (*remove_attribute)(Value *, unsigned, unsigned);
  void (*add_attribute)(Value *, unsigned, const Opaque *);
  const Opaque *(*new_attribute)(Opaque *, unsigned, uint64_t);
  int (*is_volatile)(const Value *);
  int (*ordering)(const Value *);
  unsigned (*metadata_kind)(Opaque *, const char *, unsigned);
  Metadata *(*metadata_text)(Opaque *, const char *, size_t);
  Metadata *(*metadata_node)(Opaque *, Metadata **, size_t);
  Value *(*metadata_value)(Opaque *, Metadata *);
  void (*set_metadata)(const Value *, unsigned, Value *);
  const Opaque *(*named_metadata)(Module *, const char *, size_t);
  void (*name_metadata)(Module *, const char *, Value *);
  Opaque *(*new_builder)(Opaque *);
  void (*delete_builder)(Opaque *);
  void (*build_before)(Opaque *, const Value *);
  Value *(*build_variable)(Opaque *, const Opaque *, const char *);
  Value *(*build_load)(Opaque *, const Opaque *, Value *, const char *);
  Value *(*build_store)(Opaque *, Value *, const Value *);
  Value *(*build_element)(Opaque *, const Opaque *, const Value *, const Value **, unsigned, const char *);
  Value *(*build_insert)(Opaque *, Value *, const Value *, const Value *, const char *);
  void (*build_at)(Opaque *, const Opaque *);
  void (*set_operand)(const Value *, unsigned, Value *);
  void (*set_location)(const Value *, const Opaque *);
  void (*erase)(const Value *);
  void (*set_volatile)(Value *, int);
  const Value *(*as_integer)(const Value *);
  unsigned long long (*integer_value)(const Value *);
  const Opaque *(*integer_type)(Opaque *, unsigned);
  const Opaque *(*vector_type)(const Opaque *, unsigned);
  Value *(*integer)(const Opaque *, unsigned long long, int);
  Value *(*undefined)(const Opaque *);
  Value *(*vector_of)(Value **, unsigned);
  Value *(*build_cast)(Opaque *, const Value *, const Opaque *, const char *);
  Value *(*build_shuffle)(Opaque *, Value *, Value *, Value *, const char *);
  const Opaque *(*next_use)(const Opaque *);
  const Value *(*user)(const Opaque *);
  void (*replace)(const Value *, Value *);
  Opaque *(*new_pass_options)();
  void (*delete_pass_options)(Opaque *);
  Opaque *(*run_passes)(Module *, const char *, Opaque *, Opaque *);
  void (*parse_options)(int, const char *const *, const char *);
  void (*drop_error)(Opaque *);

  // Look everything up in the libraries of this process. Returns what is missing, nullptr if nothing is.
  const char *find();
};

extern Interpreter interpreter;

template <typename Use>
void for_each_instruction(Module *module, Use use) {
  for (Value *function = interpreter.first_function(module); function; function = interpreter.next_function(function))
    for (const Code *code = interpreter.first_block(function); code; code = interpreter.next_block(code))
      for (const Value *each = interpreter.first_instruction(code); each; each = interpreter.next_instruction(each)) use(each);
}

}  // namespace kernlens
#endif
