// Not for devices without doubles.
kernel void alike_1(global double *o, global const double *a) {
  int g = get_global_id(0);
  o[g] = a[g] * 0.1 + 0.3;
}
kernel void alike_2(global float *o, global const float *a, double sum) {
  int g = get_global_id(0);
  o[g] = (float)(sum + (double)a[g]);
}
kernel void alike_3(global double *o, global const float *a) {
  int g = get_global_id(0);
  double s = 0;
  for (int i = 0; i < 10000; i++) s += a[i * 64 + g];
  o[g] = s;
}
// The sum is a double, and so the constant.
kernel void alike_4(global float *o, global const float *a, double sum) {
  int g = get_global_id(0);
  o[g] = (float)(sum * 0.1 + a[g]);
}
