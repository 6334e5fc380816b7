kernel void fault_1(global float *o, global const float *a, global const float *c, int n) {
  int g = get_global_id(0);
  float s = 0;
  for (int i = 0; i < n; i++) {
    s += a[g + i] * c[0];
    o[g + i] = s;
  }
}
kernel void mended_1(global float *restrict o, global const float *restrict a, global const float *restrict c, int n) {
  int g = get_global_id(0);
  float s = 0;
  for (int i = 0; i < n; i++) {
    s += a[g + i] * c[0];
    o[g + i] = s;
  }
}

kernel void fault_2(global float *o, global const float *a, int n) {
  int g = get_global_id(0);
  o[g] = 0;
  for (int i = 0; i < n; i++) o[g] += a[g * n + i];
}
kernel void mended_2(global float *o, global const float *a, int n) {
  int g = get_global_id(0);
  float s = 0;
  for (int i = 0; i < n; i++) s += a[g * n + i];
  o[g] = s;
}

kernel void fault_3(global int *o, global const int *w, int n) {
  int g = get_global_id(0);
  for (int i = 0; i < n; i++) o[g * n + i] = w[g] + i * w[g + 1];
}
kernel void mended_3(global int *o, global const int *w, int n) {
  int g = get_global_id(0), first = w[g], step = w[g + 1];
  for (int i = 0; i < n; i++) o[g * n + i] = first + i * step;
}

kernel void alike_1(global float *o, volatile global const float *c, int n) {
  int g = get_global_id(0);
  float s = 0;
  for (int i = 0; i < n; i++) {
    s += c[0];
    o[g + i] = s;
  }
}
// A loop that tries again.
kernel void alike_2(volatile global int *o, global const int *a, int n) {
  int g = get_global_id(0);
  for (int i = 0; i < n; i++) {
    int v = a[g * n + i], old = o[0];
    while (old < v) {
      int was = atomic_cmpxchg(o, old, v);
      if (was == old) break;
      old = was;
    }
  }
}
kernel void alike_3(global float *o, global const float *a, int n) {
  int g = get_global_id(0);
  for (int i = 0; i < n; i++) o[g + i * n] = a[g + i * n] + a[g + i * n + 1];
}
kernel void alike_4(global int *o, global const int *flag, int n) {
  int g = get_global_id(0), s = 0;
  for (int i = 0; i < n; i++) s = s * 3 + flag[g];
  o[g] = s;
}
// Others write between the rounds.
kernel void alike_5(global int *o, global int *turn, int n) {
  int g = get_global_id(0);
  for (int i = 0; i < n; i++) {
    barrier(CLK_GLOBAL_MEM_FENCE);
    o[g * n + i] = turn[0];
    barrier(CLK_GLOBAL_MEM_FENCE);
    if (get_local_id(0) == i) turn[0] = i;
  }
}
