// SPDX-License-Identifier: Apache-2.0
// A tone curve. One of its lines becomes nearly all of the machine code.

float curve(float light, float gamma)
{
  return pow(light, gamma);
}

kernel void tone(global const float *in, global float *out, float exposure, float gamma)
{
  const int i = get_global_id(0);
  const float light = fmax(in[i], 0.0f) * exposure;
  out[i] = curve(light, gamma);
}
