kernel void fault_1(global float *o, local float *t) {
  int l = get_local_id(0);
  t[l] = o[l];
  barrier(CLK_LOCAL_MEM_FENCE);
  o[l] = t[l ^ 1];
  barrier(CLK_GLOBAL_MEM_FENCE);
}
kernel void mended_1(global float *o, local float *t) {
  int l = get_local_id(0);
  t[l] = o[l];
  barrier(CLK_LOCAL_MEM_FENCE);
  o[l] = t[l ^ 1];
}

kernel void fault_2(global float *o, local float *t, int n) {
  int l = get_local_id(0);
  float x = l * 0.5f;
  barrier(CLK_LOCAL_MEM_FENCE);
  t[l] = x + n;
  barrier(CLK_LOCAL_MEM_FENCE);
  o[l] = t[l ^ 1];
}
kernel void mended_2(global float *o, local float *t, int n) {
  int l = get_local_id(0);
  float x = l * 0.5f;
  t[l] = x + n;
  barrier(CLK_LOCAL_MEM_FENCE);
  o[l] = t[l ^ 1];
}

kernel void fault_3(global float *o, local float *t, int n) {
  int l = get_local_id(0);
  float s = 0;
  for (int i = 0; i < n; i++) {
    t[l] = o[l + i];
    barrier(CLK_LOCAL_MEM_FENCE);
    s += t[l ^ 1];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (s > 0) o[l] = s;
  barrier(CLK_LOCAL_MEM_FENCE);
}
kernel void mended_3(global float *o, local float *t, int n) {
  int l = get_local_id(0);
  float s = 0;
  for (int i = 0; i < n; i++) {
    t[l] = o[l + i];
    barrier(CLK_LOCAL_MEM_FENCE);
    s += t[l ^ 1];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (s > 0) o[l] = s;
}

kernel void alike_1(global float *o, local float *t, int n) {
  int l = get_local_id(0);
  for (int i = 0; i < n; i++) {
    barrier(CLK_LOCAL_MEM_FENCE);
    t[l] = o[l + i];
    barrier(CLK_LOCAL_MEM_FENCE);
    o[l] = t[l ^ 1];
  }
}
kernel void alike_2(global float *o, local float *t, int n) {
  int l = get_local_id(0);
  t[l] = o[l];
  barrier(CLK_LOCAL_MEM_FENCE);
  if (n > 3) o[l] = t[l ^ 1];
}
kernel void alike_3(global int *o, int n) {
  int l = get_local_id(0);
  if (l == 0) atomic_add(o, n);
  barrier(CLK_GLOBAL_MEM_FENCE);
  if (l == 1) atomic_add(o + 1, n);
}
kernel void alike_4(global float *o, local float *t) {
  int l = get_local_id(0);
  float x = o[l];
  barrier(CLK_GLOBAL_MEM_FENCE);
  o[l ^ 1] = x;
}

// It orders local memory alone, and what follows is the store of a result.
kernel void fault_4(global float *o, global const float *a, local float *t) {
  int l = get_local_id(0);
  t[l] = a[l];
  barrier(CLK_LOCAL_MEM_FENCE);
  float x = t[l ^ 1];
  barrier(CLK_LOCAL_MEM_FENCE);
  o[l] = x;
}
kernel void mended_4(global float *o, global const float *a, local float *t) {
  int l = get_local_id(0);
  t[l] = a[l];
  barrier(CLK_LOCAL_MEM_FENCE);
  o[l] = t[l ^ 1];
}
// The author may mean the buffer, which the wrong flag orders on many GPUs.
kernel void alike_5(global float *o, local float *t) {
  int l = get_local_id(0);
  t[l] = o[l];
  barrier(CLK_LOCAL_MEM_FENCE);
  float x = t[l ^ 1] + o[l ^ 1];
  barrier(CLK_LOCAL_MEM_FENCE);
  o[l] = x;
}
