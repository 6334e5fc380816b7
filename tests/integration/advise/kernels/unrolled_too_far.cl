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
