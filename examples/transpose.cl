// SPDX-License-Identifier: Apache-2.0
#define TILE 16

kernel void transpose(global const float *in, global float *out)
{
  const int x = get_global_id(0), y = get_global_id(1);
  const int width = get_global_size(0), height = get_global_size(1);
  out[x * height + y] = in[y * width + x];
}

kernel void transpose_tiled(global const float *in, global float *out)
{
  local float tile[TILE][TILE + 1];  // One more, or all of a column would lie in the same bank.
  const int x = get_local_id(0), y = get_local_id(1);
  const int column = get_global_id(0) - x, row = get_global_id(1) - y;
  tile[y][x] = in[(row + y) * get_global_size(0) + column + x];
  barrier(CLK_LOCAL_MEM_FENCE);
  out[(column + y) * get_global_size(1) + row + x] = tile[x][y];
}
