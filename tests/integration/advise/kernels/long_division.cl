kernel void fault_1(global long *o, global const long *a) {
  int g = get_global_id(0);
  o[g] = a[g] / 7;
}
kernel void mended_1(global int *o, global const int *a) {
  int g = get_global_id(0);
  o[g] = a[g] / 7;
}

kernel void fault_2(global long *o, global const long *a, long n) {
  int g = get_global_id(0);
  o[g] = a[g] % n;
}
kernel void mended_2(global int *o, global const int *a, int n) {
  int g = get_global_id(0);
  o[g] = a[g] % n;
}

kernel void fault_3(global ulong *o, global const ulong *a, global const ulong *b) {
  int g = get_global_id(0);
  o[g] = a[g] / b[g] + a[g + 9000] % 10;
}
kernel void mended_3(global uint *o, global const uint *a, global const uint *b) {
  int g = get_global_id(0);
  o[g] = a[g] / b[g] + a[g + 9000] % 10;
}

kernel void alike_1(global int *o, global const int *a) {
  int g = get_global_id(0);
  o[g] = a[g] / 7 + a[g + 9000] % 1000;
}
kernel void alike_2(global long *o, global const long *a) {
  int g = get_global_id(0);
  o[g] = a[g] / 8 + (a[g + 9000] & 7);
}
// Once for a hardware thread.
kernel void alike_3(global long *o, global const long *a, long m) {
  int g = get_global_id(0);
  o[g] = a[g] + m / 7;
}
