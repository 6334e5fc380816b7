// The examples' program: one kernel with a branch and a call, one that only writes.

float curve(float value, float gamma)
{
    return value > 0.0f ? native_powr(value, gamma) : 0.0f;
}

kernel void scale(global float *values, float factor, float gamma)
{
    size_t i = get_global_id(0);
    float value = values[i] * factor;
    values[i] = curve(value, gamma);
}

kernel void clear(global float *values)
{
    values[get_global_id(0)] = 0.0f;
}
