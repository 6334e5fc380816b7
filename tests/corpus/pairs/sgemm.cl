// Rebuilds CLBlast 257: a product of matrices with registers in two dimensions; all lanes read the same numbers of A. The change
// shares them by shuffles of a sub-group, for which local memory stands here.
#define N 8
kernel void before(global const float *a, global const float *b, global float *c, int size_n, int size_k) {
  const int column = get_global_id(0), row = get_global_id(1) * N;
  float sums[N] = {0};
  for (int k = 0; k < size_k; k++) {
    const float right = b[k * size_n + column];
#pragma unroll
    for (int n = 0; n < N; n++)
      sums[n] += a[(row + n) * size_k + k] * right; // cause
  }
#pragma unroll
  for (int n = 0; n < N; n++)
    c[(row + n) * size_n + column] = sums[n];
}
kernel void after(global const float *a, global const float *b, global float *c, int size_n, int size_k) {
  local float left[N][32];
  const int column = get_global_id(0), row = get_global_id(1) * N, l = get_local_id(0);
  float sums[N] = {0};
  for (int first = 0; first < size_k; first += 32) {
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (int n = 0; n < N; n++)
      left[n][l] = a[(row + n) * size_k + first + l];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < 32; k++) {
      const float right = b[(first + k) * size_n + column];
#pragma unroll
      for (int n = 0; n < N; n++)
        sums[n] += left[n][k] * right;
    }
  }
#pragma unroll
  for (int n = 0; n < N; n++)
    c[(row + n) * size_n + column] = sums[n];
}
