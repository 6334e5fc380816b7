kernel void fault_1(global float *o, global const float *a, local float *t) {
  int l = get_local_id(0);
  t[l] = a[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int s = get_local_size(0) / 2; s > 0; s >>= 1) {
    if (l < s) t[l] += t[l + s];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (l == 0) o[get_group_id(0)] = t[0];
}
kernel void mended_1(global float *o, global const float *a, local float *t) {
  int l = get_local_id(0);
  t[l] = a[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  float s = 0;
  if (l == 0) {
    for (int i = 0; i < get_local_size(0); i++) s += t[i];
    o[get_group_id(0)] = s;
  }
}

kernel void fault_2(global int *o, global const int *a, local int *most, int n) {
  int l = get_local_id(0);
  most[l] = a[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int s = n; s > 0; s = s / 2) {
    if (l < s) most[l] = max(most[l], most[l + s]);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (l == 0) o[get_group_id(0)] = most[0];
}
kernel void mended_2(global int *o, global const int *a) { atomic_max(o + get_group_id(0), a[get_global_id(0)]); }

kernel void fault_3(global uint *o, global const uint *a, local uint *t, uint n) {
  uint l = get_local_id(0);
  t[l] = a[get_global_id(0)];
  for (uint s = 1; s < n; s *= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    uint k = 2 * s * l;
    if (k + s < n) t[k] = t[k] + t[k + s];
  }
  if (l == 0) o[get_group_id(0)] = t[0];
}
kernel void mended_3(global uint *o, global const uint *a) { atomic_add(o + get_group_id(0), a[get_global_id(0)]); }

// It sorts.
kernel void alike_1(global int *o, global const int *a, local int *t, int n) {
  int l = get_local_id(0);
  t[l] = a[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int s = n; s > 0; s >>= 1) {
    int other = t[l ^ s], mine = t[l];
    barrier(CLK_LOCAL_MEM_FENCE);
    t[l] = (l & s) ? max(mine, other) : min(mine, other);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  o[get_global_id(0)] = t[l];
}
// It smooths.
kernel void alike_2(global float *o, global const float *a, local float *t, int n) {
  int l = get_local_id(0);
  t[l] = a[get_global_id(0)];
  for (int i = 0; i < n; i++) {
    barrier(CLK_LOCAL_MEM_FENCE);
    float x = t[l] + t[l ^ 1];
    barrier(CLK_LOCAL_MEM_FENCE);
    t[l] = x;
  }
  o[get_global_id(0)] = t[l];
}
// Each item puts its own numbers together, in global memory and without a barrier.
kernel void alike_3(global float *t, int n) {
  int l = get_global_id(0) * 1024;
  for (int s = n; s > 0; s >>= 1)
    for (int k = 0; k < s; k++) t[l] += t[l + s];
}
// A tree for each row of a group.
kernel void alike_4(global float *o, global const float *a, local float *t, int n) {
  int l = get_local_id(0), k = l % n;
  t[l] = a[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int s = n / 2; s > 0; s >>= 1) {
    if (k < s) t[l] += t[l + s];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (k == 0) o[get_global_id(0) / n] = t[l];
}
