kernel void fault_1(global float *o, global const float *a, ulong w) {
  size_t x = get_global_id(0), y = get_global_id(1);
  o[y * w + x] = a[y * w + x] * 2;
}
kernel void mended_1(global float *o, global const float *a, int w) {
  int x = get_global_id(0), y = get_global_id(1);
  o[y * w + x] = a[y * w + x] * 2;
}

kernel void fault_2(global float *o, global const float *a, long w) {
  size_t x = get_global_id(0);
  o[x] = a[(x + 3) * w] * 2;
}
kernel void mended_2(global float *o, global const float *a, int w) {
  int x = get_global_id(0);
  o[x] = a[(x + 3) * w] * 2;
}

kernel void fault_3(global float *o, global const float *a, long w, long h) {
  long x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
  o[(z * h + y) * w + x] = 1;
}
kernel void mended_3(global float *o, global const float *a, int w, int h) {
  int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
  o[(z * h + y) * w + x] = 1;
}

// Data of 64 bits.
kernel void alike_1(global long *o, global const long *a) {
  int g = get_global_id(0);
  o[g] = a[g] * a[g + 1];
}
// The factor needs more than 32 bits.
kernel void alike_2(global float *o, global const long *b, global const float *a) {
  size_t g = get_global_id(0);
  o[g] = a[b[g] * 12345678901L];
}
kernel void alike_3(global float *o, global const float *a) {
  size_t g = get_global_id(0);
  o[g] = a[g] * 2;
}
