// Kernels for advice that would change what they compute.
kernel void chain(global int *o, global const int *a, int n) {
  int g = get_global_id(0);
  o[g] = a[g] / n / a[g + 9000];
}
kernel void product(global int *o, global const int *a, int n) {
  int g = get_global_id(0);
  o[g] = a[g] * a[g + 9000] / n + (a[g + 18000] - -a[g + 27000] % n);
}
kernel void power_of_an_integer(global float *o, global const int *a) {
  int g = get_global_id(0), i = a[g];
  o[g] = pow(i, -1.0f);
}
kernel void power_of_a_float(global float *o, global const float *a) {
  int g = get_global_id(0);
  float x = a[g];
  o[g] = pow(x, -1.0f) + pow(x + 1, 0.5f);
}

kernel void unrolled_as_asked(global float *o, global const float *a) {
  int g = get_global_id(0);
  float s = 0;
#pragma unroll 8 // as much as advice would ask for

  for (int i = 0; i < 480; i++)
#pragma unroll
    for (int j = 0; j < 8; j++) s += a[g + i * 64 + j * 7000];
  o[g] = s;
}
kernel void unrolled_by_an_attribute(global float *o, global const float *a) {
  int g = get_global_id(0);
  float s = 0;
  __attribute__((opencl_unroll_hint(96))) for (int i = 0; i < 96; i++) s += a[g + i * 64];
  o[g] = s;
}

kernel void of_constant(global float *o, global const float *a, constant float *c, int n) {
  int g = get_global_id(0);
  float s = 0;
  for (int i = 0; i < n; i++) {
    if (a[g + i] > 0) {
      s += a[g + i] * c[g];
      o[g + i] = s;
    }
  }
}
kernel void of_restrict(global float *o, global const float *a, global const float *__restrict c, int n) {
  int g = get_global_id(0);
  float s = 0;
  for (int i = 0; i < n; i++) {
    if (a[g + i] > 0) {
      s += a[g + i] * c[g];
      o[g + i] = s;
    }
  }
}
kernel void of_plain(global float *o, global const float *a, global const float *c, int n) {
  int g = get_global_id(0);
  float s = 0;
  for (int i = 0; i < n; i++) {
    if (a[g + i] > 0) {
      s += a[g + i] * c[g];
      o[g + i] = s;
    }
  }
}

// The barrier of `swap` is needed where no other stands before its call.
float swapped(local float *t, int l, float v) {
  barrier(CLK_LOCAL_MEM_FENCE);
  float w = t[l ^ 1];
  barrier(CLK_LOCAL_MEM_FENCE);
  t[l] = v + w;
  return w;
}
kernel void barrier_of_a_function(global float *o, local float *t) {
  int l = get_local_id(0);
  t[l] = o[l];
  barrier(CLK_LOCAL_MEM_FENCE);
  o[l] = swapped(t, l, 2);
}
kernel void barrier_of_other_memory(global float *o, local float *t) {
  int l = get_local_id(0);
  t[l] = o[l];
  o[l + 64] = 3;
  barrier(CLK_LOCAL_MEM_FENCE);
  barrier(CLK_GLOBAL_MEM_FENCE);
  o[l] = t[l ^ 1] + o[l ^ 65];
}

kernel void sum_and_maximum(global int *o, global const int *a, int n) {
  int g = get_global_id(0);
  for (int i = 0; i < n; i++) {
    atomic_add(o, a[g * n + i]);
    atomic_max(o, i);
  }
}

__attribute__((noinline)) float twice(float x) { return x * x + 2; }
float other(float x) { return x * x * x + 2; }
kernel void calls(global float *o) {
  int g = get_global_id(0);
  o[g] = twice(o[g]);
}
