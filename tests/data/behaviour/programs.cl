// Kernels as programs have them: products of matrices, stencils, sums, sorts, sparse rows, images, structures.
typedef struct { float x, y, z, mass; } body;
typedef struct { uchar r, g, b; } pixel;
constant float weights[9] = {1, 2, 1, 2, 4, 2, 1, 2, 1};

kernel void matmul(global const float *a, global const float *b, global float *c, int n)
{
    int x = get_global_id(0), y = get_global_id(1);
    float sum = 0;
    for (int k = 0; k < n; k++)
        sum += a[y * n + k] *
               b[k * n + x];
    c[y * n + x] = sum;
}

kernel void matmul_swapped(global const float *a, global const float *b, global float *c, int n)
{
    int y = get_global_id(0), x = get_global_id(1);
    float sum = 0;
    for (int k = 0; k < n; k++)
        sum += a[y * n + k] *
               b[k * n + x];
    c[y * n + x] = sum;
}

kernel void matmul_tiled(global const float *a, global const float *b, global float *c, int n)
{
    local float left[16][16], right[16][17];
    int lx = get_local_id(0), ly = get_local_id(1), x = get_global_id(0), y = get_global_id(1);
    float sum = 0;
    for (int t = 0; t < n / 16; t++) {
        left[ly][lx] = a[y * n + t * 16 + lx];
        right[lx][ly] = b[(t * 16 + ly) * n + x];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < 16; k++)
            sum += left[ly][k] *
                   right[lx][k];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    c[y * n + x] = sum;
}

kernel void gesummv(global const float *a, global const float *b, global const float *x, global float *y, int n)
{
    int i = get_global_id(0);
    float s = 0, t = 0;
    for (int j = 0; j < n; j++) {
        s += a[i * n + j] * x[j];
        t += b[j * n + i] * x[j];
    }
    y[i] = 1.5f * s + 0.5f * t;
}

kernel void triangle(global float *a, int n)
{
    int i = get_global_id(0);
    for (int j = 0; j <= i; j++)
        a[j * n + i] = a[j * n + i] * 0.5f + j;
}

kernel void jacobi(global const float *in, global float *out, int w, int h)
{
    int x = get_global_id(0), y = get_global_id(1);
    if (x < 1 || y < 1 || x >= w - 1 || y >= h - 1)
        return;
    global const float *p = in + y * w + x;
    float sum = p[-1] + p[1];
    sum += p[-w];
    sum += p[w];
    out[y * w + x] = 0.25f * sum;
}

kernel void sobel(global const uchar *in, global uchar *out, int w, int h)
{
    int x = get_global_id(0), y = get_global_id(1), sum = 0;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++) {
            int cx = clamp(x + dx, 0, w - 1), cy = clamp(y + dy, 0, h - 1);
            sum += in[cy * w + cx] *
                   (int)weights[(dy + 1) * 3 + dx + 1];
        }
    out[y * w + x] = sum / 16;
}

kernel void mirrored(global const float *in, global float *out, int w)
{
    int x = get_global_id(0), left = x - 2;
    if (left < 0)
        left = -left;
    out[x] = in[left] +
             in[w - 1 - x];
}

kernel void rgb(global const pixel *in, global uchar *gray, global const uchar *table)
{
    int i = get_global_id(0);
    pixel p = in[i];
    uchar3 q = vload3(i, (global const uchar *)in);
    gray[i] = (p.r + q.y + table[p.b]) / 3;
}

kernel void bodies(global const body *in, global float4 *out, int n, float step)
{
    local float4 tile[64];
    int i = get_global_id(0), l = get_local_id(0);
    float4 me = ((global const float4 *)in)[i], force = 0;
    for (int t = 0; t < n; t += 64) {
        tile[l] = ((global const float4 *)in)[t + l];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < 64; k++) {
            float4 d = tile[k] - me;
            force += d * d.w;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    out[i] = me + step * force +
             in[n - 1 - i].mass;
}

kernel void sparse(global const int *rows, global const int *columns, global const float *values,
                   global const float *x, global float *y)
{
    int i = get_global_id(0);
    float sum = 0;
    for (int k = rows[i];
         k < rows[i + 1]; k++)
        sum += values[k] *
               x[columns[k]];
    y[i] = sum;
}

kernel void sum_of_groups(global const float *in, global float *out, int n)
{
    local float part[64];
    int l = get_local_id(0), size = get_local_size(0);
    float sum = 0;
    for (int i = get_global_id(0); i < n; i += get_global_size(0))
        sum += in[i];
    part[l] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int s = size / 2; s > 0; s >>= 1) {
        if (l < s)
            part[l] += part[l + s];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (l == 0)
        out[get_group_id(0)] = part[0];
}

kernel void scan(global const int *in, global int *out)
{
    local int a[64], b[64];
    int l = get_local_id(0), i = get_global_id(0);
    local int *from = a, *to = b;
    from[l] = in[i];
    for (int d = 1; d < 64; d *= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        to[l] = l >= d ? from[l] + from[l - d] : from[l];
        local int *other = from;
        from = to;
        to = other;
    }
    out[i] = from[l];
}

kernel void bitonic(global int *data, int step, int stage)
{
    int i = get_global_id(0);
    int other = i ^ step;
    if (other > i) {
        int x = data[i];
        int y = data[other];
        if ((x > y) == ((i & stage) == 0)) {
            data[i] = y;
            data[other] = x;
        }
    }
}

kernel void histogram(global const uchar *in, global int *out, int n)
{
    local int bins[256];
    int l = get_local_id(0);
    for (int k = l; k < 256; k += get_local_size(0))
        bins[k] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = get_global_id(0); i < n; i += get_global_size(0))
        atomic_inc(&bins[in[i]]);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = l; k < 256; k += get_local_size(0))
        atomic_add(&out[k],
                   bins[k]);
}

float row_sum(global const float *row, int count, int apart)
{
    float sum = 0;
    for (int k = 0; k < count; k++) {
        if (row[k * apart] < 0)
            continue;
        sum += row[k * apart];
    }
    return sum;
}

kernel void rows_and_columns(global const float *in, global float *out, int n)
{
    int i = get_global_id(0);
    out[i] = row_sum(in + i * n, n, 1) +
             row_sum(in + i, n, n);
    out[i + n] = row_sum(in, n, n);
}

kernel void search(global const int *sorted, global const int *keys, global int *out, int n)
{
    int i = get_global_id(0), low = 0, high = n;
    int key = keys[i];
    while (low < high) {
        int middle = (low + high) / 2;
        if (sorted[middle] < key)
            low = middle + 1;
        else
            high = middle;
    }
    out[i] = low;
}

kernel void first_of(global const int *in, global int *out, int n)
{
    int i = get_global_id(0), k = 0;
    for (; k < n; k++)
        if (in[k * n + i] > 30)
            break;
    out[i] = in[k];
    out[i + n] = k;
}

kernel void interleaved(global const float *in, global float *out, int channels, int n)
{
    int i = get_global_id(0);
    for (int c = 0; c < channels; c++)
        out[c * n + i] =
            in[i * channels + c];
}

kernel void swizzle(global const float2 *in, global float *re, global float *im, int2 shift)
{
    int2 p = (int2)(get_global_id(0), get_global_id(1)) + shift;
    int at = p.y * 64 + p.x;
    re[at] = in[at].x;
    im[at] = in[at].y;
    float4 v = vload4(at, (global const float *)in);
    re[at + 8192] = v.w;
}

kernel void halves(global const half *in, global float *out)
{
    int i = get_global_id(0);
    float2 two = vload_half2(i, in);
    out[2 * i] = two.x;
    out[2 * i + 1] = two.y +
                     vload_half(i, in);
}

kernel void switched(global const float *in, global float *out, int mode, int n)
{
    int i = get_global_id(0), at = i;
    if (mode == 1)
        at = i + n;
    else if (mode > 1)
        at = i + 2 * n;
    out[i] = in[at];
    if ((i & 3) == 1)
        at = 0;
    else if ((i & 3) > 1)
        at = i + 2 * n;
    out[i + n] = in[at];
}

kernel void wavelet(global float *data, int n)
{
    local float line[128];
    int l = get_local_id(0), row = get_group_id(0) * n;
    line[l] = data[row + l];
    line[l + 64] = data[row + l + 64];
    barrier(CLK_LOCAL_MEM_FENCE);
    float even = line[2 * l],
          odd = line[2 * l + 1];
    data[row + l] = even + odd;
    data[row + l + n / 2] = even - odd;
}
