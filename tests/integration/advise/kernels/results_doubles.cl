// Kernels on doubles, for which there are no native functions.
typedef double real;
#define REAL double
kernel void slow(global double *o, global const double *a) {
  int g = get_global_id(0);
  o[g] = exp(a[g]) + sin(a[g + 9000]) + pow(a[g + 18000], a[g + 27000]) + log(a[g + 36000]) + tan(a[g + 45000]);
}
kernel void slow_too(global double *o, global const double *a) {
  int g = get_global_id(0);
  o[g] = fmod(a[g], a[g + 9000]) + cbrt(a[g + 18000]) + length((double3)(a[g], a[g + 1], a[g + 2])) +
         expm1(a[g + 27000]) + log10(a[g + 36000]);
}
kernel void constant_made_double(global float *o, global const float *a) {
  int g = get_global_id(0);
  o[g] = exp(a[g] * 0.3);
}
kernel void by_a_type(global real *o, global const float *a, real s) {
  int g = get_global_id(0);
  REAL t = s;
  o[g] = a[g] * 0.1 + s;
  o[g + 1] = a[g + 9000] * 0.3 + t;
}
kernel void too_small_for_a_float(global float *o, global const float *a) {
  int g = get_global_id(0);
  o[g] = a[g] * 1e-50;
}
#define RATIO 1.1 / M_PI
kernel void of_two_constants(global float *f32, global const float *f) {
  int g = get_global_id(0);
  float x = f[g];
  f32[g] = x + x * (RATIO);
}
kernel void powers(global double *o, global const float *a) {
  int g = get_global_id(0);
  o[g] = pow((double)a[g], 2.0) + pow(a[g] * 0.3, -2.0);
}
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
kernel void exchange(volatile global long *o, global const double *a) {
  int g = get_global_id(0);
  long old = o[0], was;
  while ((was = atom_cmpxchg(o, old, as_long(as_double(old) + a[g]))) != old) old = was;
}
