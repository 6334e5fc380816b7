// Rebuilds intel/torch-xpu-ops 5005: a sum of values of mixed types, whose cast went through private memory.
float fetch(global const uchar *in, int type, int i, private float *values, int slot) {
  switch (type) {
  case 0: values[slot] = ((global const char *)in)[i]; break; // cause
  case 1: values[slot] = ((global const uchar *)in)[i]; break; // cause
  case 2: values[slot] = ((global const short *)in)[i]; break; // cause
  case 3: values[slot] = ((global const int *)in)[i]; break; // cause
  case 4: values[slot] = ((global const long *)in)[i]; break; // cause
  case 5: values[slot] = vload_half(i, (global const half *)in); break; // cause
  case 6: values[slot] = as_float((uint)((global const ushort *)in)[i] << 16); break; // cause
  default: values[slot] = ((global const float *)in)[i]; // cause
  }
  return values[slot ^ (type & 1)]; // cause
}
kernel void before(global const uchar *a, global const uchar *b, global float *out, int type_a, int type_b, int each) {
  float values[256]; // cause
  const int first = get_global_id(0) * 1;
  for (int k = 0; k < each; k++) {
    const int i = first + k * get_global_size(0);
    fetch(a, type_a, i, values, 2 * k);
    fetch(b, type_b, i, values, 2 * k + 64);
  }
  for (int k = 0; k < each; k++)
    out[first + k * get_global_size(0)] = values[2 * k] + values[2 * k + 64]; // cause
}
float fetch_float(global const uchar *in, int type, int i) {
  switch (type) {
  case 5: return vload_half(i, (global const half *)in);
  case 6: return as_float((uint)((global const ushort *)in)[i] << 16);
  default: return ((global const float *)in)[i];
  }
}
kernel void after(global const uchar *a, global const uchar *b, global float *out, int type_a, int type_b, int each) {
  for (int k = 0; k < each; k++) {
    const int i = get_global_id(0) + k * get_global_size(0);
    out[i] = fetch_float(a, type_a, i) + fetch_float(b, type_b, i);
  }
}
