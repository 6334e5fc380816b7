// Kernels with one fault each, and look-alikes. Above each: the rule or cause that is to be told, or "silent", and the launch as
// `kernlens observe` takes it; "compile" is for what the interpreter cannot be handed. The line of the fault ends with "here".

typedef struct { float x, y, z, mass; int kind; float vx, vy, vz; } body;
typedef struct { float v[16]; } row16;
typedef struct { float v[17]; } row17;

// strided access | 1024 64 random:float:8192 zeros:float:1024
kernel void mass_of_bodies(global const body *p, global float *o) {
  int i = get_global_id(0);
  o[i] = p[i].mass * 0.5f; // here
}
// silent | 1024 64 random:float:8192 zeros:float:1024
kernel void mass_of_an_array(global const float *mass, global float *o) {
  int i = get_global_id(0);
  o[i] = mass[i] * 0.5f;
}
// silent | 1024 64 random:float4:2048 zeros:float:1024
kernel void whole_bodies(global const float4 *p, global float *o) {
  int i = get_global_id(0);
  float4 a = p[2 * i], b = p[2 * i + 1];
  o[i] = dot(a, b);
}

// bank conflict | 256 64 random:float:1024 zeros:float:256
kernel void rows_of_local_structures(global const float *a, global float *o) {
  local row16 t[64];
  int l = get_local_id(0), g = get_global_id(0);
  for (int k = 0; k < 16; k++)
    t[l].v[k] = a[k * 64 + l]; // here
  barrier(CLK_LOCAL_MEM_FENCE);
  float s = 0;
  for (int k = 0; k < 16; k++)
    s += t[63 - l].v[k];
  o[g] = s;
}
// silent | 256 64 random:float:1088 zeros:float:256
kernel void padded_local_structures(global const float *a, global float *o) {
  local row17 t[64];
  int l = get_local_id(0), g = get_global_id(0);
  for (int k = 0; k < 16; k++)
    t[l].v[k] = a[k * 64 + l];
  barrier(CLK_LOCAL_MEM_FENCE);
  float s = 0;
  for (int k = 0; k < 16; k++)
    s += t[63 - l].v[k];
  o[g] = s;
}
// silent | 256 64 random:float:1024 zeros:float:256
kernel void local_words_that_all_read(global const float *a, global float *o) {
  local float t[64];
  int l = get_local_id(0), g = get_global_id(0);
  t[l] = a[g];
  barrier(CLK_LOCAL_MEM_FENCE);
  float s = 0;
  for (int k = 0; k < 64; k++)
    s += t[k] * (l - k);
  o[g] = s;
}

// contention | 1024 64 random:uint:1024 zeros:int:8
kernel void few_classes(global const uint *a, global int *bins) {
  int i = get_global_id(0);
  atomic_inc(&bins[a[i] & 3]); // here
}
// silent | 1024 64 random:uint:1024 zeros:int:256
kernel void classes_of_each_item(global const uint *a, global int *bins) {
  int i = get_global_id(0), l = get_local_id(0);
  atomic_inc(&bins[(a[i] & 3) * 64 + l]);
}
// silent | 1024 64 ramp:uint:1024 zeros:int:1024
kernel void classes_apart(global const uint *a, global int *bins) {
  int i = get_global_id(0);
  atomic_add(&bins[a[i] ^ 5], (int)a[i]);
}

// contention | 1024 64 random:int:1024 zeros:int:16
kernel void most_of_a_row(global const int *a, global int *most) {
  int i = get_global_id(0);
  atomic_max(&most[a[i] >> 8], a[i]); // here
}
// silent | 1024 64 random:int:1024 zeros:int:1024
kernel void most_of_an_item(global const int *a, global int *most) {
  int i = get_global_id(0);
  atomic_max(&most[i], a[i]);
}
// silent | 1024 64 random:int:65536 zeros:int:16 64
kernel void most_of_a_column(global const int *a, global int *most, int n) {
  int i = get_global_id(0), l = get_local_id(0), s = 0;
  for (int k = 0; k < n; k++)
    s = max(s, a[k * 1024 + i]);
  if (l == 0)
    atomic_max(&most[get_group_id(0)], s);
}

// idle lanes | 1024 64 zeros:int:1024
kernel void rounds_that_differ(global int *o) {
  int i = get_global_id(0);
  float cx = (i % 7) * 0.45f - 2.0f, cy = 0.1f, x = 0, y = 0;
  int n = 0;
  while (n < 96 && x * x + y * y < 4) { // here
    float t = x * x - y * y + cx;
    y = 2 * x * y + cy;
    x = t;
    n++;
  }
  o[i] = n;
}
// silent | 1024 64 zeros:int:1024
kernel void rounds_of_a_group(global int *o) {
  int i = get_global_id(0), n = get_group_id(0) * 3 + 5;
  float x = i;
  for (int k = 0; k < n; k++)
    x = x * x + 0.25f;
  o[i] = (int)x;
}
// silent | 1024 64 zeros:float:1024
kernel void choices_in_rounds(global float *o) {
  int i = get_global_id(0);
  float x = i, y = 1;
  for (int k = 0; k < 40; k++) {
    float z = x * y + 0.5f;
    x = z > 4 ? z * 0.25f : z;
    y = fmin(x, y);
  }
  o[i] = x + y;
}

// idle lanes | 1024 64 random:float:1024 random:int:1024 zeros:float:1024
kernel void kinds_of_work(global const float *a, global const int *kind, global float *o) {
  int i = get_global_id(0);
  float x = a[i];
  switch (kind[i] & 3) {
  case 0:
    for (int k = 0; k < 40; k++) // here
      x = x * x + 0.25f; // here
    break;
  case 1:
    for (int k = 0; k < 40; k++) // here
      x = x * 1.5f - x * x; // here
    break;
  case 2:
    for (int k = 0; k < 40; k++) // here
      x = fmax(x * x, 0.125f) - 0.5f; // here
    break;
  default:
    for (int k = 0; k < 40; k++) // here
      x = x * 0.5f + 0.75f; // here
  }
  o[i] = x;
}
// silent | 1024 64 random:float:1024 zeros:float:1024
kernel void kinds_of_groups(global const float *a, global float *o) {
  int i = get_global_id(0);
  float x = a[i];
  if (get_group_id(0) & 1)
    for (int k = 0; k < 40; k++)
      x = x * x + 0.25f;
  else
    for (int k = 0; k < 40; k++)
      x = x * 1.5f - x * x;
  o[i] = x;
}
// silent | 1024 64 random:float:1024 random:int:1024 zeros:float:1024
kernel void kinds_of_few_words(global const float *a, global const int *kind, global float *o) {
  int i = get_global_id(0), c = kind[i] & 3;
  float x = a[i];
  x = c == 0 ? x * 2.0f : c == 1 ? x + 1.0f : c == 2 ? -x : x;
  o[i] = x;
}

// barrier-behind-barrier | 256 64 random:float:256 zeros:float:256
kernel void two_barriers(global const float *a, global float *o) {
  local float t[64];
  int l = get_local_id(0), g = get_global_id(0);
  t[l] = a[g];
  barrier(CLK_LOCAL_MEM_FENCE);
  float x = l * 0.5f;
  barrier(CLK_LOCAL_MEM_FENCE); // here
  o[g] = t[63 - l] + x;
}
// silent | 256 64 random:float:256 zeros:float:256
kernel void read_and_written_between(global const float *a, global float *o) {
  local float t[64];
  int l = get_local_id(0), g = get_global_id(0);
  t[l] = a[g];
  barrier(CLK_LOCAL_MEM_FENCE);
  float x = t[63 - l];
  barrier(CLK_LOCAL_MEM_FENCE);
  t[l] = x * 2;
  barrier(CLK_LOCAL_MEM_FENCE);
  o[g] = t[l ^ 33];
}
// silent | 256 64 random:float:256 zeros:float:512
kernel void written_between(global const float *a, global float *o) {
  local float t[64], u[64];
  int l = get_local_id(0), g = get_global_id(0);
  t[l] = a[g];
  barrier(CLK_LOCAL_MEM_FENCE);
  u[l] = t[63 - l];
  barrier(CLK_LOCAL_MEM_FENCE);
  o[g] = u[l ^ 17];
}

// barrier-over-nothing | 256 64 random:float:256 zeros:float:256
kernel void barrier_behind_the_last_read(global const float *a, global float *o) {
  local float t[64];
  int l = get_local_id(0), g = get_global_id(0);
  t[l] = a[g];
  barrier(CLK_LOCAL_MEM_FENCE);
  float x = t[63 - l];
  barrier(CLK_LOCAL_MEM_FENCE); // here
  o[g] = x;
}
// silent | 256 64 random:float:256 zeros:float:256
kernel void barrier_of_a_loop(global const float *a, global float *o) {
  local float t[64];
  int l = get_local_id(0), g = get_global_id(0);
  float s = 0;
  for (int k = 0; k < 4; k++) {
    t[l] = a[k * 64 + l] + k;
    barrier(CLK_LOCAL_MEM_FENCE);
    s += t[63 - l];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  o[g] = s;
}
// silent | 256 64 random:float:256
kernel void reversed_where_it_stands(global float *a) {
  int l = get_local_id(0), first = get_group_id(0) * 64;
  float x = a[first + 63 - l];
  barrier(CLK_GLOBAL_MEM_FENCE);
  a[first + l] = x;
}

// tree-in-local-memory | 1024 64 random:float:1024 zeros:float:16
kernel void tree_of_a_group(global const float *a, global float *o) {
  local float t[64];
  int l = get_local_id(0);
  t[l] = a[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int s = 32; s > 0; s >>= 1) {
    if (l < s)
      t[l] += t[l + s]; // here
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (l == 0)
    o[get_group_id(0)] = t[0];
}
// silent | 256 64 random:float:256 zeros:float:256
kernel void smoothed_in_local_memory(global const float *a, global float *o) {
  local float t[64];
  int l = get_local_id(0), g = get_global_id(0);
  t[l] = a[g];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int k = 0; k < 6; k++) {
    float x = (t[max(l - 1, 0)] + t[min(l + 1, 63)]) * 0.5f;
    barrier(CLK_LOCAL_MEM_FENCE);
    t[l] = x;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  o[g] = t[l];
}
// silent | 256 64 random:int:256 zeros:int:256
kernel void sorted_in_local_memory(global const int *a, global int *o) {
  local int t[64];
  int l = get_local_id(0), g = get_global_id(0);
  t[l] = a[g];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int size = 2; size <= 64; size <<= 1)
    for (int s = size >> 1; s > 0; s >>= 1) {
      int mine = t[l], other = t[l ^ s];
      int is_less = ((l & s) == 0) == ((l & size) == 0);
      barrier(CLK_LOCAL_MEM_FENCE);
      t[l] = is_less ? min(mine, other) : max(mine, other);
      barrier(CLK_LOCAL_MEM_FENCE);
    }
  o[g] = t[l];
}

// narrow access | 1024 64 random:uchar:32768 zeros:int:1024
kernel void bytes_of_columns(global const uchar *a, global int *o) {
  int i = get_global_id(0), s = 0;
  for (int k = 0; k < 32; k++)
    s += a[k * 1024 + i]; // here
  o[i] = s;
}
// silent | 512 64 random:uchar16:16384 zeros:int:512
kernel void sixteen_bytes(global const uchar16 *a, global int *o) {
  int i = get_global_id(0);
  ushort16 s = 0;
  for (int k = 0; k < 32; k++)
    s += convert_ushort16(a[k * 512 + i]);
  ushort8 e = s.lo + s.hi;
  ushort4 f = e.lo + e.hi;
  o[i] = f.x + f.y + f.z + f.w;
}
// silent | 1024 64 random:uchar:1024 random:float:32768 zeros:float:1024 32
kernel void one_byte_beside_floats(global const uchar *kind, global const float *a, global float *o, int n) {
  int i = get_global_id(0);
  float s = kind[i];
  for (int k = 0; k < n; k++)
    s += a[k * 1024 + i];
  o[i] = s;
}

// sampler-for-integers | compile
const sampler_t linear = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_LINEAR;
const sampler_t nearest = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;
kernel void linear_of_texels(read_only image2d_t a, global float4 *o, int w) {
  int x = get_global_id(0), y = get_global_id(1);
  o[y * w + x] = read_imagef(a, linear, (float2)(x + 0.5f, y + 0.5f)); // here
}
// silent | compile
kernel void linear_between_texels(read_only image2d_t a, global float4 *o, int w, float s) {
  int x = get_global_id(0), y = get_global_id(1);
  o[y * w + x] = read_imagef(a, linear, (float2)(x * s + 0.5f, y * s + 0.5f));
}
// silent | compile
kernel void nearest_texels(read_only image2d_t a, global float4 *o, int w) {
  int x = get_global_id(0), y = get_global_id(1);
  o[y * w + x] = read_imagef(a, nearest, (int2)(x, y));
}

// long-counter | 1024 64 random:float:65536 zeros:float:1024 64
kernel void long_counter(global const float *a, global float *o, long n) {
  int i = get_global_id(0);
  float s = 0;
  for (long k = 0; k < n; k++) // here
    s += a[k * 1024 + i];
  o[i] = s;
}
// silent | 1024 64 random:float:65536 zeros:float:1024 64
kernel void int_counter(global const float *a, global float *o, int n) {
  int i = get_global_id(0);
  float s = 0;
  for (int k = 0; k < n; k++)
    s += a[k * 1024 + i];
  o[i] = s;
}
// silent | 1024 64 random:long:16384 zeros:long:1024 16
kernel void long_values(global const long *a, global long *o, int n) {
  int i = get_global_id(0);
  long s = 0;
  for (int k = 0; k < n; k++)
    s += a[k * 1024 + i];
  o[i] = s;
}

// load-chain | 1024 64 ramp:int:4096 zeros:int:1024 40
kernel void linked_list(global const int *next, global int *o, int n) {
  int i = get_global_id(0), at = i;
  for (int k = 0; k < n; k++)
    at = next[at]; // here
  o[i] = at;
}
// silent | 1024 64 ramp:int:65536 random:float:65536 zeros:float:1024 40
kernel void gathered(global const int *index, global const float *a, global float *o, int n) {
  int i = get_global_id(0);
  float s = 0;
  for (int k = 0; k < n; k++)
    s += a[index[k * 1024 + i]];
  o[i] = s;
}
// silent | 1024 64 random:float:65536 zeros:float:1024 40
kernel void addresses_from_numbers(global const float *a, global float *o, int n) {
  int i = get_global_id(0);
  uint at = i;
  float s = 0;
  for (int k = 0; k < n; k++) {
    at = (at * 5 & 64512) + i;
    s += a[at];
  }
  o[i] = s;
}

// address-that-does-not-change | 1024 64 random:float:65536 zeros:float:65536 random:float:4 40
kernel void factor_in_memory(global const float *a, global float *o, global const float *f, int n) {
  int i = get_global_id(0);
  for (int k = 0; k < n; k++)
    o[k * 1024 + i] = a[k * 1024 + i] * f[2]; // here
}
// silent | 1024 64 random:float:65536 zeros:float:65536 random:float:4 40
kernel void factor_of_restrict(global const float *restrict a, global float *restrict o, global const float *restrict f,
                               int n) {
  int i = get_global_id(0);
  for (int k = 0; k < n; k++)
    o[k * 1024 + i] = a[k * 1024 + i] * f[2];
}
// silent | 1024 64 random:float:65536 zeros:float:65536 random:float:4 40
kernel void factor_before_the_loop(global const float *a, global float *o, global const float *f, int n) {
  int i = get_global_id(0);
  float factor = f[2];
  for (int k = 0; k < n; k++)
    o[k * 1024 + i] = a[k * 1024 + i] * factor;
}

// address-that-does-not-change | 1024 64 random:float:65536 zeros:float:1024 40
kernel void sum_in_memory(global const float *a, global float *o, int n) {
  int i = get_global_id(0);
  for (int k = 0; k < n; k++)
    o[i] += a[k * 1024 + i]; // here
}
// silent | 1024 64 random:float:65536 zeros:float:65536 40
kernel void sums_of_rows(global const float *a, global float *o, int n) {
  int i = get_global_id(0);
  float s = 0;
  for (int k = 0; k < n; k++) {
    s += a[k * 1024 + i];
    o[k * 1024 + i] = s;
  }
}
// silent | 1024 64 random:float:65536 zeros:float:65536 40
kernel void changed_where_they_stand(global const float *a, global float *o, int n) {
  int i = get_global_id(0);
  for (int k = 0; k < n; k++)
    o[k * 1024 + i] += a[k * 1024 + i];
}

// unfused-multiply-add | 1024 64 random:float:65536 random:float:65536 zeros:float:1024 60
kernel void product_of_a_statement(global const float *a, global const float *b, global float *o, int n) {
  int i = get_global_id(0);
  float s = 0, t = 0;
  for (int k = 0; k < n; k++) {
    float x = a[k * 1024 + i], y = b[k * 1024 + i];
    float p = x * y;
    s += p; // here
    float q = x * x;
    t += q;
  }
  o[i] = s + t;
}
// silent | 1024 64 random:float:65536 random:float:65536 zeros:float:1024 60
kernel void product_and_sum(global const float *a, global const float *b, global float *o, int n) {
  int i = get_global_id(0);
  float s = 0, t = 0;
  for (int k = 0; k < n; k++) {
    float x = a[k * 1024 + i], y = b[k * 1024 + i];
    s = mad(x, y, s);
    t = mad(x, x, t);
  }
  o[i] = s + t;
}
// silent | 1024 64 random:float:65536 zeros:float:65536 zeros:float:1024 60
kernel void product_that_is_kept(global const float *a, global float *b, global float *o, int n) {
  int i = get_global_id(0);
  float s = 0;
  for (int k = 0; k < n; k++) {
    float x = a[k * 1024 + i], p = x * x;
    b[k * 1024 + i] = p;
    s += p;
  }
  o[i] = s;
}

// conversion-in-a-loop | 1024 64 zeros:int:1024 60
kernel void back_and_forth(global int *o, int n) {
  int i = get_global_id(0), s = i;
  for (int k = 0; k < n; k++)
    s = (int)((float)s * 0.75f) + k; // here
  o[i] = s;
}
// silent | 1024 64 random:uint:65536 zeros:float:1024 60
kernel void pixels_of_words(global const uint *a, global float *o, int n) {
  int i = get_global_id(0);
  float s = 0;
  for (int k = 0; k < n; k++)
    s = mad((float)(a[k * 1024 + i] & 255), 0.25f, s);
  o[i] = s;
}
// silent | 1024 64 zeros:float:1024 60
kernel void converted_behind_the_loop(global float *o, int n) {
  int i = get_global_id(0), s = i;
  for (int k = 0; k < n; k++)
    s = s * 5 + (s >> 3) + k;
  o[i] = (float)s * 0.5f;
}

// idle lanes | 64x64 64x1 random:float:4096 zeros:float:4096 33
kernel void edge_of_33(global const float *a, global float *o, int w) {
  int x = get_global_id(0), y = get_global_id(1);
  if (x >= w)
    return;
  float s = a[y * w + x];
  for (int k = 0; k < 20; k++) // here
    s = s * s + 0.25f; // here
  o[y * w + x] = s;
}
// silent | 64x64 64x1 random:float:4096 zeros:float:4096 62
kernel void edge_of_62(global const float *a, global float *o, int w) {
  int x = get_global_id(0), y = get_global_id(1);
  if (x >= w)
    return;
  float s = a[y * 64 + x];
  for (int k = 0; k < 20; k++)
    s = s * s + 0.25f;
  o[y * 64 + x] = s;
}
// silent | 64x64 64x1 random:float:4096 zeros:float:4096 33
kernel void edge_of_rows(global const float *a, global float *o, int h) {
  int x = get_global_id(0), y = get_global_id(1);
  if (y >= h)
    return;
  float s = a[y * 64 + x];
  for (int k = 0; k < 20; k++)
    s = s * s + 0.25f;
  o[y * 64 + x] = s;
}

// too-little-work | 4096 64 zeros:uchar:4096 7
kernel void one_byte_each(global uchar *o, int v) {
  o[get_global_id(0)] = v; // here
}
// silent | 4096 64 random:float:4096 zeros:float:4096
kernel void one_float_each(global const float *a, global float *o) {
  int i = get_global_id(0);
  o[i] = a[i];
}
// silent | 256 64 zeros:uchar16:256 7
kernel void sixteen_bytes_each(global uchar16 *o, int v) {
  o[get_global_id(0)] = (uchar16)(uchar)v;
}

// half-width-exchange | 1024 64 random:ushort:1024 zeros:uint:512
kernel void half_of_a_word(global const ushort *a, volatile global uint *o) {
  int i = get_global_id(0), shift = (i & 1) * 16;
  uint old = o[i >> 1], seen;
  for (;;) {
    uint sum = ((old >> shift) + a[i]) & 0xffff;
    seen = atomic_cmpxchg(&o[i >> 1], old, (old & ~(0xffffu << shift)) | (sum << shift)); // here
    if (seen == old)
      break;
    old = seen;
  }
}
// silent | 1024 64 random:uint:1024 zeros:uint:1024
kernel void whole_words(global const uint *a, volatile global uint *o) {
  int i = get_global_id(0);
  uint old = o[i], seen;
  while ((seen = atomic_cmpxchg(&o[i], old, add_sat(old, a[i]))) != old)
    old = seen;
}
// silent | 512 64 random:uint:1024 zeros:uint:512
kernel void halves_put_together(global const uint2 *a, global uint *o) {
  int i = get_global_id(0);
  uint2 x = a[i];
  o[i] = (x.x & 0xffff) | x.y << 16;
}
