kernel void transpose(global const float *in, global float *out, int n) {
  local float tile[16][17];
  int i = get_local_id(0), j = get_local_id(1);
  tile[j][i] = in[get_global_id(1) * n + get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  out[(get_group_id(0) * 16 + j) * n + get_group_id(1) * 16 + i] = tile[i][j];
}
