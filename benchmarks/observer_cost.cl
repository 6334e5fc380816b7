// Kernels of linear algebra and stencils, and some that work in local memory.
kernel void gemm(global const float *a, global const float *b, global float *c, int width) {
  int x = get_global_id(0) % width, y = get_global_id(0) / width;
  float sum = 0;
  for (int k = 0; k < width; k++)
    sum += a[y * width + k] * b[k * width + x];
  c[y * width + x] = sum;
}
kernel void atax(global const float *a, global const float *x, global float *y, int width) {
  int i = get_global_id(0);
  y[i] = 0;
  for (int k = 0; k < width; k++)
    y[i] += a[(i % width) * width + k] * x[k];
}
kernel void convolution(global const float *a, global float *b, int width) {
  int x = get_global_id(0) % width, y = get_global_id(0) / width;
  if (x > 0 && x < width - 1 && y > 0 && y < width - 1)
    b[y * width + x] = 0.2f * a[(y - 1) * width + x - 1] + 0.5f * a[(y - 1) * width + x] - 0.8f * a[(y - 1) * width + x + 1] -
                       0.3f * a[y * width + x - 1] + 0.6f * a[y * width + x] - 0.9f * a[y * width + x + 1] +
                       0.4f * a[(y + 1) * width + x - 1] + 0.7f * a[(y + 1) * width + x] + 0.1f * a[(y + 1) * width + x + 1];
}
kernel void jacobi(global const float *a, global float *b, int width) {
  int i = get_global_id(0);
  if (i >= width && i < width * (width - 1))
    b[i] = 0.2f * (a[i] + a[i - 1] + a[i + 1] + a[i - width] + a[i + width]);
}
kernel void tree(global const float *in, global float *out, local float *s) {
  int l = get_local_id(0);
  s[l] = in[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int half_ = get_local_size(0) / 2; half_ > 0; half_ >>= 1) {
    if (l < half_)
      s[l] += s[l + half_];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  out[get_global_id(0)] = s[0];
}
kernel void tiled(global const float *a, global const float *b, global float *c, int width) {
  local float ta[8][8], tb[8][8];
  int lx = get_local_id(0) % 8, ly = get_local_id(0) / 8, x = get_group_id(0) * 8 % width, y = get_group_id(0) * 8 / width * 8;
  float sum = 0;
  for (int k = 0; k < width; k += 8) {
    ta[ly][lx] = a[(y + ly) % width * width + k + lx];
    tb[ly][lx] = b[(k + ly) * width + x + lx];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int j = 0; j < 8; j++)
      sum += ta[ly][j] * tb[j][lx];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  c[get_global_id(0)] = sum;
}
kernel void bitonic(global float *out, global const float *in, local float *s) {
  int l = get_local_id(0), n = get_local_size(0);
  s[l] = in[get_global_id(0)];
  for (int size = 2; size <= n; size <<= 1)
    for (int stride = size / 2; stride > 0; stride >>= 1) {
      barrier(CLK_LOCAL_MEM_FENCE);
      int other = l ^ stride;
      float a = s[l], b = s[other];
      bool is_up = (l & size) == 0, is_first = l < other;
      barrier(CLK_LOCAL_MEM_FENCE);
      s[l] = is_first == is_up ? fmin(a, b) : fmax(a, b);
    }
  out[get_global_id(0)] = s[l];
}
kernel void bins(global const float *in, global int *out, local int *counts) {
  int l = get_local_id(0);
  counts[l] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int k = 0; k < 16; k++)
    atomic_inc(&counts[(int)(in[get_global_id(0)] * 4096 + k * 7) % 64]);
  barrier(CLK_LOCAL_MEM_FENCE);
  atomic_add(&out[l], counts[l]);
}
