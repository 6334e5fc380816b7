// What clang writes without optimisation, with those passes that every GPU compiler does.
//
// Unoptimised code keeps variables in memory and counts what every compiler drops; Oclgrind's own level (-Oz) splits vector
// accesses and moves stores. Between them: functions inlined, variables in registers (sroa), equal values once (early-cse, GVN),
// what a loop does not change before it (LICM), loops that test at their end (loop-rotate). What a round of a loop stored, the
// next one does not load again: the first value is loaded before the loop (GVN with PRE), and no store is left that another one
// overwrites (DSE). What both branches of a condition begin with is done in front of it, short branches are choices
// (simplifycfg). Compilers of GPUs know that global and local memory do not overlap; LLVM is told by scopes (alias.scope) on
// each access.
#include "preparing.h"

#include <cstring>
#include <string>
#include <vector>

#include "hoisting.h"
#include "names.h"
#include "parts.h"
#include "vectors.h"

namespace kernlens {

namespace {

constexpr char FIRST_PASSES[] = "always-inline,function(loop-simplify,sroa,early-cse<memssa>,loop-mssa(loop-rotate,licm))";
constexpr char HOISTING[] = "function(simplifycfg<hoist-common-insts>)";
constexpr char PASSES[] = "function(gvn<pre;load-pre>,dse,simplifycfg)";
constexpr char NO_DEAD_CODE[] = "function(dce)";
constexpr char MARK[] = "kernlens.prepared";
constexpr unsigned OF_FUNCTION = ~0u, KERNEL = 76;  // an index of attributes, and a calling convention
constexpr unsigned SPACE_GLOBAL = 1, SPACE_LOCAL = 3, LONGEST_ARRAY = 16;
constexpr char PARAMETER[] = ".addr";

unsigned kind_of(const char *attribute) { return interpreter.attribute_kind(attribute, strlen(attribute)); }

// Everything is inlined. Of what is inlined no argument is noalias: LLVM would write intrinsics that Oclgrind does not know.
void let_inline(Opaque *context, Value *function) {
  static const unsigned unoptimised = kind_of("optnone"), apart = kind_of("noinline"), inlined = kind_of("alwaysinline"),
                        alone = kind_of("noalias");
  bool is_called = interpreter.calling_convention(function) != KERNEL || interpreter.first_use(function);
  for (unsigned each = 1; is_called && each <= interpreter.parameters(function); each++)
    if (interpreter.attribute(function, each, alone)) interpreter.remove_attribute(function, each, alone);
  if (!interpreter.first_block(function)) return;
  interpreter.remove_attribute(function, OF_FUNCTION, unoptimised);
  interpreter.remove_attribute(function, OF_FUNCTION, apart);
  interpreter.add_attribute(function, OF_FUNCTION, interpreter.new_attribute(context, inlined, 0));
}

// The scopes of global and local memory.
class Scopes {
 public:
  explicit Scopes(Opaque *context) : context_(context) {
    Metadata *domain = text("kernlens");
    domain_ = interpreter.metadata_node(context, &domain, 1);
    global_ = scope("global");
    local_ = scope("local");
    own_ = interpreter.metadata_kind(context, "alias.scope", strlen("alias.scope"));
    others_ = interpreter.metadata_kind(context, "noalias", strlen("noalias"));
  }
  Value *domain() const { return interpreter.metadata_value(context_, domain_); }
  void put(const Value *access) const {
    int opcode = interpreter.opcode(access);
    if ((opcode != OP_LOAD && opcode != OP_STORE) || interpreter.is_volatile(access) || interpreter.ordering(access)) return;
    unsigned space = interpreter.pointer_space(interpreter.type(interpreter.operand(access, opcode == OP_STORE)));
    if (space != SPACE_GLOBAL && space != SPACE_LOCAL) return;
    interpreter.set_metadata(access, own_, space == SPACE_GLOBAL ? global_ : local_);
    interpreter.set_metadata(access, others_, space == SPACE_GLOBAL ? local_ : global_);
  }

 private:
  Metadata *text(const char *name) const { return interpreter.metadata_text(context_, name, strlen(name)); }
  Value *scope(const char *name) const {
    Metadata *parts[] = {text(name), domain_};
    Metadata *node = interpreter.metadata_node(context_, parts, 2);
    return interpreter.metadata_value(context_, interpreter.metadata_node(context_, &node, 1));
  }

  Opaque *context_;
  Metadata *domain_;
  Value *global_, *local_;
  unsigned own_, others_;
};

// Whether Oclgrind can load a value of the type as a whole: not if there is a vector of three in it, which clang loads as four.
// Large arrays stay in memory, where it knows what is set.
bool is_loadable(const Opaque *type) {
  int kind = interpreter.type_kind(type);
  if (kind == KIND_VECTOR) return interpreter.vector_length(type) != 3;
  if (kind == KIND_ARRAY) return interpreter.array_length(type) <= LONGEST_ARRAY && is_loadable(interpreter.element_type(type));
  unsigned count = kind == KIND_STRUCT ? interpreter.field_count(type) : 0;
  for (unsigned each = 0; each < count; each++)
    if (!is_loadable(interpreter.field(type, each))) return false;
  return count <= LONGEST_ARRAY;
}

// Give each variable in front of its first use what another one holds that nothing sets, nor LLVM sees through. Parameters are
// set at once.
void mark_variables(Opaque *context, const Value *function) {
  std::vector<const Value *> variables;
  const Code *first = interpreter.first_block(function);
  for (const Value *each = first ? interpreter.first_instruction(first) : nullptr; each; each = interpreter.next_instruction(each))
    if (interpreter.opcode(each) == OP_ALLOCA) variables.push_back(each);
  Opaque *builder = interpreter.new_builder(context);
  for (const Value *each : variables) {
    size_t length = 0;
    const char *text = interpreter.name(each, &length);
    std::string name(text, length);
    const Opaque *type = interpreter.allocated_type(each);
    bool is_parameter = name.size() > strlen(PARAMETER) && name.rfind(PARAMETER) == name.size() - strlen(PARAMETER);
    if (is_parameter || !is_loadable(type)) continue;
    interpreter.build_before(builder, interpreter.next_instruction(each));
    name += UNSET;
    Value *unset = interpreter.build_load(builder, type, interpreter.build_variable(builder, type, name.c_str()), "");
    interpreter.set_volatile(unset, 1);
    interpreter.build_store(builder, unset, each);
  }
  interpreter.delete_builder(builder);
}

void run(Module *module, const char *passes) {
  Opaque *options = interpreter.new_pass_options();
  if (Opaque *error = interpreter.run_passes(module, passes, nullptr, options)) interpreter.drop_error(error);
  interpreter.delete_pass_options(options);
}

std::string mark_of_unread(const std::string &kernel) { return std::string(MARK) + ".unread." + kernel; }

// Have Oclgrind make the kernels again of the code as it is now. Kernels of which it can make none any more are marked: it has no
// code of theirs to run.
void have_read_again(Opaque *program, Module *module, Value *mark) {
  for (Value *each = interpreter.first_function(module); each; each = interpreter.next_function(each)) {
    if (interpreter.calling_convention(each) != KERNEL || !interpreter.first_block(each)) continue;
    size_t length = 0;
    const char *name = interpreter.name(each, &length);
    Opaque *kernel = interpreter.create_kernel(program, std::string(name, length));
    if (kernel) interpreter.delete_kernel(kernel);
    else interpreter.name_metadata(module, mark_of_unread(std::string(name, length)).c_str(), mark);
  }
}

// LLVM tells two elements of an array apart by a condition around them: within a loop that runs while `n` is positive, it knows
// that a store to `a[i + n]` leaves `a[i]` as it is. NVIDIA's compiler does not, and loads `a[i]` again.
void know_as_little() {
  static const char *const words[] = {"kernlens", "-dom-conditions-max-uses=0"};
  static bool is_set = (interpreter.parse_options(2, words, ""), true);
  static_cast<void>(is_set);
}

}  // namespace

bool can_run(const Opaque *kernel) {
  const Value *function = interpreter.function_of_kernel(kernel);
  size_t length = 0;
  const char *name = interpreter.name(function, &length);
  std::string mark = mark_of_unread(std::string(name, length));
  return !interpreter.named_metadata(interpreter.module_of(function), mark.c_str(), mark.size());
}

void prepare(const Opaque *kernel, bool marks) {
  Module *module = interpreter.module_of(interpreter.function_of_kernel(kernel));
  if (interpreter.named_metadata(module, MARK, strlen(MARK))) return;
  know_as_little();
  // Oclgrind keeps what it knows of the code of each kernel, with instructions of its own that are in no function: GVN fails on
  // those that use the same variables.
  Opaque *program = interpreter.program_of_kernel(kernel);
  interpreter.forget_code(program);
  Opaque *context = interpreter.context_of(module);
  Scopes scopes(context);
  interpreter.name_metadata(module, MARK, scopes.domain());
  for (Value *function = interpreter.first_function(module); function; function = interpreter.next_function(function)) {
    let_inline(context, function);
    if (marks) mark_variables(context, function);
  }
  // What is stored of a vector again may never have been set, which would be told of the store.
  if (!marks) store_whole_vectors(context, module);
  for_each_instruction(module, [&](const Value *each) { scopes.put(each); });
  run(module, FIRST_PASSES);
  Hoisting hoisting(module);
  run(module, HOISTING);
  hoisting.name_lines(module);
  run(module, PASSES);
  take_parts(context, module);
  forget_replaced_parts(module);
  run(module, NO_DEAD_CODE);
  have_read_again(program, module, scopes.domain());
}

}  // namespace kernlens
