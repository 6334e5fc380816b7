// SPDX-License-Identifier: Apache-2.0
// Two loops whose lengths only the run time knows, so that both are loops of the machine code too.

kernel void rows(global const float *in, global float *out, int width, int height)
{
  const int x = get_global_id(0);
  float sum = 0.0f;
  for(int y = 0; y < height; y++)
  {
    float row = 0.0f;
    for(int i = 0; i < width; i++)
      row += in[y * width + i];
    sum += native_exp(row);
  }
  out[x] = sum;
}
