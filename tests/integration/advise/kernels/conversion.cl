kernel void fault_1(global int *o, int n) {
  int g = get_global_id(0), s = g;
  for (int i = 0; i < n; i++) s = (int)((float)s * 0.75f) + i;
  o[g] = s;
}
kernel void mended_1(global int *o, int n) {
  int g = get_global_id(0);
  float s = g;
  for (int i = 0; i < n; i++) s = s * 0.75f + i;
  o[g] = (int)s;
}

kernel void fault_2(global uint *o, global const float *a, int n) {
  int g = get_global_id(0);
  uint s = g;
  for (int i = 0; i < n; i++) {
    float x = convert_float(s) + a[i * 1000 + g];
    s = convert_uint(x);
  }
  o[g] = s;
}
kernel void mended_2(global uint *o, global const float *a, int n) {
  int g = get_global_id(0);
  float s = g;
  for (int i = 0; i < n; i++) s += a[i * 1000 + g];
  o[g] = convert_uint(s);
}

kernel void fault_3(global int *o, global const int *a, int n) {
  int g = get_global_id(0);
  float s = 0;
  for (int i = 0; i < n; i++) {
    int whole = (int)(s * 0.5f);
    s = (float)(whole + a[i * 1000 + g]);
  }
  o[g] = (int)s;
}
kernel void mended_3(global int *o, global const int *a, int n) {
  int g = get_global_id(0), s = 0;
  for (int i = 0; i < n; i++) s = (s >> 1) + a[i * 1000 + g];
  o[g] = s;
}

// What is loaded has to be converted.
kernel void alike_1(global float *o, global const int *a, int n) {
  int g = get_global_id(0);
  float s = 0;
  for (int i = 0; i < n; i++) s += (float)a[i * 1000 + g];
  o[g] = s;
}
// An address is a whole number.
kernel void alike_2(global float *o, global const float *a, float step, int n) {
  int g = get_global_id(0);
  float x = g, s = 0;
  for (int i = 0; i < n; i++) {
    s += a[(int)x];
    x += step;
  }
  o[g] = s;
}
kernel void alike_3(global float *o, int n) {
  int g = get_global_id(0), s = g;
  for (int i = 0; i < n; i++) s = s * 5 + (s >> 3);
  o[g] = (float)s;
}
