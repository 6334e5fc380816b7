kernel void fault_1(global float *o, global const float *a, long n) {
  int g = get_global_id(0);
  float s = 0;
  for (long i = 0; i < n; i++) s += a[i * 1000 + g];
  o[g] = s;
}
kernel void mended_1(global float *o, global const float *a, long n) {
  int g = get_global_id(0), m = n;
  float s = 0;
  for (int i = 0; i < m; i++) s += a[i * 1000 + g];
  o[g] = s;
}

kernel void fault_2(global float *o, global const float *a, ulong n) {
  float s = 0;
  for (size_t i = get_global_id(0); i < n; i += 1024) {
    s += a[i];
  }
  o[get_global_id(0)] = s;
}
kernel void mended_2(global float *o, global const float *a, ulong n) {
  float s = 0;
  for (int i = get_global_id(0), m = n; i < m; i += 1024) {
    s += a[i];
  }
  o[get_global_id(0)] = s;
}

kernel void fault_3(global int *o, global const int *a, long n) {
  int g = get_global_id(0), s = 0;
  long i;
  for (i = n; i > 0; i -= 2) s = s * 3 + a[g];
  o[g] = s;
}
kernel void mended_3(global int *o, global const int *a, long n) {
  int g = get_global_id(0), s = 0;
  int i;
  for (i = n; i > 0; i -= 2) s = s * 3 + a[g];
  o[g] = s;
}

kernel void alike_1(global float *o, global const float *a, int n) {
  int g = get_global_id(0);
  float s = 0;
  for (int i = 0; i < n; i++) s += a[i * 1000 + g];
  o[g] = s;
}
kernel void alike_2(global long *o, global const long *a, int n) {
  int g = get_global_id(0);
  long s = 0;
  for (int i = 0; i < n; i++) s += a[i * 1000 + g];
  o[g] = s;
}
// The header counts with another name than the one of 64 bits.
kernel void alike_3(global long *o, global const long *a, int n) {
  int g = get_global_id(0);
  long x = a[g];
  for (int i = 0; i < n; i++)
    x = x * 3 + a[g + i];
  o[g] = x;
}
