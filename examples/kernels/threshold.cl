// SPDX-License-Identifier: Apache-2.0
// Neighbouring work-items may take different sides of the branch. Their hardware thread then runs both.

kernel void threshold(global const float *in, global float *out, float limit)
{
  const int i = get_global_id(0);
  const float value = in[i];
  if(value < limit)
    out[i] = native_sqrt(value) * limit;
  else
    out[i] = native_exp(value - limit) + native_log(value);
}
