// Rebuilds intel/torch-xpu-ops 1726: sums of rows of a table; conditions in the loop, and one number for each work-item.
kernel void before(global const half *weights, global const int *index, global const int *offsets, global float *out,
                   global const float *scales, int dim, int bags, int mode, int has_scales, int padding) {
  const int i = get_global_id(0);
  const int bag = i / dim, d = i % dim;
  float sum = 0;
  int count = 0;
  for (int at = offsets[bag]; at < offsets[bag + 1]; at++) {
    const int row = index[at];
    if (row != padding) { // cause
      const float value = vload_half(row * dim + d, weights); // cause
      if (mode == 2) // cause
        sum = count ? fmax(sum, value) : value; // cause
      else if (has_scales) // cause
        sum += value * scales[at]; // cause
      else
        sum += value; // cause
      count++;
    }
  }
  out[i] = mode == 1 && count ? sum / count : sum;
}
kernel void after(global const half *weights, global const int *index, global const int *offsets, global float4 *out,
                  int dim) {
  const int i = get_global_id(0);
  const int bag = i / dim, d = i % dim;
  float4 sum = 0;
  for (int at = offsets[bag]; at < offsets[bag + 1]; at++)
    sum += vload_half4(index[at] * dim + d, weights);
  out[i] = sum;
}
