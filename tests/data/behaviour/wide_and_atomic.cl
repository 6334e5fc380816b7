// The kernels that ran in CUDA on an H100 (nvcc -O3, sm_90), with the counters in wide_and_atomic.csv.










#define ARGS __global const float *a, __global const int *idx, __global float *out, int n
typedef struct { float x, y, z, w; int k; } S;
kernel void histl(ARGS)
{
 __local int h[64];
 int l = get_local_id(0);
 __global int *o = (__global int *)out;
 if (l < 64)
  h[l] = 0;
 barrier(CLK_LOCAL_MEM_FENCE);
 atomic_add(&h[idx[get_global_id(0)] & 63], 3);
 barrier(CLK_LOCAL_MEM_FENCE);
 if (l < 64)
  atomic_add(&o[l], h[l]);
}
kernel void histl1(ARGS)
{
 __local int h[1];
 int l = get_local_id(0);
 if (l == 0)
  h[0] = 0;
 barrier(CLK_LOCAL_MEM_FENCE);
 int p = atomic_add(&h[0], 1 + (l & 1));
 out[get_global_id(0)] = p;
}
kernel void gatom(ARGS)
{
 int i = get_global_id(0);
 __global int *o = (__global int *)out;
 atomic_add(&o[idx[i]], 1);
}
kernel void gatomr(ARGS)
{
 int i = get_global_id(0);
 __global int *o = (__global int *)out;
 int p = atomic_add(&o[(i & 3) * 64], 2);
 o[1024 + (p & 1023)] = i;
}
kernel void locald(ARGS)
{
 __local double s[512];
 int l = get_local_id(0);
 s[l] = a[get_global_id(0)];
 s[l + 256] = l;
 barrier(CLK_LOCAL_MEM_FENCE);
 double v = s[(3 * l) & 511];
 double u = s[idx[l] & 511];
 double w = s[l / 4];
 out[get_global_id(0)] = v + u + w;
}
kernel void localf4b(ARGS)
{
 __local float4 s[256];
 int l = get_local_id(0);
 __global const float4 *b = (__global const float4 *)a;
 s[l] = b[get_global_id(0) & 16383];
 barrier(CLK_LOCAL_MEM_FENCE);
 float4 v = s[(l * 3 / 4) & 255];
 float4 u = s[idx[l] & 255];
 v.x += u.x + u.y + u.z + u.w;
 __global float4 *o = (__global float4 *)out;
 o[get_global_id(0) & 16383] = v;
}
kernel void localbyte(ARGS)
{
 __local uchar s[1024];
 int l = get_local_id(0);
 s[l] = a[get_global_id(0)] * 100;
 s[l + 256] = l;
 barrier(CLK_LOCAL_MEM_FENCE);
 int v = s[(4 * l) & 511];
 int u = s[idx[l] & 511];
 out[get_global_id(0)] = v + u;
}
kernel void aoscopy(ARGS)
{
 int i = get_global_id(0) & 8191;
 __global const S *s = (__global const S *)a;
 S v = s[i];
 __global S *o = (__global S *)out;
 v.k += 1;
 o[i] = v;
}
kernel void nested(ARGS)
{
 int i = get_global_id(0);
 int m = idx[i] % 5;
 float v = 0;
 for (int j = 0; j < m; j++) {
  int q = idx[(i + j) & (n - 1)] & 3;
  for (int k = 0; k < q; k++)
   v += a[(i + 32 * k + j) & (n - 1)];
 }
 out[i] = v;
}
kernel void search(ARGS)
{
 int i = get_global_id(0);
 int p = i;
 for (int k = 0; k < 20; k++) {
  p = idx[p];
  if (p < n / 8)
   break;
 }
 out[i] = p;
}
