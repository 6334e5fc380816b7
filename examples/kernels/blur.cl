// SPDX-License-Identifier: Apache-2.0
#define RADIUS 4  // A blur of one row: each work-item averages the pixels around its own.

float weight(int distance)
{
  return 1.0f / (1.0f + distance * distance);
}

kernel void blur(global const float *in, global float *out, int width)
{
  const int x = get_global_id(0);
  float sum = 0.0f;
  float weights = 0.0f;
  for(int i = -RADIUS; i <= RADIUS; i++)
  {
    const int place = clamp(x + i, 0, width - 1);
    sum += weight(i) * in[place];
    weights += weight(i);
  }
  out[x] = native_exp(sum / weights);
}
