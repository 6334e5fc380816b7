// What clang writes without optimisation, with those passes that every GPU compiler does.
//
// Unoptimised code keeps variables in memory and counts what every compiler drops; Oclgrind's own level (-Oz) splits vector
// accesses and moves stores. Between them: functions inlined, variables in registers (sroa), equal values once (early-cse, GVN),
// what a loop does not change before it (LICM), loops that test at their end (loop-rotate). What a round of a loop stored, the
// next one does not load again: the first value is loaded before the loop (GVN with PRE). Short branches are choices
// (simplifycfg). Compilers of GPUs know that global and local memory do not overlap; LLVM is told by scopes (alias.scope) on
// each access.
#include "preparing.h"

#include <cstring>

namespace kernlens {

namespace {

constexpr char PASSES[] = "always-inline,function(sroa,early-cse<memssa>,loop-mssa(loop-rotate,licm),gvn<pre;load-pre>,simplifycfg)";
constexpr char MARK[] = "kernlens.prepared";
constexpr unsigned OF_FUNCTION = ~0u, KERNEL = 76;  // an index of attributes, and a calling convention
constexpr unsigned SPACE_GLOBAL = 1, SPACE_LOCAL = 3;

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

// Oclgrind keeps what it knows of the code of each kernel, from when a kernel was made of it.
void have_read_again(Opaque *program, Module *module) {
  interpreter.forget_code(program);
  for (Value *each = interpreter.first_function(module); each; each = interpreter.next_function(each)) {
    if (interpreter.calling_convention(each) != KERNEL || !interpreter.first_block(each)) continue;
    size_t length = 0;
    const char *name = interpreter.name(each, &length);
    if (Opaque *kernel = interpreter.create_kernel(program, std::string(name, length))) interpreter.delete_kernel(kernel);
  }
}

}  // namespace

void prepare(const Opaque *kernel) {
  Module *module = interpreter.module_of(interpreter.function_of_kernel(kernel));
  if (interpreter.named_metadata(module, MARK, strlen(MARK))) return;
  Opaque *context = interpreter.context_of(module);
  Scopes scopes(context);
  interpreter.name_metadata(module, MARK, scopes.domain());
  for (Value *function = interpreter.first_function(module); function; function = interpreter.next_function(function)) {
    let_inline(context, function);
    for (const Code *code = interpreter.first_block(function); code; code = interpreter.next_block(code))
      for (const Value *each = interpreter.first_instruction(code); each; each = interpreter.next_instruction(each))
        scopes.put(each);
  }
  Opaque *options = interpreter.new_pass_options();
  if (Opaque *error = interpreter.run_passes(module, PASSES, nullptr, options)) interpreter.drop_error(error);
  interpreter.delete_pass_options(options);
  have_read_again(interpreter.program_of_kernel(kernel), module);
}

}  // namespace kernlens
