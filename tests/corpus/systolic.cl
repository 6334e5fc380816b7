/* Matrix products on the systolic array: one tile of WIDTH columns for each sub-group, of int8 and of bf16, in loops that the
   compiler can chain, with prefetches of the next tiles where the device has messages for blocks of two dimensions. */
#ifndef WIDTH
#define WIDTH 8
#endif
#ifndef ROWS
#define ROWS 4
#endif
#define PART __attribute__((intel_reqd_sub_group_size(WIDTH)))
#if WIDTH == 8
typedef int8 a_tile;
#define READ_A(p) as_int8(intel_sub_group_block_read8((const global uint *)(p)))
#else
typedef short8 a_tile;
#define READ_A(p) as_short8(intel_sub_group_block_read_us8((const global ushort *)(p)))
#endif
#define READ_B(p) as_int8(intel_sub_group_block_read8((const global uint *)(p)))

PART kernel void product_i8(global const char *a, global const char *b, global int *c, int depth)
{
    int column = get_group_id(0), row = get_group_id(1);
    int8 sum[ROWS];
    for(int i = 0; i < ROWS; i++)
        sum[i] = 0;
    for(int k = 0; k < depth; k++)
    {
        int8 right = READ_B(b + (column * depth + k) * 32 * WIDTH);
        for(int i = 0; i < ROWS; i++)
            sum[i] = intel_sub_group_i8_i8_matrix_mad_k32(READ_A(a + ((row * ROWS + i) * depth + k) * 256), right, sum[i]);
    }
    for(int i = 0; i < ROWS; i++)
        intel_sub_group_block_write8((global uint *)(c + ((row * ROWS + i) * get_num_groups(0) + column) * 8 * WIDTH), as_uint8(sum[i]));
}

PART kernel void product_bf16(global const short *a, global const short *b, global float *c, int depth)
{
    int column = get_group_id(0), row = get_group_id(1);
    float8 sum[ROWS];
    for(int i = 0; i < ROWS; i++)
        sum[i] = 0;
    for(int k = 0; k < depth; k++)
    {
        int8 right = READ_B(b + (column * depth + k) * 16 * WIDTH);
        for(int i = 0; i < ROWS; i++)
            sum[i] = intel_sub_group_bf16_bf16_matrix_mad_k16(READ_A(a + ((row * ROWS + i) * depth + k) * 128), right, sum[i]);
    }
    for(int i = 0; i < ROWS; i++)
        intel_sub_group_block_write8((global uint *)(c + ((row * ROWS + i) * get_num_groups(0) + column) * 8 * WIDTH), as_uint8(sum[i]));
}

#if WIDTH == 8
/* Half of the rows come from the other thread of the pair. */
PART kernel void product_of_two_i8(global const char *a, global const char *b, global int *c, int depth)
{
    int8 sum = 0;
    for(int k = 0; k < depth; k++)
        sum = intel_sub_group_i8_i8_split_matrix_mad_k32(as_int4(intel_sub_group_block_read4((const global uint *)(a + k * 128))),
                                                         READ_B(b + k * 256), sum);
    intel_sub_group_block_write8((global uint *)c, as_uint8(sum));
}

PART kernel void product_of_two_bf16(global const short *a, global const short *b, global float *c, int depth)
{
    float8 sum = 0;
    for(int k = 0; k < depth; k++)
        sum = intel_sub_group_bf16_bf16_split_matrix_mad_k16(as_int4(intel_sub_group_block_read4((const global uint *)(a + k * 64))),
                                                             READ_B(b + k * 128), sum);
    intel_sub_group_block_write8((global uint *)c, as_uint8(sum));
}
#endif

#ifdef cl_intel_subgroup_2d_block_io
/* What OpenCL's programs call to bring blocks of two dimensions into a cache and into registers. */
PART kernel void product_of_blocks(global short *a, global short *b, global float *c, int width, int height)
{
    int2 place = (int2)(get_group_id(0) * 16, get_group_id(1) * 32);
    float8 sum[4] = { 0, 0, 0, 0 };
    for(int k = 0; k < width; k += 16)
    {
        ushort left[32];
        uint right[8];
        intel_sub_group_2d_block_prefetch_16b_32r16x1c(a, width * 2, height, width * 2, (int2)(k + 48, place.y));
        intel_sub_group_2d_block_prefetch_16b_16r16x1c(b, width * 2, height, width * 2, (int2)(place.x, k + 48));
        intel_sub_group_2d_block_read_16b_32r16x1c(a, width * 2, height, width * 2, (int2)(k, place.y), left);
        intel_sub_group_2d_block_read_transform_16b_16r16x1c(b, width * 2, height, width * 2, (int2)(place.x, k), right);
        int8 of_b = (int8)(right[0], right[1], right[2], right[3], right[4], right[5], right[6], right[7]);
        for(int i = 0; i < 4; i++)
        {
            short8 of_a = (short8)(left[8 * i], left[8 * i + 1], left[8 * i + 2], left[8 * i + 3],
                                   left[8 * i + 4], left[8 * i + 5], left[8 * i + 6], left[8 * i + 7]);
            sum[i] = intel_sub_group_bf16_bf16_matrix_mad_k16(of_a, of_b, sum[i]);
        }
    }
    for(int i = 0; i < 4; i++)
        intel_sub_group_block_write8((global uint *)(c + i * 128), as_uint8(sum[i]));
}
#endif
