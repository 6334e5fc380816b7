// SPDX-License-Identifier: Apache-2.0
// The mean of nine pixels. The source has a single image read, the machine code a bank of them.

constant sampler_t nearest = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;

kernel void neighbours(read_only image2d_t in, global float *out, int width)
{
  const int x = get_global_id(0);
  const int y = get_global_id(1);
  float sum = 0.0f;
  for(int dy = -1; dy <= 1; dy++)
    for(int dx = -1; dx <= 1; dx++)
      sum += read_imagef(in, nearest, (int2)(x + dx, y + dy)).x;
  out[y * width + x] = sum / 9.0f;
}
