constant float table[4] = {1.0f, 2.5f, 3.25f, 4.0f};
kernel void with_const(constant float *c, global float *o, constant int *d) { int i = get_global_id(0); o[i] = c[i & 15] * table[i & 3] + d[i & 7]; }
kernel void with_local(global const float *in, global float *o, local float *a, local double *b, local int *c) {
  int l = get_local_id(0);
  a[l] = in[get_global_id(0)];
  b[l] = l;
  c[l] = 3 * l;
  barrier(CLK_LOCAL_MEM_FENCE);
  int r = get_local_size(0) - 1 - l;
  o[get_global_id(0)] = a[r] + (float)b[r] + c[r];
}
kernel void where(global int *o) {
  size_t i = ((get_global_id(2) - get_global_offset(2)) * get_global_size(1) + get_global_id(1) - get_global_offset(1)) * get_global_size(0) + get_global_id(0) - get_global_offset(0);
  o[i] = get_work_dim() + 3 * get_num_groups(0) + 5 * get_num_groups(1) + 7 * get_num_groups(2) + 11 * get_group_id(0) + 13 * get_group_id(1) + 17 * get_group_id(2)
       + 19 * get_global_id(0) + 23 * get_global_id(1) + 29 * get_global_id(2) + 31 * get_local_size(0) + 37 * get_global_size(1);
}
kernel void image(read_only image2d_t in, sampler_t s, global float4 *out) { int2 p = (int2)(get_global_id(0), get_global_id(1)); out[p.y * get_global_size(0) + p.x] = read_imagef(in, s, p) * 2.0f; }
struct pair { short a; double b; };
kernel void structs(struct pair p, float3 v, char c, global double *o) { o[get_global_id(0)] = p.a + p.b + v.z + c; }
kernel void mixed(global const float *a, global const int *idx, global float *o, int n) {
  local float t[256];
  int i = get_global_id(0), l = get_local_id(0);
  float s = 0;
  for (int k = 0; k < 8; k++)
    s += a[idx[(i + k * 977) % n]] * sin((float)k);
  t[(l * 7) & 255] = s;
  barrier(CLK_LOCAL_MEM_FENCE);
  o[i] = t[l] + (l & 1 ? exp(s) : sqrt(fabs(s)));
}
kernel void set(global int *o, int v) { o[get_global_id(0)] = v; }
kernel void transpose(global const float *in, global float *out, int n) {
  int x = get_global_id(0), y = get_global_id(1);
  out[x * n + y] = in[y * n + x];
}
