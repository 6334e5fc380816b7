kernel void fault_1(global float *o, global const float *a) {
  int g = get_global_id(0);
  if (a[g] > 1e30f) printf("bad %d\n", g);
  o[g] = a[g] * 2;
}
kernel void mended_1(global float *o, global const float *a) {
  int g = get_global_id(0);
  o[g] = a[g] * 2;
}

#define DEBUG(x) printf("%f\n", x)
kernel void fault_2(global float *o, global const float *a) {
  int g = get_global_id(0);
  DEBUG(a[g]);
  o[g] = a[g] * 2;
}
kernel void mended_2(global float *o, global const float *a) {
  int g = get_global_id(0);
  o[g] = a[g] * 2;
}

void trace(int g) {
  if (g == 0)
    printf("here\n");
}
kernel void fault_3(global float *o, global const float *a) {
  int g = get_global_id(0);
  trace(g);
  o[g] = a[g] * 2;
}
kernel void mended_3(global float *o, global const float *a) {
  int g = get_global_id(0);
  o[g] = a[g] * 2;
}

kernel void alike_1(global float *o, global const float *a, global int *e) {
  int g = get_global_id(0);
  if (a[g] > 1e30f) atomic_inc(e);
  o[g] = a[g] * 2;
}
// Never called.
#define QUIET(x)
kernel void alike_2(global float *o, global const float *a) {
  int g = get_global_id(0);
  QUIET(printf("%f\n", a[g]));
  o[g] = a[g] * 2;
}
kernel void alike_3(global float *o, global const float *a) {
  int g = get_global_id(0);
  if (0) printf("never %d\n", g);
  o[g] = a[g] * 2; /* printf */
}
