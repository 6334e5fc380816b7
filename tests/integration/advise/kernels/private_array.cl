kernel void fault_1(global float *o, global const int *a) {
  int g = get_global_id(0);
  float t[64];
  for (int i = 0; i < 64; i++) t[i] = o[g * 64 + i] * i;
  o[g] = t[a[g] & 63] + t[a[g + 1] & 63];
}
// The buffer is read instead of a copy.
kernel void mended_1(global float *o, global const int *a) {
  int g = get_global_id(0);
  int i = a[g] & 63, j = a[g + 1] & 63;
  o[g] = o[g * 64 + i] * i + o[g * 64 + j] * j;
}

kernel void fault_2(global int *o, global const uchar *a, int n) {
  int h[64];
  int g = get_global_id(0);
  for (int i = 0; i < 64; i++) h[i] = 0;
  for (int i = 0; i < n; i++) h[a[g * n + i] & 63]++;
  for (int i = 0; i < 64; i++) o[g * 64 + i] = h[i];
}
// Four counters instead of 64.
kernel void mended_2(global int *o, global const uchar *a, int n) {
  int g = get_global_id(0);
  int4 h = 0;
  for (int i = 0; i < n; i++) h -= (int4)(a[g * n + i] & 3) == (int4)(0, 1, 2, 3);
  vstore4(h, g, o);
}

kernel void fault_3(global float *o, int n) {
  float sorted[100];
  int g = get_global_id(0);
  for (int i = 0; i < n; i++) sorted[i] = o[g * n + i];
  for (int i = 1; i < n; i++) {
    float v = sorted[i];
    int j = i;
    while (j > 0 && sorted[j - 1] > v) {
      sorted[j] = sorted[j - 1];
      j--;
    }
    sorted[j] = v;
  }
  for (int i = 0; i < n; i++) o[g * n + i] = sorted[i];
}
kernel void mended_3(global float *o, int n) {
  int g = get_global_id(0);
  for (int i = 1; i < n; i++) {
    float v = o[g * n + i];
    int j = i;
    while (j > 0 && o[g * n + j - 1] > v) {
      o[g * n + j] = o[g * n + j - 1];
      j--;
    }
    o[g * n + j] = v;
  }
}

// Written and read by a pointer into it.
kernel void fault_4(global float *o, global const float2 *a, int n) {
  float2 t[40];
  float2 *middle = t + 20;
  int g = get_global_id(0);
  for (int i = -n; i < n; i++) {
    middle[i].x = a[g + i].y;
    middle[i].y = a[g - i].x;
  }
  float s = 0;
  for (int i = -n; i < n; i++)
    for (int j = -n; j < n; j++) s += middle[i].x * middle[j].y;
  o[g] = s;
}
kernel void mended_4(global float *o, global const float2 *a, int n) {
  int g = get_global_id(0);
  float s = 0;
  for (int i = -n; i < n; i++)
    for (int j = -n; j < n; j++) s += a[g + i].y * a[g - j].x;
  o[g] = s;
}

// So few values stay in registers.
kernel void alike_1(global float *o, global const int *a) {
  float t[8];
  int g = get_global_id(0);
  for (int i = 0; i < 8; i++) t[i] = o[g * 8 + i];
  o[g] = t[a[g] & 7];
}
// The indexes are constants once the loops are unrolled.
kernel void alike_2(global float *o) {
  float t[16];
  int g = get_global_id(0);
  for (int i = 0; i < 16; i++) t[i] = o[g * 16 + i];
  float s = 0;
  for (int i = 0; i < 16; i++) s = s * 0.5f + t[15 - i];
  o[g] = s;
}
// A table of constants lies in a buffer of the compiler's.
kernel void alike_3(global float *o, global const int *a) {
  const float t[64] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24};
  int g = get_global_id(0);
  o[g] = t[a[g] & 63];
}
// In memory, as the program asks for that.
kernel void alike_4(global int *o, global const int *a) {
  int g = get_global_id(0);
  volatile int v = a[g];
  volatile int slow[4] = {1, 2, 3, 4};
  o[g] = v + slow[1];
}
