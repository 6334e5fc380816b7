kernel void fault_1(global float *o, global const float *a) {
  int g = get_global_id(0);
  float s = 0;
  for (int i = 0; i < 500; i++) s += a[g + i * 64];
  o[g] = s;
}
kernel void mended_1(global float *o, global const float *a) {
  int g = get_global_id(0);
  float s = 0;
#pragma unroll 8
  for (int i = 0; i < 500; i++) s += a[g + i * 64];
  o[g] = s;
}

kernel void fault_2(global float *o, global const float *a) {
  int g = get_global_id(0);
#pragma unroll
  for (int i = 0; i < 128; i++)
    o[g * 128 + i] = a[g + i * 1000] * 2;
}
kernel void mended_2(global float *o, global const float *a) {
  int g = get_global_id(0);
#pragma unroll 4
  for (int i = 0; i < 128; i++)
    o[g * 128 + i] = a[g + i * 1000] * 2;
}

kernel void fault_3(global int *o, global const int *a) {
  int g = get_global_id(0), s = 0;
#pragma unroll
  for (int i = 0; i < 100; i++) s = max(s, a[g ^ (i * 33)]);
  o[g] = s;
}
kernel void mended_3(global int *o, global const int *a) {
  int g = get_global_id(0), s = 0;
#pragma unroll 4
  for (int i = 0; i < 100; i++) s = max(s, a[g ^ (i * 33)]);
  o[g] = s;
}

// Constant indexes stay constant in a loop.
kernel void fault_4(global float *o, global const float *a) {
  int g = get_global_id(0);
  float s[2] = {0, 0};
#pragma unroll
  for (int i = 0; i < 100; i++) {
    s[0] += a[g + i * 64];
    s[1] += a[g + i * 64 + 9000];
  }
  o[g] = s[0] * s[1];
}
kernel void mended_4(global float *o, global const float *a) {
  int g = get_global_id(0);
  float s[2] = {0, 0};
#pragma unroll 4
  for (int i = 0; i < 100; i++) {
    s[0] += a[g + i * 64];
    s[1] += a[g + i * 64 + 9000];
  }
  o[g] = s[0] * s[1];
}

kernel void alike_1(global float *o, global const float *a) {
  int g = get_global_id(0);
  float s = 0;
  for (int i = 0; i < 16; i++) s += a[g + i * 64];
  o[g] = s;
}
kernel void alike_2(global float *o, global const float *a, int n) {
  int g = get_global_id(0);
  float s = 0;
  for (int i = 0; i < n; i++) s += a[g + i * 64];
  o[g] = s;
}
// Tables of the function itself.
kernel void alike_3(global float *o, global const float *a) {
  int g = get_global_id(0);
  o[g] = pow(a[g], a[g + 9000]) + pow(a[g + 18000], a[g + 27000]) + pow(a[g + 36000], a[g + 45000]) +
         pow(a[g + 54000], a[g + 63000]);
}
// In loops the array would be in memory, as its index would not be constant.
kernel void alike_4(global float *o, global const float *a, int n) {
  int g = get_global_id(0);
  float w[64];
#pragma unroll
  for (int i = 0; i < 64; i++) w[i] = a[g + i * 100];
  for (int k = 0; k < n; k++) {
    float s = 0;
#pragma unroll
    for (int i = 0; i < 64; i++) s += w[i] * a[g + k * 7 + i * 64];
    o[g + k] = s;
  }
}
// It is in memory: here that advice speaks, which recommends constant indexes.
kernel void alike_5(global float *o, global const float *a, int n) {
  int g = get_global_id(0);
  float w[64];
#pragma unroll
  for (int i = 0; i < 64; i++) w[i] = a[g + i * 100];
  for (int k = 0; k < n; k++) {
    float s = 0;
#pragma unroll 8
    for (int i = 0; i < 64; i++) s += w[i] * a[g + k * 7 + i * 64];
    o[g + k] = s;
  }
}
