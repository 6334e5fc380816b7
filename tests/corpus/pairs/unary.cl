// Rebuilds ggml-org/llama.cpp 25946: an elementwise function whose index goes through four dimensions of 64 bits.
kernel void before(global const float *in, global float *out, long n0, long n1, long n2, long s1, long s2, long s3, long d1,
                   long d2, long d3) {
  const long i = get_global_id(0);
  const long i3 = i / (n0 * n1 * n2); // cause
  const long i2 = (i - i3 * n0 * n1 * n2) / (n0 * n1); // cause
  const long i1 = (i - i3 * n0 * n1 * n2 - i2 * n0 * n1) / n0; // cause
  const long i0 = i - ((i3 * n2 + i2) * n1 + i1) * n0;
  const float x = in[i0 + i1 * s1 + i2 * s2 + i3 * s3];
  out[i0 + i1 * d1 + i2 * d2 + i3 * d3] = x / (1.0f + native_exp(-x));
}
kernel void after(global const float *in, global float *out) {
  const int i = get_global_id(0);
  const float x = in[i];
  out[i] = x / (1.0f + native_exp(-x));
}
