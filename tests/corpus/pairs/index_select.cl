// Rebuilds intel/torch-xpu-ops 924: the offset of an element, with a loop over as many dimensions as there can be.
#define MOST 12
typedef struct { long sizes[MOST]; long strides[MOST]; } Tensor;
long offset_of_all(long linear, int dims, constant long *sizes, constant long *strides) {
  long offset = 0;
#pragma unroll
  for (int dim = MOST - 1; dim >= 0; --dim) {
    if (dim < dims) {
      const long size = sizes[dim];
      offset += (linear % size) * strides[dim]; // cause
      linear /= size; // cause
    }
  }
  return offset;
}
long offset_of(long linear, int dims, constant long *sizes, constant long *strides) {
  long offset = 0;
  for (int dim = dims - 1; dim > 0; --dim) {
    offset += (linear % sizes[dim]) * strides[dim];
    linear /= sizes[dim];
  }
  return offset + linear * strides[0];
}
kernel void before(global const float *in, constant long *sizes, constant long *strides, int dims,
                   global const long *index, global float *out) {
  const long i = get_global_id(0);
  out[i] = in[offset_of_all(index[i], dims, sizes, strides)];
}
kernel void after(global const float *in, constant long *sizes, constant long *strides, int dims,
                  global const long *index, global float *out) {
  const long i = get_global_id(0);
  out[i] = in[offset_of(index[i], dims, sizes, strides)];
}
