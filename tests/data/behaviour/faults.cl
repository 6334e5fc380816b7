// Kernels with one fault each, and the same kernels without it. In front of a kernel stand its launch and, of a faulty one,
// the fault: its kind, the argument or array, and FAULT at its lines.

// run: --size 1024 --group 256 --arg random:float:1024 --arg zeros:float:4 --arg local:1024
// expect: race scratch
kernel void reduce_without_barrier(global const float *in, global float *sums, local float *scratch) {
  int l = get_local_id(0);
  scratch[l] = in[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int half_ = get_local_size(0) / 2; half_ > 0; half_ >>= 1) {
    if (l < half_)
      scratch[l] += scratch[l + half_];  // FAULT
  }
  if (l == 0)
    sums[get_group_id(0)] = scratch[0];
}

// run: --size 1024 --group 256 --arg random:float:1024 --arg zeros:float:4 --arg local:1024
kernel void reduce(global const float *in, global float *sums, local float *scratch) {
  int l = get_local_id(0);
  scratch[l] = in[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int half_ = get_local_size(0) / 2; half_ > 0; half_ >>= 1) {
    if (l < half_)
      scratch[l] += scratch[l + half_];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (l == 0)
    sums[get_group_id(0)] = scratch[0];
}

// run: --size 256 --group 64 --arg random:float:256 --arg zeros:float:256 --arg 256
// expect: bounds in
kernel void halo_off_by_one(global const float *in, global float *out, int n) {
  local float tile[66];
  int i = get_global_id(0), l = get_local_id(0);
  tile[l + 1] = in[i];
  if (l == 0)
    tile[0] = in[max(i - 1, 0)];
  if (l == 63)
    tile[65] = in[min(i + 1, n)];  // FAULT
  barrier(CLK_LOCAL_MEM_FENCE);
  out[i] = 0.25f * tile[l] + 0.5f * tile[l + 1] + 0.25f * tile[l + 2];
}

// run: --size 256 --group 64 --arg random:float:256 --arg zeros:float:256 --arg 256
kernel void halo(global const float *in, global float *out, int n) {
  local float tile[66];
  int i = get_global_id(0), l = get_local_id(0);
  tile[l + 1] = in[i];
  if (l == 0)
    tile[0] = in[max(i - 1, 0)];
  if (l == 63)
    tile[65] = in[min(i + 1, n - 1)];
  barrier(CLK_LOCAL_MEM_FENCE);
  out[i] = 0.25f * tile[l] + 0.5f * tile[l + 1] + 0.25f * tile[l + 2];
}

// run: --size 32x32 --group 16x16 --arg random:float:1024 --arg zeros:float:1024
// expect: uninitialized tile
kernel void tile_with_unset_border(global const float *in, global float *out) {
  local float tile[18][18];
  int x = get_global_id(0), y = get_global_id(1), lx = get_local_id(0) + 1, ly = get_local_id(1) + 1;
  int width = get_global_size(0);
  tile[ly][lx] = in[y * width + x];
  if (lx == 1)
    tile[ly][0] = in[y * width + max(x - 1, 0)];
  if (lx == 16)
    tile[ly][17] = in[y * width + min(x + 1, width - 1)];
  barrier(CLK_LOCAL_MEM_FENCE);
  float sum = tile[ly][lx - 1] + tile[ly][lx + 1];
  sum += tile[ly - 1][lx] + tile[ly + 1][lx];
  out[y * width + x] = 0.25f * sum;  // FAULT
}

// run: --size 32x32 --group 16x16 --arg random:float:1024 --arg zeros:float:1024
kernel void tile(global const float *in, global float *out) {
  local float tile[18][18];
  int x = get_global_id(0), y = get_global_id(1), lx = get_local_id(0) + 1, ly = get_local_id(1) + 1;
  int width = get_global_size(0), height = get_global_size(1);
  tile[ly][lx] = in[y * width + x];
  if (lx == 1)
    tile[ly][0] = in[y * width + max(x - 1, 0)];
  if (lx == 16)
    tile[ly][17] = in[y * width + min(x + 1, width - 1)];
  if (ly == 1)
    tile[0][lx] = in[max(y - 1, 0) * width + x];
  if (ly == 16)
    tile[17][lx] = in[min(y + 1, height - 1) * width + x];
  barrier(CLK_LOCAL_MEM_FENCE);
  float sum = tile[ly][lx - 1] + tile[ly][lx + 1];
  sum += tile[ly - 1][lx] + tile[ly + 1][lx];
  out[y * width + x] = 0.25f * sum;
}

// run: --size 64 --group 32 --arg random:float:80 --arg zeros:float:64 --arg 4
// expect: uninitialized window
kernel void window_partially_set(global const float *in, global float *out, int taken) {
  float window[5];
  int i = get_global_id(0);
  for (int k = 0; k < taken; k++)
    window[k] = in[i + k];
  for (int k = 1; k < 5; k++)
    for (int j = k; j > 0 && window[j - 1] > window[j]; j--) {  // FAULT
      float t = window[j];
      window[j] = window[j - 1];
      window[j - 1] = t;
    }
  out[i] = window[2];
}

// run: --size 64 --group 32 --arg random:float:80 --arg zeros:float:64 --arg 5
kernel void window(global const float *in, global float *out, int taken) {
  float window[5];
  int i = get_global_id(0);
  for (int k = 0; k < taken; k++)
    window[k] = in[i + k];
  for (int k = 1; k < 5; k++)
    for (int j = k; j > 0 && window[j - 1] > window[j]; j--) {
      float t = window[j];
      window[j] = window[j - 1];
      window[j - 1] = t;
    }
  out[i] = window[2];
}

// run: --size 1024 --group 128 --arg random:uchar:1024 --arg zeros:uint:256
// expect: race bins
kernel void histogram_without_atomics(global const uchar *pixels, global uint *bins) {
  bins[pixels[get_global_id(0)]]++;  // FAULT
}

// run: --size 1024 --group 128 --arg random:uchar:1024 --arg zeros:uint:256
kernel void histogram(global const uchar *pixels, global uint *bins) {
  atomic_inc(&bins[pixels[get_global_id(0)]]);
}

// run: --size 32x32 --group 16x16 --arg random:float:1024 --arg random:float:1024 --arg zeros:float:1024 --arg 32
// expect: race ta
kernel void product_without_second_barrier(global const float *a, global const float *b, global float *c, int n) {
  local float ta[16][16], tb[16][16];
  int x = get_global_id(0), y = get_global_id(1), lx = get_local_id(0), ly = get_local_id(1);
  float sum = 0;
  for (int k = 0; k < n; k += 16) {
    ta[ly][lx] = a[y * n + k + lx];  // FAULT
    tb[ly][lx] = b[(k + ly) * n + x];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int j = 0; j < 16; j++)
      sum += ta[ly][j] * tb[j][lx];  // FAULT
  }
  c[y * n + x] = sum;
}

// run: --size 32x32 --group 16x16 --arg random:float:1024 --arg random:float:1024 --arg zeros:float:1024 --arg 32
kernel void product(global const float *a, global const float *b, global float *c, int n) {
  local float ta[16][16], tb[16][16];
  int x = get_global_id(0), y = get_global_id(1), lx = get_local_id(0), ly = get_local_id(1);
  float sum = 0;
  for (int k = 0; k < n; k += 16) {
    ta[ly][lx] = a[y * n + k + lx];
    tb[ly][lx] = b[(k + ly) * n + x];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int j = 0; j < 16; j++)
      sum += ta[ly][j] * tb[j][lx];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  c[y * n + x] = sum;
}

// run: --size 256 --group 64 --arg random:float:256 --arg zeros:float:256 --arg 250
// expect: barrier -
kernel void early_return(global const float *in, global float *out, int n) {
  local float tile[64];
  int i = get_global_id(0), l = get_local_id(0);
  if (i >= n)
    return;
  tile[l] = in[i];
  barrier(CLK_LOCAL_MEM_FENCE);  // FAULT
  out[i] = tile[l ^ 1];
}

// run: --size 256 --group 64 --arg random:float:256 --arg zeros:float:256 --arg 250
kernel void guarded(global const float *in, global float *out, int n) {
  local float tile[64];
  int i = get_global_id(0), l = get_local_id(0);
  tile[l] = i < n ? in[i] : 0.0f;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (i < n)
    out[i] = tile[l ^ 1];
}

// run: --size 128 --group 64 --arg random:float:128 --arg zeros:float:128 --arg local:256
// expect: barrier -
kernel void barrier_in_a_divergent_loop(global const float *in, global float *out, local float *s) {
  int l = get_local_id(0);
  s[l] = in[get_global_id(0)];
  for (int k = 1; k <= l; k <<= 1) {
    barrier(CLK_LOCAL_MEM_FENCE);  // FAULT
    float v = s[l - k];
    barrier(CLK_LOCAL_MEM_FENCE);
    s[l] += v;
  }
  out[get_global_id(0)] = s[l];
}

// run: --size 128 --group 64 --arg random:float:128 --arg zeros:float:128 --arg local:256
kernel void scan(global const float *in, global float *out, local float *s) {
  int l = get_local_id(0);
  s[l] = in[get_global_id(0)];
  for (int k = 1; k < get_local_size(0); k <<= 1) {
    barrier(CLK_LOCAL_MEM_FENCE);
    float v = l >= k ? s[l - k] : 0.0f;
    barrier(CLK_LOCAL_MEM_FENCE);
    s[l] += v;
  }
  out[get_global_id(0)] = s[l];
}

// run: --size 64x64 --group 16x16 --arg random:float:4096 --arg zeros:float:4096
// expect: bounds image
kernel void negative_index(global const float *image, global float *edges) {
  int x = get_global_id(0), y = get_global_id(1), width = get_global_size(0);
  float here = image[y * width + x];
  edges[y * width + x] = fabs(here - image[(y - 1) * width + x]);  // FAULT
}

// run: --size 64x64 --group 16x16 --arg random:float:4096 --arg zeros:float:4096
kernel void edges(global const float *image, global float *edges) {
  int x = get_global_id(0), y = get_global_id(1), width = get_global_size(0);
  float here = image[y * width + x];
  edges[y * width + x] = fabs(here - image[max(y - 1, 0) * width + x]);
}

// run: --size 64 --group 32 --arg random:float:254 --arg zeros:float:256 --arg 254
// expect: bounds x
kernel void vector_over_the_end(global const float *x, global float *y, int n) {
  int i = get_global_id(0);
  if (i * 4 < n)
    vstore4(2.0f * vload4(i, x), i, y);  // FAULT
}

// run: --size 64 --group 32 --arg random:float:254 --arg zeros:float:256 --arg 254
kernel void vectors(global const float *x, global float *y, int n) {
  int i = get_global_id(0);
  if (i * 4 + 3 < n)
    vstore4(2.0f * vload4(i, x), i, y);
  else
    for (int k = i * 4; k < n; k++)
      y[k] = 2.0f * x[k];
}

typedef struct {
  float4 position;
  float mass;
  int next;
} Body;

// run: --size 64 --group 64 --arg random:uchar:2048 --arg zeros:float:64
// expect: bounds bodies
kernel void field_of_the_next(global const Body *bodies, global float *masses) {
  int i = get_global_id(0);
  masses[i] = bodies[i].mass + bodies[i + 1].mass;  // FAULT
}

// run: --size 64 --group 64 --arg random:uchar:2048 --arg zeros:float:64
kernel void field(global const Body *bodies, global float *masses) {
  int i = get_global_id(0), last = get_global_size(0) - 1;
  masses[i] = bodies[i].mass + bodies[min(i + 1, last)].mass;
}

// run: --size 256 --group 64 --arg random:float:256
// expect: race a
kernel void smooth_in_place(global float *a) {
  int i = get_global_id(0), last = get_global_size(0) - 1;
  a[i] = (a[max(i - 1, 0)] + a[i] + a[min(i + 1, last)]) / 3;  // FAULT
}

// run: --size 256 --group 64 --arg random:float:256 --arg zeros:float:256
kernel void smooth(global const float *a, global float *b) {
  int i = get_global_id(0), last = get_global_size(0) - 1;
  b[i] = (a[max(i - 1, 0)] + a[i] + a[min(i + 1, last)]) / 3;
}

// run: --size 128 --group 32 --arg random:float:1024 --arg zeros:float:512 --arg 8
// expect: bounds best
kernel void list_overflows(global const float *in, global float *out, int per) {
  float best[4] = {0, 0, 0, 0};
  int i = get_global_id(0), count = 0;
  for (int k = 0; k < per; k++)
    if (in[i * per + k] > 0.25f)
      best[count++] = in[i * per + k];  // FAULT
  for (int k = 0; k < 4; k++)
    out[i * 4 + k] = best[k];
}

// run: --size 128 --group 32 --arg random:float:1024 --arg zeros:float:512 --arg 8
kernel void list(global const float *in, global float *out, int per) {
  float best[4] = {0, 0, 0, 0};
  int i = get_global_id(0), count = 0;
  for (int k = 0; k < per; k++)
    if (in[i * per + k] > 0.25f && count < 4)
      best[count++] = in[i * per + k];
  for (int k = 0; k < 4; k++)
    out[i * 4 + k] = best[k];
}

// run: --size 256 --group 64 --arg random:float:256 --arg zeros:int:4
// expect: uninitialized any
kernel void unset_flag(global const float *in, global int *found) {
  local int any;
  if (in[get_global_id(0)] > 2.0f)
    any = 1;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (get_local_id(0) == 0)
    found[get_group_id(0)] = any;  // FAULT
}

// run: --size 256 --group 64 --arg random:float:256 --arg zeros:int:4
kernel void flag(global const float *in, global int *found) {
  local int any;
  if (get_local_id(0) == 0)
    any = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (in[get_global_id(0)] > 2.0f)
    any = 1;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (get_local_id(0) == 0)
    found[get_group_id(0)] = any;
}

// run: --size 256 --group 64 --arg random:float:256 --arg zeros:float:256
// expect: uninitialized scale
kernel void variable_set_on_one_path(global const float *in, global float *out) {
  int i = get_global_id(0);
  float scale;
  if (in[i] > 0.5f)
    scale = 2.0f;
  out[i] = in[i] * scale;  // FAULT
}

// run: --size 256 --group 64 --arg random:float:256 --arg zeros:float:256
kernel void variable(global const float *in, global float *out) {
  int i = get_global_id(0);
  float scale = 1.0f;
  if (in[i] > 0.5f)
    scale = 2.0f;
  out[i] = in[i] * scale;
}

// run: --size 256 --group 64 --arg random:float:256 --arg zeros:float:256
// expect: race tile
kernel void copy_not_waited_for(global const float *in, global float *out) {
  local float tile[64];
  event_t copied = async_work_group_copy(tile, in + get_group_id(0) * 64, 64, 0);
  float v = tile[63 - get_local_id(0)];  // FAULT
  out[get_global_id(0)] = v;
  wait_group_events(1, &copied);
}

// run: --size 256 --group 64 --arg random:float:256 --arg zeros:float:256
kernel void copy(global const float *in, global float *out) {
  local float tile[64];
  event_t copied = async_work_group_copy(tile, in + get_group_id(0) * 64, 64, 0);
  wait_group_events(1, &copied);
  float v = tile[63 - get_local_id(0)];
  out[get_global_id(0)] = v;
}

// run: --size 256 --group 64 --arg random:float:256 --arg zeros:float:256 --arg zeros:int:1
// expect: race counter
kernel void counter_read_without_atomics(global const float *in, global float *out, global int *counter) {
  if (in[get_global_id(0)] > 0.5f) {
    atomic_inc(counter);        // FAULT
    out[*counter - 1] = 1.0f;   // FAULT
  }
}

// run: --size 256 --group 64 --arg random:float:256 --arg zeros:float:256 --arg zeros:int:1
kernel void counter(global const float *in, global float *out, global int *counter) {
  if (in[get_global_id(0)] > 0.5f)
    out[atomic_inc(counter)] = 1.0f;
}

// run: --size 64 --group 32 --arg random:float:80 --arg zeros:float:64 --arg random:float:9 --arg 9
// expect: bounds weights
kernel void weights_over_the_end(global const float *in, global float *out, constant float *weights, int count) {
  float sum = 0;
  for (int k = 0; k <= count; k++)
    sum += weights[k] * in[get_global_id(0) + k];  // FAULT
  out[get_global_id(0)] = sum;
}

// run: --size 64 --group 32 --arg random:float:80 --arg zeros:float:64 --arg random:float:9 --arg 9
kernel void weights(global const float *in, global float *out, constant float *weights, int count) {
  float sum = 0;
  for (int k = 0; k < count; k++)
    sum += weights[k] * in[get_global_id(0) + k];
  out[get_global_id(0)] = sum;
}

// run: --size 64 --group 32 --arg random:float:64 --arg zeros:float:64 --arg local:124
// expect: bounds scratch
kernel void scratch_too_small(global const float *in, global float *out, local float *scratch) {
  scratch[get_local_id(0)] = in[get_global_id(0)];  // FAULT
  barrier(CLK_LOCAL_MEM_FENCE);
  out[get_global_id(0)] = scratch[get_local_id(0) ^ 1];  // FAULT
}

// run: --size 64 --group 32 --arg random:float:64 --arg zeros:float:64 --arg local:128
kernel void scratch(global const float *in, global float *out, local float *scratch) {
  scratch[get_local_id(0)] = in[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  out[get_global_id(0)] = scratch[get_local_id(0) ^ 1];
}

// run: --size 256 --group 64 --arg random:int:256 --arg zeros:int:256
// expect: race out
kernel void groups_share_a_border(global const int *in, global int *out) {
  int i = get_global_id(0), l = get_local_id(0);
  out[i] = in[i];  // FAULT
  if (l == 63 && i + 1 < get_global_size(0))
    out[i + 1] = in[i];  // FAULT
}

// run: --size 256 --group 64 --arg random:int:256 --arg zeros:int:256
kernel void groups(global const int *in, global int *out) {
  int i = get_global_id(0), l = get_local_id(0);
  out[i] = l == 0 && i > 0 ? in[i - 1] : in[i];
}
