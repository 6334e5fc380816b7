// Kernels for the rule of the same name: fault_N has the fault, mended_N follows the advice, alike_N looks alike.
#define WAVE(x) (0.5f * sin(x))

float curve(float x) { return pow(x, 0.4f) + 1.0f; }

kernel void fault_1(global float *o, global const float *a) {
  int g = get_global_id(0);
  o[g] = sin(a[g]) * 2;
}
kernel void mended_1(global float *o, global const float *a) {
  int g = get_global_id(0);
  o[g] = native_sin(a[g]) * 2;
}

kernel void fault_2(global float *o, global const float *a) {
  int g = get_global_id(0);
  o[g] = curve(a[g]) + curve(a[g + 9000]);
}
kernel void mended_2(global float *o, global const float *a) {
  int g = get_global_id(0);
  o[g] = native_powr(a[g], 0.4f) + 1.0f + native_powr(a[g + 9000], 0.4f) + 1.0f;
}

kernel void fault_3(global float *o, global const float *a) {
  int g = get_global_id(0);
  o[g] = WAVE(a[g]) + length((float3)(a[g], a[g + 9000], a[g + 18000]));
}
kernel void mended_3(global float *o, global const float *a) {
  int g = get_global_id(0);
  o[g] = 0.5f * native_sin(a[g]) + fast_length((float3)(a[g], a[g + 9000], a[g + 18000]));
}

kernel void fault_4(global float *o, global const float *a) {
  int g = get_global_id(0);
  o[g] = hypot(a[g], a[g + 9000]) + cbrt(a[g + 18000]) +
         log1p(a[g + 27000]);
}
kernel void mended_4(global float *o, global const float *a) {
  int g = get_global_id(0);
  o[g] = fast_length((float2)(a[g], a[g + 9000])) + native_powr(a[g + 18000], 1.0f / 3) +
         native_log(1 + a[g + 27000]);
}

// The compiler folds it.
kernel void alike_1(global float *o, global const float *a) {
  int g = get_global_id(0);
  o[g] = sin(0.3f) * a[g];
}
// They are one instruction each.
kernel void alike_2(global float *o, global const float *a) {
  int g = get_global_id(0);
  o[g] = sqrt(a[g]) + exp2(a[g + 9000]) + rsqrt(a[g + 18000]) + half_exp(a[g + 27000]) + native_cos(a[g + 36000]);
}
// Division of floats is rounded correctly, in 10 to 17 instructions.
kernel void alike_3(global float *o, global const float *a) {
  int g = get_global_id(0);
  o[g] = a[g] / a[g + 9000];
}
// A function of the kernel's own with the name of none.
float sine(float x) { return x - x * x * x / 6 + x * x * x * x * x / 120; }
kernel void alike_4(global float *o, global const float *a) {
  int g = get_global_id(0);
  o[g] = sine(a[g]) + a[g] * a[g] /* sin */;
}
// A variable with the name of a function.
kernel void alike_5(global float *o, global const float *length) {
  int g = get_global_id(0);
  float s = 0;
  for (int i = 0; i < 16; i++) s += length[g + i * 64];
  o[g] = s;
}
