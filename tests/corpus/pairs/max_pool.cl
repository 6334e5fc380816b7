// Rebuilds intel/torch-xpu-ops 1883: the largest value of a window, channels last; one channel of 16 bits for each work-item.
#define K 3
kernel void before(global const short *in, global short *out, global int *indices, int channels, int width, int height,
                   int out_width, int out_height) {
  const int i = get_global_id(0);
  const int c = i % channels;
  const int x = i / channels % out_width, y = i / channels / out_width % out_height;
  short most = SHRT_MIN;
  int at = -1;
  for (int h = y * 2; h < min(y * 2 + K, height); h++)
    for (int w = x * 2; w < min(x * 2 + K, width); w++) {
      const short value = in[(h * width + w) * channels + c]; // cause
      if (value > most) {
        most = value;
        at = h * width + w;
      }
    }
  out[i] = most; // cause
  indices[i] = at;
}
kernel void after(global const short8 *in, global short8 *out, global int8 *indices, int channels, int width, int height,
                  int out_width, int out_height) {
  const int i = get_global_id(0);
  const int c = i % channels;
  const int x = i / channels % out_width, y = i / channels / out_width % out_height;
  short8 most = SHRT_MIN;
  int8 at = -1;
  for (int h = y * 2; h < min(y * 2 + K, height); h++)
    for (int w = x * 2; w < min(x * 2 + K, width); w++) {
      const short8 value = in[(h * width + w) * channels + c];
      const short8 is_more = value > most;
      most = select(most, value, is_more);
      at = select(at, (int8)(h * width + w), convert_int8(is_more));
    }
  out[i] = most;
  indices[i] = at;
}
