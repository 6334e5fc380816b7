#include "interpreter.h"

#include <dlfcn.h>

namespace kernlens {

Interpreter interpreter;

namespace {

template <typename Function>
bool look_up(void *library, const char *symbol, Function &function) {
  function = reinterpret_cast<Function>(dlsym(library, symbol));
  return function != nullptr;
}

void *loaded(const char *library) { return dlopen(library, RTLD_LAZY | RTLD_NOLOAD); }

}  // namespace

#define NEED(library, symbol, member) \
  if (!look_up(library, symbol, member)) return symbol

const char *Interpreter::find() {
  void *oclgrind = loaded("liboclgrind-21.10.so");
  void *llvm = loaded("libLLVM-14.so.1");
  if (oclgrind == nullptr) return "liboclgrind-21.10.so";
  if (llvm == nullptr) return "libLLVM-14.so.1";
  NEED(oclgrind, "_ZN8oclgrind7Context14registerPluginEPNS_6PluginE", register_plugin);
  NEED(oclgrind, "_ZN8oclgrind7Context16unregisterPluginEPNS_6PluginE", unregister_plugin);
  NEED(oclgrind, "_ZN8oclgrind12RaceDetectorC1EPKNS_7ContextE", new_race_detector);
  NEED(oclgrind, "_ZNK8oclgrind8WorkItem21getCurrentInstructionEv", current_instruction);
  NEED(oclgrind, "_ZNK8oclgrind8WorkItem10getLocalIDEv", local_id);
  NEED(oclgrind, "_ZNK8oclgrind8WorkItem11getGlobalIDEv", global_id);
  NEED(oclgrind, "_ZNK8oclgrind8WorkItem8getStateEv", state_of);
  NEED(oclgrind, "_ZNK8oclgrind8WorkItem12getWorkGroupEv", group_of);
  NEED(oclgrind, "_ZNK8oclgrind9WorkGroup12getGroupSizeEv", group_size);
  NEED(oclgrind, "_ZNK8oclgrind9WorkGroup10getGroupIDEv", group_id);
  NEED(oclgrind, "_ZNK8oclgrind9WorkGroup11getWorkItemENS_5Size3E", item_of);
  NEED(oclgrind, "_ZNK8oclgrind9WorkGroup17getCurrentBarrierEv", current_barrier);
  NEED(oclgrind, "_ZNK8oclgrind6Memory15getAddressSpaceEv", space_of);
  NEED(oclgrind, "_ZNK8oclgrind16KernelInvocation18getCurrentWorkItemEv", current_item);
  NEED(oclgrind, "_ZNK8oclgrind16KernelInvocation19getCurrentWorkGroupEv", current_group);
  NEED(oclgrind, "_ZNK8oclgrind16KernelInvocation9getKernelEv", kernel_of);
  NEED(oclgrind, "_ZNK8oclgrind16KernelInvocation12getNumGroupsEv", groups_of);
  NEED(oclgrind, "_ZNK8oclgrind16KernelInvocation13getGlobalSizeEv", global_size);
  NEED(oclgrind, "_ZNK8oclgrind16KernelInvocation12getLocalSizeEv", local_size);
  NEED(oclgrind, "_ZNK8oclgrind6Kernel11getFunctionEv", function_of_kernel);
  NEED(oclgrind, "_ZNK8oclgrind6Kernel10getProgramEv", program_of_kernel);
  NEED(oclgrind, "_ZNK8oclgrind7Program15getBuildOptionsB5cxx11Ev", build_options);
  NEED(oclgrind, "_ZNK8oclgrind6Kernel15getNumArgumentsEv", argument_count);
  NEED(oclgrind, "_ZNK8oclgrind6Kernel11getArgumentEj", argument);
  NEED(oclgrind, "_ZNK8oclgrind6Kernel12values_beginEv", contents);
  NEED(oclgrind, "_ZNK8oclgrind6Kernel10values_endEv", contents_end);
  NEED(oclgrind, "_ZN8oclgrind7Program21clearInterpreterCacheEv", forget_code);
  NEED(oclgrind, "_ZN8oclgrind7Program12createKernelENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE", create_kernel);
  NEED(oclgrind, "_ZN8oclgrind6KernelD0Ev", delete_kernel);
  NEED(llvm, "LLVMGetInstructionParent", block_of);
  NEED(llvm, "LLVMGetBasicBlockParent", function_of);
  NEED(llvm, "LLVMGetFirstBasicBlock", first_block);
  NEED(llvm, "LLVMGetNextBasicBlock", next_block);
  NEED(llvm, "LLVMGetFirstInstruction", first_instruction);
  NEED(llvm, "LLVMGetNextInstruction", next_instruction);
  NEED(llvm, "LLVMGetBasicBlockTerminator", last_instruction);
  NEED(llvm, "LLVMGetInstructionOpcode", opcode);
  NEED(llvm, "LLVMGetNumSuccessors", successors);
  NEED(llvm, "LLVMGetSuccessor", successor);
  NEED(llvm, "LLVMGetICmpPredicate", predicate);
  NEED(llvm, "LLVMIsConstant", is_constant);
  NEED(llvm, "LLVMIsAArgument", as_argument);
  NEED(llvm, "LLVMIsAInstruction", as_instruction);
  NEED(llvm, "LLVMIsAConstantExpr", as_expression);
  NEED(llvm, "LLVMIsAGlobalVariable", as_variable);
  NEED(llvm, "LLVMGetNumOperands", operands);
  NEED(llvm, "LLVMGetOperand", operand);
  NEED(llvm, "LLVMGetCalledValue", called);
  NEED(llvm, "LLVMGetValueName2", name);
  NEED(llvm, "LLVMTypeOf", type);
  NEED(llvm, "LLVMGetTypeKind", type_kind);
  NEED(llvm, "LLVMGetPointerAddressSpace", pointer_space);
  NEED(llvm, "LLVMGetElementType", element_type);
  NEED(llvm, "LLVMGetIntTypeWidth", integer_width);
  NEED(llvm, "LLVMGetAllocatedType", allocated_type);
  NEED(llvm, "LLVMGetArrayLength", array_length);
  NEED(llvm, "LLVMGetVectorSize", vector_length);
  NEED(llvm, "LLVMCountStructElementTypes", field_count);
  NEED(llvm, "LLVMStructGetTypeAtIndex", field);
  NEED(llvm, "LLVMGetAlignment", alignment);
  NEED(llvm, "LLVMGetEnumAttributeKindForName", attribute_kind);
  NEED(llvm, "LLVMGetCallSiteEnumAttribute", call_attribute);
  NEED(llvm, "LLVMGetEnumAttributeValue", attribute_value);
  NEED(llvm, "LLVMInstructionGetDebugLoc", location);
  NEED(llvm, "LLVMDILocationGetLine", line);
  NEED(llvm, "LLVMDILocationGetColumn", column);
  NEED(llvm, "LLVMDILocationGetScope", scope);
  NEED(llvm, "LLVMDILocationGetInlinedAt", inlined_at);
  NEED(llvm, "LLVMDIScopeGetFile", file);
  NEED(llvm, "LLVMDIFileGetFilename", file_name);
  NEED(llvm, "LLVMGetMetadata", metadata);
  NEED(llvm, "LLVMGetMDNodeNumOperands", metadata_size);
  NEED(llvm, "LLVMGetMDNodeOperands", operands_of_metadata);
  NEED(llvm, "LLVMValueAsMetadata", as_metadata);
  NEED(llvm, "LLVMGetMetadataKind", kind_of_metadata);
  NEED(llvm, "LLVMGetGlobalParent", module_of);
  NEED(llvm, "LLVMGetModuleContext", context_of);
  NEED(llvm, "LLVMGetFirstFunction", first_function);
  NEED(llvm, "LLVMGetNextFunction", next_function);
  NEED(llvm, "LLVMGetFunctionCallConv", calling_convention);
  NEED(llvm, "LLVMCountParams", parameters);
  NEED(llvm, "LLVMGetFirstUse", first_use);
  NEED(llvm, "LLVMGetEnumAttributeAtIndex", attribute);
  NEED(llvm, "LLVMRemoveEnumAttributeAtIndex", remove_attribute);
  NEED(llvm, "LLVMAddAttributeAtIndex", add_attribute);
  NEED(llvm, "LLVMCreateEnumAttribute", new_attribute);
  NEED(llvm, "LLVMGetVolatile", is_volatile);
  NEED(llvm, "LLVMGetOrdering", ordering);
  NEED(llvm, "LLVMGetMDKindIDInContext", metadata_kind);
  NEED(llvm, "LLVMMDStringInContext2", metadata_text);
  NEED(llvm, "LLVMMDNodeInContext2", metadata_node);
  NEED(llvm, "LLVMMetadataAsValue", metadata_value);
  NEED(llvm, "LLVMSetMetadata", set_metadata);
  NEED(llvm, "LLVMGetNamedMetadata", named_metadata);
  NEED(llvm, "LLVMAddNamedMetadataOperand", name_metadata);
  NEED(llvm, "LLVMCreateBuilderInContext", new_builder);
  NEED(llvm, "LLVMDisposeBuilder", delete_builder);
  NEED(llvm, "LLVMPositionBuilderBefore", build_before);
  NEED(llvm, "LLVMBuildAlloca", build_variable);
  NEED(llvm, "LLVMBuildLoad2", build_load);
  NEED(llvm, "LLVMBuildStore", build_store);
  NEED(llvm, "LLVMBuildGEP2", build_element);
  NEED(llvm, "LLVMBuildInsertElement", build_insert);
  NEED(llvm, "LLVMSetCurrentDebugLocation2", build_at);
  NEED(llvm, "LLVMSetOperand", set_operand);
  NEED(llvm, "LLVMInstructionSetDebugLoc", set_location);
  NEED(llvm, "LLVMInstructionEraseFromParent", erase);
  NEED(llvm, "LLVMSetVolatile", set_volatile);
  NEED(llvm, "LLVMIsAConstantInt", as_integer);
  NEED(llvm, "LLVMConstIntGetZExtValue", integer_value);
  NEED(llvm, "LLVMIntTypeInContext", integer_type);
  NEED(llvm, "LLVMVectorType", vector_type);
  NEED(llvm, "LLVMConstInt", integer);
  NEED(llvm, "LLVMGetUndef", undefined);
  NEED(llvm, "LLVMConstVector", vector_of);
  NEED(llvm, "LLVMBuildBitCast", build_cast);
  NEED(llvm, "LLVMBuildShuffleVector", build_shuffle);
  NEED(llvm, "LLVMGetNextUse", next_use);
  NEED(llvm, "LLVMGetUser", user);
  NEED(llvm, "LLVMReplaceAllUsesWith", replace);
  NEED(llvm, "LLVMCreatePassBuilderOptions", new_pass_options);
  NEED(llvm, "LLVMDisposePassBuilderOptions", delete_pass_options);
  NEED(llvm, "LLVMRunPasses", run_passes);
  NEED(llvm, "LLVMParseCommandLineOptions", parse_options);
  NEED(llvm, "LLVMConsumeError", drop_error);
  return nullptr;
}

}  // namespace kernlens
