// SPDX-License-Identifier: Apache-2.0
// A column, blurred, without its mean: each work-item reads its pixels once and keeps them all.
#ifndef WIDTH
#define WIDTH 32  // work-items that a hardware thread runs together
#endif
#ifndef ROWS
#define ROWS 32  // results of a work-item
#endif

kernel __attribute__((intel_reqd_sub_group_size(WIDTH)))
void window(global const float *in, global float *out, int pitch)
{
  const int x = get_global_id(0);
  const int y = get_global_id(1) * ROWS;
  float pixels[ROWS + 1];
  float sum = 0.0f;
  #pragma unroll
  for(int i = 0; i <= ROWS; i++)
  {
    pixels[i] = in[(y + i) * pitch + x];
    sum += pixels[i];
  }
  const float mean = sum / (ROWS + 1);
  #pragma unroll
  for(int i = 0; i < ROWS; i++)
    out[(y + i) * pitch + x] = (pixels[i] + pixels[i + 1]) * 0.5f - mean;
}
