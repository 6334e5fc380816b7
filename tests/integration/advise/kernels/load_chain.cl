kernel void fault_1(global int *o, global const int *next, int n) {
  int g = get_global_id(0), at = g;
  for (int i = 0; i < n; i++) at = next[at];
  o[g] = at;
}
kernel void mended_1(global int *o, global const int *last, int n) {
  int g = get_global_id(0);
  o[g] = last[g + n];
}

typedef struct {
  int next;
  float value;
} node;
kernel void fault_2(global float *o, global const node *nodes) {
  int g = get_global_id(0), at = g;
  float s = 0;
  while (at >= 0) {
    s += nodes[at].value;
    at = nodes[at].next;
  }
  o[g] = s;
}
kernel void mended_2(global float *o, global const float *values, global const int *begin) {
  int g = get_global_id(0);
  float s = 0;
  for (int i = begin[g]; i < begin[g + 1]; i++) s += values[i];
  o[g] = s;
}

kernel void fault_3(global int *o, global const int *parent, local int *t, int n) {
  int l = get_local_id(0), at = l;
  t[l] = parent[l];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = 0; i < n; i++) at = t[at] & 63;
  o[get_global_id(0)] = at;
}
kernel void mended_3(global int *o, global const int *parent, local int *t, int n) {
  int l = get_local_id(0);
  t[l] = parent[l + n];
  barrier(CLK_LOCAL_MEM_FENCE);
  o[get_global_id(0)] = t[l ^ 1];
}

// Two loads, one behind the other, and none of the round before.
kernel void alike_1(global float *o, global const float *a, global const int *index, int n) {
  int g = get_global_id(0);
  float s = 0;
  for (int i = 0; i < n; i++) s += a[index[i * 1000 + g]];
  o[g] = s;
}
kernel void alike_2(global float *o, global const float *a, int n) {
  int g = get_global_id(0);
  uint at = g;
  float s = 0;
  for (int i = 0; i < n; i++) {
    at = at * 1664525u + 1013904223u;
    s += a[at & 1023];
  }
  o[g] = s;
}
kernel void alike_3(global float *o, global const float *a, int n) {
  int g = get_global_id(0);
  float s = 1;
  for (int i = 0; i < n; i++) s = s * a[i * 1000 + g];
  o[g] = s;
}
