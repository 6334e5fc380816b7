kernel void fault_1(global float *o, local float *t) {
  int l = get_local_id(0);
  t[l] = o[l];
  barrier(CLK_LOCAL_MEM_FENCE);
  barrier(CLK_LOCAL_MEM_FENCE);
  o[l] = t[l ^ 1];
}
kernel void mended_1(global float *o, local float *t) {
  int l = get_local_id(0);
  t[l] = o[l];
  barrier(CLK_LOCAL_MEM_FENCE);
  o[l] = t[l ^ 1];
}

void settle() { barrier(CLK_LOCAL_MEM_FENCE); }
kernel void fault_2(global float *o, local float *t, int n) {
  int l = get_local_id(0);
  t[l] = o[l];
  for (int i = 0; i < n; i++) {
    barrier(CLK_LOCAL_MEM_FENCE);
    float v = t[(l + i) & 63];
    settle();
    barrier(CLK_LOCAL_MEM_FENCE);
    t[l] = v + 1;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  o[l] = t[l ^ 1];
}
kernel void mended_2(global float *o, local float *t, int n) {
  int l = get_local_id(0);
  t[l] = o[l];
  for (int i = 0; i < n; i++) {
    barrier(CLK_LOCAL_MEM_FENCE);
    float v = t[(l + i) & 63];
    settle();
    t[l] = v + 1;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  o[l] = t[l ^ 1];
}

kernel void fault_3(global float *o, local float *t, float k) {
  int l = get_local_id(0);
  t[l] = o[l];
  barrier(CLK_LOCAL_MEM_FENCE);
  k = k * l + 1;
  barrier(CLK_LOCAL_MEM_FENCE);
  o[l] = t[l ^ 1] * k;
}
kernel void mended_3(global float *o, local float *t, float k) {
  int l = get_local_id(0);
  t[l] = o[l];
  k = k * l + 1;
  barrier(CLK_LOCAL_MEM_FENCE);
  o[l] = t[l ^ 1] * k;
}

kernel void alike_1(global float *o, local float *t) {
  int l = get_local_id(0);
  t[l] = o[l];
  barrier(CLK_LOCAL_MEM_FENCE);
  float v = t[l ^ 1];
  barrier(CLK_LOCAL_MEM_FENCE);
  t[l] = v * 2;
  barrier(CLK_LOCAL_MEM_FENCE);
  o[l] = t[l ^ 2];
}
kernel void alike_2(global float *o, local float *t, int n) {
  int l = get_local_id(0);
  t[l] = o[l];
  for (int s = n; s > 0; s >>= 1) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l < s) t[l] += t[l + s];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  o[l] = t[0];
}
kernel void alike_3(global float *o, global float *a, int n) {
  int l = get_local_id(0);
  a[l] = o[l];
  barrier(CLK_GLOBAL_MEM_FENCE);
  if (n > 3) a[l] = a[l ^ 1];
  barrier(CLK_GLOBAL_MEM_FENCE);
  o[l] = a[l ^ 2];
}
