kernel void fault_1(global float *o, global const float *a, int n) {
  int g = get_global_id(0);
  float s = 0;
  for (int i = 0; i < n; i++) {
    float p = a[i * 1000 + g] * a[i * 1000 + g + 500];
    s += p;
  }
  o[g] = s;
}
kernel void mended_1(global float *o, global const float *a, int n) {
  int g = get_global_id(0);
  float s = 0;
  for (int i = 0; i < n; i++) s = mad(a[i * 1000 + g], a[i * 1000 + g + 500], s);
  o[g] = s;
}

float times(float x, float y) { return x * y; }
kernel void fault_2(global float *o, global const float *a, float f, int n) {
  int g = get_global_id(0);
  float s = g, t = 0;
  for (int i = 0; i < n; i++) {
    s = times(s, f) + a[i];
    t = times(t, f) + s;
  }
  o[g] = s + t;
}
kernel void mended_2(global float *o, global const float *a, float f, int n) {
  int g = get_global_id(0);
  float s = g, t = 0;
  for (int i = 0; i < n; i++) {
    s = fma(s, f, a[i]);
    t = fma(t, f, s);
  }
  o[g] = s + t;
}

kernel void fault_3(global float *o, float x, float y, int n) {
  int g = get_global_id(0);
  float s = g;
  for (int i = 0; i < n; i++) {
    float p = s * x;
    float q = p + y;
    float r = q * x;
    s = r + y;
  }
  o[g] = s;
}
kernel void mended_3(global float *o, float x, float y, int n) {
  int g = get_global_id(0);
  float s = g;
  for (int i = 0; i < n; i++) {
    float q = mad(s, x, y);
    s = mad(q, x, y);
  }
  o[g] = s;
}

kernel void alike_1(global float *o, global const float *a, int n) {
  int g = get_global_id(0);
  float s = 0;
  for (int i = 0; i < n; i++) s += a[i * 1000 + g] * a[i * 1000 + g + 500];
  o[g] = s;
}
kernel void alike_2(global float *o, global const float *a, global float *b, int n) {
  int g = get_global_id(0);
  float s = 0;
  for (int i = 0; i < n; i++) {
    float p = a[i * 1000 + g] * a[i * 1000 + g + 500];
    b[i * 1000 + g] = p;
    s += p;
  }
  o[g] = s;
}
kernel void alike_3(global int *o, global const int *a, int n) {
  int g = get_global_id(0), s = 0;
  for (int i = 0; i < n; i++) {
    int p = a[i * 1000 + g] * a[i * 1000 + g + 500];
    s += p;
  }
  o[g] = s;
}
// Once, outside of all loops.
kernel void alike_4(global float *o, global const float *a) {
  int g = get_global_id(0);
  float p = a[g] * a[g + 500];
  float s = a[g + 900] + p;
  o[g] = s;
}
