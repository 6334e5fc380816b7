"""Modules that give to and take from each other in every way that drivers were seen to treat differently."""

from __future__ import annotations

TEXTS = {
    "exporter": """\
global int counter = 5;
int helper(int x) { return x * 3 + 1; }
kernel void exporting(global int *out) { out[0] = helper(1) + counter; }
""",
    "importer": """\
int helper(int x);
kernel void importing(global int *out) { out[0] = helper(out[1]); }
kernel void importing_too(global int *out) { out[0] = helper(helper(out[2])); }
""",
    "other_exporter": "int helper(int x) { return x - 1; }\n",
    "mistyped": "float helper(float x) { return x * 0.5f; }\n",
    "variable": """\
extern global int counter;
kernel void reading(global int *out) { out[0] = counter; }
""",
    "initialiser": """\
extern global int counter;
global int *global pointer = &counter;
kernel void following(global int *out) { out[0] = *pointer; }
""",
    "first_of_circle": """\
int pong(int x);
int ping(int x) { return x > 9 ? x : pong(x + 1); }
kernel void serving(global int *out) { out[0] = ping(0); }
""",
    "second_of_circle": "int ping(int x);\nint pong(int x) { return ping(x + 2); }\n",
    "chain1": """\
int link2(int x);
kernel void starting(global int *out) { out[0] = link2(out[1]); }
""",
    "chain2": "int link3(int x);\nint link2(int x) { return link3(x) + 1; }\n",
    "chain3": "int link3(int x) { return x + 1; }\n",
    "plain": "kernel void alone(global int *out) { out[0] = 1; }\n",
    "pointers": """\
#pragma OPENCL EXTENSION __cl_clang_function_pointers : enable
int twice(int x) { return 2 * x; }
int thrice(int x) { return 3 * x; }
kernel void choosing(global int *out) { int (*chosen)(int) = out[0] ? twice : thrice; out[1] = chosen(out[2]); }
""",
    "uses_compiler": """\
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
__attribute__((overloadable)) int8 intel_sub_group_i8_i8_matrix_mad_k32(int8, int8, int8);
__attribute__((overloadable)) uint intel_get_eu_id(void);
int __builtin_IB_nonexistent(int);
kernel void multiplying(global int8 *out)
{
    out[0] = intel_sub_group_i8_i8_matrix_mad_k32(out[1], out[2], out[3]) + (int)intel_get_eu_id();
    out[4] = __builtin_IB_nonexistent(out[5].x);
}
""",
    "uses_newer_compiler": """\
void __devicelib_exit(void);
__attribute__((overloadable)) uint intel_lfsr(uint, uint);
kernel void ending(global uint *out) { if (out[0]) __devicelib_exit(); out[1] = intel_lfsr(out[2], out[3]); }
""",
    "uses_nobody": """\
__attribute__((overloadable)) int intel_sub_group_nonexist(int);
void __itt_offload_wi_finish_stub(global ulong *group, ulong item);
kernel void asking(global int *out) { __itt_offload_wi_finish_stub(0, 1); out[0] = intel_sub_group_nonexist(out[1]); }
""",
    "unused_import": "int gone(int x);\nint waste(int x) { return gone(x); }\nint helper(int x) { return x; }\n",
    "unused_pointer": """\
extern global int counter;
global int *global pointer = &counter;
kernel void idle(global int *out) {}
""",
    "switched_off": """\
int gone(int x);
constant int debug = 0;
static int wanted(void) { return 0; }
static int trace(int x, int deep) { return deep ? gone(x) : x; }
kernel void tracing(global int *out)
{
    int never = 0, unread = 5;
    if (never) out[0] = gone(1);
    if (wanted()) out[1] = gone(2);
    out[2] = trace(out[3], 0);
    switch (never) { case 3: out[4] = gone(3); break; case 4: out[5] = 1; }
}
""",
    "unread": "extern global int gone;\nkernel void ignoring(global int *out) { int unread = gone; out[0] = 1; }\n",
    "switched_on": """\
int gone(int x);
kernel void calling(global int *out, int count)
{
    int never = 0;
    if (never) out[1] = 2;
    if (out[3]) never = count;
    if (never || get_global_id(0) < count) out[0] = gone(1);
    for (int i = 0; i < count; i++) out[i] = i;
}
""",
    "items": """\
int item(int x) { return x + (int)get_global_id(0); }
kernel void asking(global int *out) { out[0] = item(1); }
""",
    "char_pointer": """\
int read(global char *from);
kernel void reader(global char *from, global int *out) { out[0] = read(from); }
""",
    "int_pointer": "int read(global int *from) { return *from; }\n",
    "pointed": """\
int twice(int x);
kernel void using(global int *out) { out[0] = twice(out[1]); }
""",
}
