typedef struct { float x, y, z, w, vx, vy, vz, mass; } particle;

kernel void fault_1(global particle *p, float dt) {
  int i = get_global_id(0);
  p[i].x += dt * p[i].vx;
}
kernel void mended_1(global float *x, global const float *vx, float dt) {
  int i = get_global_id(0);
  x[i] += dt * vx[i];
}

kernel void fault_2(global const float *grid, global float *sums, int width, int height) {
  int y = get_global_id(0);
  float s = 0;
  for (int x = 0; x < width; x++)
    s += grid[y * width + x];
  sums[y] = s;
}
kernel void mended_2(global const float *grid, global float *sums, int width, int height) {
  int x = get_global_id(0);
  float s = 0;
  for (int y = 0; y < height; y++)
    s += grid[y * width + x];
  sums[x] = s;
}

kernel void fault_3(global const float *in, global float *out, int height) {
  int x = get_global_id(0), y = get_global_id(1);
  out[x * height + y] = in[y * get_global_size(0) + x];
}
kernel __attribute__((reqd_work_group_size(16, 16, 1)))
void mended_3(global const float *in, global float *out, int height) {
  local float tile[16][17];
  int x = get_local_id(0), y = get_local_id(1), left = get_group_id(0) * 16, top = get_group_id(1) * 16;
  tile[y][x] = in[(top + y) * get_global_size(0) + left + x];
  barrier(CLK_LOCAL_MEM_FENCE);
  out[(left + y) * height + top + x] = tile[x][y];
}

// All of a pixel is asked for, part by part.
kernel void alike_1(global const uchar *in, global float *out) {
  int i = get_global_id(0);
  out[i] = 0.2f * in[3 * i] + 0.7f * in[3 * i + 1] + 0.1f * in[3 * i + 2];
}
// What lies apart is in local memory.
kernel void alike_2(global const float *in, global float *out) {
  local float tile[64][65];
  int x = get_local_id(0);
  for (int y = 0; y < 64; y++)
    tile[x][y] = in[y * 64 + x];
  barrier(CLK_LOCAL_MEM_FENCE);
  out[get_global_id(0)] = tile[63 - x][x];
}
// Addresses from data.
kernel void alike_3(global const float *in, global const int *at, global float *out) {
  int i = get_global_id(0);
  out[i] = in[8 * at[i]];
}
// Neighbours are as far apart as the compile does not tell, and a row is the same for all.
kernel void alike_4(global const float *in, global float *out, global const int *step, int row) {
  int i = get_global_id(0);
  out[i] = in[i * step[0]] + in[row * 64];
}
