__attribute__((noinline)) float twice(float x, global const float *a) {
  float s = x;
  for (int i = 0; i < (int)x; i++) s += a[i] * s;
  return s;
}
__attribute__((noinline)) int mix_up(int x) {
  for (int i = 0; i < x; i++) x ^= x * 33 + i;
  return x;
}

kernel void fault_1(global float *o, global const float *a) {
  int g = get_global_id(0);
  o[g] = twice(a[g], a);
}
kernel void fault_2(global int *o, global const int *a) {
  int g = get_global_id(0);
  o[g] = mix_up(a[g]);
}
kernel void fault_3(global float *o, global const float *a) {
  int g = get_global_id(0);
  o[g] = twice(a[g], a) + twice(a[g + 9000], a + 3);
}

float twice_inlined(float x, global const float *a) {
  float s = x;
  for (int i = 0; i < (int)x; i++) s += a[i] * s;
  return s;
}
int mix_inlined(int x) {
  for (int i = 0; i < x; i++) x ^= x * 33 + i;
  return x;
}
kernel void mended_1(global float *o, global const float *a) {
  int g = get_global_id(0);
  o[g] = twice_inlined(a[g], a);
}
kernel void mended_2(global int *o, global const int *a) {
  int g = get_global_id(0);
  o[g] = mix_inlined(a[g]);
}
kernel void mended_3(global float *o, global const float *a) {
  int g = get_global_id(0);
  o[g] = twice_inlined(a[g], a) + twice_inlined(a[g + 9000], a + 3);
}
kernel void alike_1(global float *o, global const float *a) {
  int g = get_global_id(0);
  o[g] = sin(a[g]);
}
kernel void alike_2(global float *o, global const float *a) {
  int g = get_global_id(0);
  o[g] = a[g] * 2;
}
kernel void alike_3(global int *o, global const int *a, int n) {
  int g = get_global_id(0), s = 0;
  for (int i = 0; i < n; i++) s += mix_inlined(a[g + i]);
  o[g] = s;
}
