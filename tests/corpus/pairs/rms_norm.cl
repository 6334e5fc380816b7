// Rebuilds nntrainer 3415: rows are divided by their root mean square; a row for each work-item, or for each work-group.
kernel void before(global const float *in, global float *out, global const float *alpha, float epsilon, int width) {
  const int first = get_global_id(0) * width;
  float sum = 0.0f;
  for (int j = 0; j < width; j++)
    sum += in[first + j] * in[first + j]; // cause
  const float root = sqrt(sum / width + epsilon);
  for (int j = 0; j < width; j++)
    out[first + j] = in[first + j] / root * alpha[j]; // cause
}
kernel void after(global const float *in, global float *out, global const float *alpha, float epsilon, int width) {
  local float sums[32];
  const int l = get_local_id(0);
  const int first = get_group_id(0) * width;
  global const float4 *row = (global const float4 *)(in + first);
  float4 four = 0.0f;
  for (int j = l; j < width / 4; j += 32)
    four += row[j] * row[j];
  sums[l] = four.x + four.y + four.z + four.w;
  barrier(CLK_LOCAL_MEM_FENCE);
  float sum = 0.0f;
  for (int k = 0; k < 32; k++)
    sum += sums[k];
  const float scale = 1.0f / sqrt(sum / width + epsilon);
  for (int j = l; j < width / 4; j += 32)
    ((global float4 *)(out + first))[j] = row[j] * scale * ((global const float4 *)alpha)[j];
}
