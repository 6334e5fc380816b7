// Kernels with one fault of access each, and kernels that look like them. Arguments: a, b (floats), idx (a permutation), n.
#define ARGS global const float *a, global float *b, global const int *idx, int n
#define ID int i = get_global_id(0), l = get_local_id(0)
typedef struct { float x, y, z, w; } point;
typedef struct { float v[8]; } wide;

// expect: strided access
kernel void stride_2(ARGS) { ID;
    b[i] = a[2 * i];
}
// expect: strided access
kernel void stride_from_the_id(ARGS) { ID;
    b[i] = a[(i * 16) & (n - 1)];
}
// expect: strided access
kernel void stride_of_a_row(ARGS) { ID;
    float s = 0;
    for (int k = 0; k < 16; k++)
        s += a[i * 16 + k];
    b[i] = s;
}
// expect: strided access
kernel void array_of_structures(ARGS) { ID;
    global const point *p = (global const point *)a;
    b[i] = p[i].x;
}
// expect: strided access
kernel void stores_of_structures(ARGS) { ID;
    global wide *p = (global wide *)b;
    p[i & 1023].v[3] = a[i];
}
// expect: strided access
kernel void transposed_store(ARGS) { ID;
    int row = i / 64, column = i % 64;
    b[column * 64 + row] = a[i];
}
// expect: strided access
kernel void transposed_load(ARGS) { ID;
    int row = i / 64, column = i % 64;
    b[i] = a[column * 64 + row];
}
// expect: scattered access
kernel void gather(ARGS) { ID;
    b[i] = a[idx[i]];
}
// expect: scattered access
kernel void scatter(ARGS) { ID;
    b[idx[i]] = a[i];
}
// expect: bank conflict
kernel void banks_16(ARGS) { ID;
    local float tile[64 * 16];
    tile[l * 16] = a[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    b[i] = tile[(63 - l) * 16];
}
// expect: bank conflict
kernel void banks_32(ARGS) { ID;
    local float tile[64 * 32];
    tile[l * 32] = a[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    b[i] = tile[(63 - l) * 32];
}
// expect: bank conflict
kernel void banks_64(ARGS) { ID;
    local float tile[64 * 64];
    tile[l * 64] = a[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    b[i] = tile[(63 - l) * 64];
}
// expect: bank conflict
kernel void banks_of_a_tree(ARGS) { ID;
    local float sums[64];
    sums[l] = a[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int s = 1; s < 64; s *= 2) {
        int k = 2 * s * l;
        if (k + s < 64)
            sums[k] += sums[k + s];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (l == 0)
        b[get_group_id(0)] = sums[0];
}
// expect: contention
kernel void one_counter(ARGS) { ID;
    if (a[i] > 0.5f)
        atomic_inc((global int *)b);
}
// expect: contention
kernel void few_bins(ARGS) { ID;
    atomic_add((global int *)b + (idx[i] & 3), 1);
}
// expect: contention
kernel void local_bins(ARGS) { ID;
    local int bins[4];
    if (l < 4)
        bins[l] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    atomic_add(&bins[idx[i] & 3], 1);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l < 4)
        b[get_group_id(0) * 4 + l] = bins[l];
}
// expect: idle lanes
kernel void divergent_halves(ARGS) { ID;
    float x = a[i];
    if (l & 1)
        for (int k = 0; k < 40; k++)
            x = x * 1.5f + 0.25f;
    b[i] = x;
}
// expect: idle lanes
kernel void one_lane_works(ARGS) { ID;
    float x = a[i];
    if ((i & 31) == 0)
        for (int k = 0; k < 60; k++)
            x = x * x + 0.5f;
    b[i] = x;
}
// expect: idle lanes
kernel void uneven_rounds(ARGS) { ID;
    float x = a[i];
    int rounds = (idx[i] & 31) == 0 ? 200 : 4;
    for (int k = 0; k < rounds; k++)
        x = x * 1.5f + 0.25f;
    b[i] = x;
}
// expect: barrier over nothing
kernel void barrier_over_nothing(ARGS) { ID;
    float x = a[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    b[i] = x;
}
#define SYNC barrier(CLK_LOCAL_MEM_FENCE)
// expect: barrier over nothing
kernel void barrier_of_a_macro(ARGS) { ID;
    float x = a[i];
    SYNC;
    b[i] = x;
}
// expect: barrier over nothing
kernel void barrier_by_its_number(ARGS) { ID;
    float x = a[i];
    barrier(1);
    b[i] = x;
}
// expect: misaligned access
kernel void all_misaligned(ARGS) { ID;
    float4 x = vload4(0, a + 4 * i + 1);
    b[i + 1] = x.x + a[i + 1] + a[i + 3] + x.y + a[i + 5];
}

// silent from here on
kernel void copy(ARGS) { ID;
    b[i] = a[i];
}
kernel void copy_4(ARGS) { ID;
    ((global float4 *)b)[i] = ((global const float4 *)a)[i];
}
kernel void reversed(ARGS) { ID;
    b[i] = a[(int)get_global_size(0) - 1 - i];
}
kernel void swapped_in_a_sub_group(ARGS) { ID;
    b[i] = a[i ^ 7];
}
kernel void broadcast(ARGS) { ID;
    b[i] = a[0];
}
kernel void broadcast_of_a_group(ARGS) { ID;
    b[i] = a[get_group_id(0)];
}
kernel void structure_read_whole(ARGS) { ID;
    float4 p = ((global const float4 *)a)[i];
    b[i] = p.x + p.y + p.z + p.w;
}
kernel void bytes(ARGS) { ID;
    ((global uchar *)b)[i] = ((global const uchar *)a)[i];
}
kernel void shorts(ARGS) { ID;
    ((global ushort *)b)[i] = ((global const ushort *)a)[i];
}
kernel void doubles_of_bits(ARGS) { ID;
    ((global ulong *)b)[i] = ((global const ulong *)a)[i];
}
kernel void sorted_gather(ARGS) { ID;
    b[i] = a[idx[i] * 0 + i];
}
kernel void stencil(ARGS) { ID;
    if (i > 0 && i < n - 1)
        b[i] = 0.25f * a[i - 1] + 0.5f * a[i] + 0.25f * a[i + 1];
}
kernel void stencil_5(ARGS) { ID;
    float s = 0;
    for (int k = -2; k <= 2; k++)
        s += a[clamp(i + k, 0, n - 1)];
    b[i] = s;
}
kernel void grid_stride(ARGS) { ID;
    for (int k = i; k < 4096; k += get_global_size(0))
        b[k] = a[k];
}
kernel void columns(ARGS) { ID;
    float s = 0;
    for (int k = 0; k < 16; k++)
        s += a[k * 256 + i];
    b[i] = s;
}
// expect: repeated load
kernel void row_of_a_group(ARGS) { ID;
    float s = 0;
    for (int k = 0; k < 16; k++)
        s += a[get_group_id(0) * 16 + k];
    b[i] = s;
}
kernel void padded_banks(ARGS) { ID;
    local float tile[64 * 33];
    tile[l * 33] = a[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    b[i] = tile[(63 - l) * 33];
}
kernel void odd_banks(ARGS) { ID;
    local float tile[64 * 5];
    tile[l * 5] = a[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    b[i] = tile[(63 - l) * 5];
}
kernel void banks_in_order(ARGS) { ID;
    local float tile[64];
    tile[l] = a[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    b[i] = tile[63 - l];
}
kernel void banks_of_one_word(ARGS) { ID;
    local float tile[64];
    tile[l] = a[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    b[i] = tile[0] + tile[l];
}
kernel void local_bytes(ARGS) { ID;
    local uchar tile[64];
    tile[l] = (uchar)a[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    b[i] = tile[63 - l];
}
kernel void local_4(ARGS) { ID;
    local float4 tile[64];
    tile[l] = ((global const float4 *)a)[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    ((global float4 *)b)[i] = tile[63 - l];
}
kernel void tree_in_order(ARGS) { ID;
    local float sums[64];
    sums[l] = a[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int s = 32; s > 0; s /= 2) {
        if (l < s)
            sums[l] += sums[l + s];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (l == 0)
        b[get_group_id(0)] = sums[0];
}
kernel void scan_in_two_rows(ARGS) { ID;
    local float rows[2][64];
    rows[0][l] = a[i];
    barrier(1);
    int k = 0;
    for (int s = 1; s < 64; s <<= 1, k ^= 1) {
        rows[k ^ 1][l] = rows[k][l] + (l >= s ? rows[k][l - s] : 0);
        SYNC;
    }
    b[i] = rows[0][l];
}
kernel void many_bins(ARGS) { ID;
    atomic_add((global int *)b + i, 1);
}
kernel void bins_of_a_permutation(ARGS) { ID;
    atomic_add((global int *)b + (idx[i] & 8191), 1);
}
kernel void one_atomic_of_a_group(ARGS) { ID;
    if (l == 0)
        atomic_inc((global int *)b);
    b[i + 64] = a[i];
}
kernel void same_way_for_a_sub_group(ARGS) { ID;
    float x = a[i];
    if ((i / 32) & 1)
        for (int k = 0; k < 40; k++)
            x = x * 1.5f + 0.25f;
    b[i] = x;
}
kernel void short_branch(ARGS) { ID;
    float x = a[i];
    if (l & 1)
        x = x * 1.5f;
    for (int k = 0; k < 20; k++)
        x = x * x + 0.5f;
    b[i] = x;
}
kernel void guard(ARGS) { ID;
    if (i < 250)
        b[i] = a[i];
}
kernel void choice_without_branch(ARGS) { ID;
    float x = a[i];
    for (int k = 0; k < 20; k++)
        x = (l & 1) ? x * 1.5f : x + 1.0f;
    b[i] = x;
}
kernel void first_lane_stores(ARGS) { ID;
    float x = a[i];
    for (int k = 0; k < 20; k++)
        x = x * x + 0.5f;
    if (l == 0)
        b[get_group_id(0)] = x;
}
kernel void equal_rounds(ARGS) { ID;
    float x = a[i];
    for (int k = 0; k < 30; k++)
        x = x * 1.5f + 0.25f;
    b[i] = x;
}
kernel void barrier_of_global_memory(ARGS) { ID;
    b[i] = a[i];
    barrier(CLK_GLOBAL_MEM_FENCE);
    b[i + 256] = b[i ^ 1];
}
kernel void barrier_of_both(ARGS) { ID;
    b[i] = a[i];
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    b[i + 256] = b[i ^ 1];
}
kernel void rows_of_units(ARGS) { ID;
    int row = i / 8, column = i % 8;
    b[i] = a[row * 64 + column];
}
kernel void pairs(ARGS) { ID;
    float2 p = ((global const float2 *)a)[i];
    b[i] = p.x + p.y;
}
kernel void two_arrays(ARGS) { ID;
    b[i] = a[i] + a[i + 4096];
}
kernel void swapped_in_local_memory(ARGS) { ID;
    local float tile[64];
    tile[l] = a[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    b[i] = tile[l ^ 33];
}
kernel void small_gather_beside_much(ARGS) { ID;
    float s = 0;
    for (int k = 0; k < 64; k++)
        s += a[k * 256 + i];
    b[i] = s + a[idx[i] & 255];
}
kernel void constants_by_value(ARGS) { ID;
    b[i] = a[i] * n + 2.0f;
}
