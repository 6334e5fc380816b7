kernel void fault_1(global float *o, global const float *a) {
  int g = get_global_id(0);
  o[g] = half_sin(a[g]);
}
kernel void mended_1(global float *o, global const float *a) {
  int g = get_global_id(0);
  o[g] = native_sin(a[g]);
}

kernel void fault_2(global float *o, global const float *a) {
  int g = get_global_id(0);
  o[g] = half_cos(a[g]) + half_tan(a[g + 9000]);
}
kernel void mended_2(global float *o, global const float *a) {
  int g = get_global_id(0);
  o[g] = native_cos(a[g]) + native_tan(a[g + 9000]);
}

#define POWER(x, y) half_powr(x, y)
kernel void fault_3(global float *o, global const float *a) {
  int g = get_global_id(0);
  o[g] = POWER(a[g], a[g + 9000]);
}
kernel void mended_3(global float *o, global const float *a) {
  int g = get_global_id(0);
  o[g] = native_powr(a[g], a[g + 9000]);
}

// These are native here.
kernel void alike_1(global float *o, global const float *a) {
  int g = get_global_id(0);
  o[g] = half_exp(a[g]) + half_log(a[g + 9000]) + half_sqrt(a[g + 18000]);
}
kernel void alike_2(global float *o, global const float *a) {
  int g = get_global_id(0);
  o[g] = half_recip(a[g]) + half_rsqrt(a[g + 9000]) + half_log2(a[g + 18000]);
}
// A division of floats.
kernel void alike_3(global float *o, global const float *a) {
  int g = get_global_id(0);
  o[g] = half_divide(a[g], a[g + 9000]);
}
