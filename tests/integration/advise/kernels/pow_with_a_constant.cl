kernel void fault_1(global float *o, global const float *a) {
  int g = get_global_id(0);
  o[g] = pow(a[g], 2.0f);
}
kernel void mended_1(global float *o, global const float *a) {
  int g = get_global_id(0);
  float x = a[g];
  o[g] = x * x;
}

kernel void fault_2(global float *o, global const float *a) {
  int g = get_global_id(0);
  float y = a[g];
  o[g] = pow(2.0f, y) + pow(y, 0.5f);
}
kernel void mended_2(global float *o, global const float *a) {
  int g = get_global_id(0);
  float y = a[g];
  o[g] = exp2(y) + sqrt(y);
}

kernel void fault_3(global float *o, global const float *a) {
  int g = get_global_id(0);
  float x = a[g];
  o[g] = pown(x, 3) + powr(a[g + 9000],
                           (-1.0f));
}
kernel void mended_3(global float *o, global const float *a) {
  int g = get_global_id(0);
  float x = a[g];
  o[g] = x * x * x + 1 / a[g + 9000];
}

// The rule of slow built-in functions is about these: no product is equal to them.
kernel void alike_1(global float *o, global const float *a) {
  int g = get_global_id(0);
  o[g] = pow(a[g], 2.4f);
}
kernel void alike_2(global float *o, global const float *a) {
  int g = get_global_id(0);
  o[g] = pow(a[g], a[g + 2]);
}
// Folded, and native.
kernel void alike_3(global float *o, global const float *a) {
  int g = get_global_id(0);
  o[g] = a[g] * pow(3.0f, 2.0f) + native_powr(a[g], 2.0f);
}
