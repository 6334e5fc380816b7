void add(volatile global float *p, float v) {
  union {
    uint bits;
    float value;
  } old, sum;
  do {
    old.value = *p;
    sum.value = old.value + v;
  } while (atomic_cmpxchg((volatile global uint *)p, old.bits, sum.bits) != old.bits);
}

kernel void fault_1(global float *o, global const float *a) { add(o, a[get_global_id(0)]); }
kernel void fault_2(global float *o, global const float *a, global const int *bin) {
  int g = get_global_id(0);
  add(o + bin[g], a[g]);
}
kernel void fault_3(volatile global int *o, global const float *a) {
  int g = get_global_id(0), old = o[0], was;
  while ((was = atomic_cmpxchg(o, old, as_int(as_float(old) + a[g]))) != old) old = was;
}

#if __OPENCL_C_VERSION__ >= 300
#pragma OPENCL EXTENSION cl_ext_float_atomics : enable
float now(volatile global float *p, float v) {
  return atomic_fetch_add_explicit((volatile global atomic_float *)p, v, memory_order_relaxed, memory_scope_device);
}
kernel void mended_1(global float *o, global const float *a) { now(o, a[get_global_id(0)]); }
kernel void mended_2(global float *o, global const float *a, global const int *bin) {
  int g = get_global_id(0);
  now(o + bin[g], a[g]);
}
kernel void mended_3(volatile global int *o, global const float *a) {
  now((volatile global float *)o, a[get_global_id(0)]);
}
#endif

kernel void alike_1(volatile global int *o, global const int *a) {
  int g = get_global_id(0), old = o[0], was;
  while ((was = atomic_cmpxchg(o, old, old * 3 + a[g])) != old) old = was;
}
// A maximum compares floats, and adds none.
kernel void alike_2(volatile global float *o, global const float *a) {
  int g = get_global_id(0), old = as_int(o[0]), was;
  while (as_float(old) < a[g] && (was = atomic_cmpxchg((volatile global int *)o, old, as_int(a[g]))) != old) old = was;
}
// It does not try again.
kernel void alike_3(volatile global int *o, global const float *a) {
  int g = get_global_id(0);
  atomic_cmpxchg(o, 0, as_int(a[g] + 1.0f));
}
// A sum with the error of its additions, in two floats.
kernel void alike_4(global float2 *o, global const float *a) {
  int g = get_global_id(0);
  volatile global uint *p = (volatile global uint *)(o + (g & 7));
  uint old, next;
  do {
    old = *p;
    float x = as_float(old), s = x + a[g], e = s - x, low = (x - (s - e)) + (a[g] - e) + o[g & 7].y;
    next = as_uint(s + low);
  } while (atomic_cmpxchg(p, old, next) != old);
}
