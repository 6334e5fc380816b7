// SPDX-License-Identifier: Apache-2.0
float smooth(float value, float factor);
kernel void blur(global float *out, float factor)
{
    size_t i = get_global_id(0);
    out[i] = smooth(out[i], factor);
}
