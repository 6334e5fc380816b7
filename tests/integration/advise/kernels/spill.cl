#define COUNT 136

kernel void fault_1(global float *o, global const float *a, int n) {
  int g = get_global_id(0);
  float v[COUNT], s = 0;
  #pragma unroll
  for (int i = 0; i < COUNT; i++) v[i] = a[g * COUNT + i];
  for (int j = 0; j < n; j++) {
    #pragma unroll
    for (int i = 0; i < COUNT; i++) s = s * v[i] + i;
  }
  o[g] = s;
}
// The values are read again where they are used.
kernel void mended_1(global float *o, global const float *a, int n) {
  int g = get_global_id(0);
  float s = 0;
  for (int j = 0; j < n; j++) {
    #pragma unroll 4
    for (int i = 0; i < COUNT; i++) s = s * a[g * COUNT + i] + i;
  }
  o[g] = s;
}

kernel void fault_2(global float *o, global const float *a, int n) {
  int g = get_global_id(0);
  float s[COUNT];
  #pragma unroll
  for (int i = 0; i < COUNT; i++) s[i] = i;
  for (int j = 0; j < n; j++) {
    float x = a[g * n + j];
    #pragma unroll
    for (int i = 0; i < COUNT; i++) s[i] = s[i] * x + i;
  }
  #pragma unroll
  for (int i = 0; i < COUNT; i++) o[g * COUNT + i] = s[i];
}
// One sum at a time.
kernel void mended_2(global float *o, global const float *a, int n) {
  int g = get_global_id(0);
  for (int i = 0; i < COUNT; i++) {
    float s = i;
    for (int j = 0; j < n; j++) s = s * a[g * n + j] + i;
    o[g * COUNT + i] = s;
  }
}

kernel void fault_3(global float *o, global const float *a, int n) {
  int g = get_global_id(0);
  float v[COUNT], s = 0, t = 0;
  #pragma unroll
  for (int i = 0; i < COUNT; i++) v[i] = a[g + i * n];
  #pragma unroll
  for (int i = 0; i < COUNT; i++) s = s * s + v[i];
  #pragma unroll
  for (int i = 0; i < COUNT; i++) t = t * s + v[COUNT - 1 - i];
  o[g] = t;
}
kernel void mended_3(global float *o, global const float *a, int n) {
  int g = get_global_id(0);
  float s = 0, t = 0;
  #pragma unroll 4
  for (int i = 0; i < COUNT; i++) s = s * s + a[g + i * n];
  #pragma unroll 4
  for (int i = 0; i < COUNT; i++) t = t * s + a[g + (COUNT - 1 - i) * n];
  o[g] = t;
}

// As many values, which nobody needs behind the loop before.
kernel void alike_1(global float *o, global const float *a, int n) {
  int g = get_global_id(0);
  float s = 0;
  #pragma unroll 8
  for (int i = 0; i < COUNT; i++) s = s * 0.5f + a[g * COUNT + i];
  for (int j = 0; j < n; j++) s = s * s + j;
  o[g] = s;
}
kernel void alike_2(global float *o, global const float *a) {
  int g = get_global_id(0);
  float v[24], s = 0;
  #pragma unroll
  for (int i = 0; i < 24; i++) v[i] = a[g * 24 + i];
  #pragma unroll
  for (int i = 0; i < 24; i++) s = s * v[i] + v[23 - i];
  o[g] = s;
}
kernel void alike_3(global float *o, global const float *a, local float *t) {
  int g = get_global_id(0), l = get_local_id(0);
  for (int i = 0; i < COUNT; i++) t[l * COUNT + i] = a[g * COUNT + i];
  float s = 0;
  for (int i = 0; i < COUNT; i++) s = s * t[l * COUNT + i] + t[l * COUNT + COUNT - 1 - i];
  o[g] = s;
}
