kernel void fault_1(global float *o, global const float *a) {
  int g = get_global_id(0);
  o[g] = a[g] * 0.1 + 0.3;
}
kernel void mended_1(global float *o, global const float *a) {
  int g = get_global_id(0);
  o[g] = a[g] * 0.1f + 0.3f;
}

kernel void fault_2(global float *o, global const float *a) {
  int g = get_global_id(0);
  o[g] = a[g] > 0.1 ? 1.0f : a[g];
}
kernel void mended_2(global float *o, global const float *a) {
  int g = get_global_id(0);
  o[g] = a[g] > 0.1f ? 1.0f : a[g];
}

#define GAMMA 1.0 / 2.2
kernel void fault_3(global float *o, global const float *a) {
  int g = get_global_id(0);
  float x = a[g];
  x = x + x * (GAMMA);
  o[g] = x;
}
kernel void mended_3(global float *o, global const float *a) {
  int g = get_global_id(0);
  float x = a[g];
  x = x + x * (1.0f / 2.2f);
  o[g] = x;
}

// Folded to floats.
kernel void alike_1(global float *o, global const float *a) {
  int g = get_global_id(0);
  if (a[g] > 0.5) o[g] = 1.0 / a[g];
}
kernel void alike_2(global float *o, global const float *a) {
  int g = get_global_id(0);
  o[g] = a[g] * 0.1f + (float)0.3;
}
kernel void alike_3(global float *o, global const long *a, long n) {
  int g = get_global_id(0);
  o[g] = a[g] / n;
}
