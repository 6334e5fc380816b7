kernel void fault_1(global int *o, global const int *a, int n) {
  int g = get_global_id(0);
  o[g] = a[g] / n;
}
kernel void mended_1(global int *o, global const int *a, int n) {
  int g = get_global_id(0);
  o[g] = a[g] >> n;
}

kernel void fault_2(global float *o, global const float *a, int w) {
  int g = get_global_id(0);
  o[g] = a[g / w] + a[g % w];
}
kernel void mended_2(global float *o, global const float *a, int w) {
  int x = get_global_id(0), y = get_global_id(1);
  o[y * w + x] = a[y] + a[x];
}

#define ROW(g, w) ((g) / (w))
kernel void fault_3(global uint *o, global const uint *a, uint w) {
  uint g = get_global_id(0);
  uint v = a[g];
  v %= a[g + 1];
  o[g] = v + ROW(a[g + 2], w);
}
kernel void mended_3(global uint *o, global const uint *a, uint w) {
  uint g = get_global_id(0);
  uint v = a[g];
  v &= a[g + 1];
  o[g] = v + (a[g + 2] >> w);
}

kernel void fault_4(global int *o, global const int *a) {
  int g = get_global_id(0);
  o[g] = a[g] / a[g + 9000];
}
kernel void mended_4(global int *o, global const int *a) {
  int g = get_global_id(0);
  o[g] = a[g] / 100;
}

// Once for a hardware thread.
kernel void alike_1(global int *o, global const int *a, int m, int n) {
  int g = get_global_id(0);
  o[g] = a[g] + m / n;
}
// By constants.
kernel void alike_2(global int *o, global const int *a) {
  int g = get_global_id(0);
  o[g] = a[g] / 7 + a[g + 9000] % 8 + a[g + 18000] / 16;
}
// Of floats, converted before and after.
kernel void alike_3(global int *o, global const int *a, float n) {
  int g = get_global_id(0);
  float x = a[g];
  o[g] = (int)(x / a[g + 9000]) + (int)((float)a[g + 18000] / n);
}
kernel void alike_4(global float *o, global const float *a) {
  int g = get_global_id(0);
  o[g] = a[g] / a[g + 9000] + fmod(a[g], 3.0f);
}
