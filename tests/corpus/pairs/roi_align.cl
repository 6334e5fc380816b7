// Rebuilds intel/torch-xpu-ops 1698: each region's five numbers, read by all work-items of the region.
float sample(global const float *in, int height, int width, float y, float x) {
  y = fmax(y, 0.0f);
  x = fmax(x, 0.0f);
  const int top = min((int)y, height - 1), left = min((int)x, width - 1);
  const int bottom = min(top + 1, height - 1), right = min(left + 1, width - 1);
  const float dy = y - top, dx = x - left;
  return (1 - dy) * ((1 - dx) * in[top * width + left] + dx * in[top * width + right]) +
         dy * ((1 - dx) * in[bottom * width + left] + dx * in[bottom * width + right]);
}
kernel void before(global const float *in, global const float *rois, global float *out, int channels, int height, int width,
                   int pooled, float scale) {
  const int i = get_global_id(0);
  const int pw = i % pooled, ph = i / pooled % pooled, c = i / pooled / pooled % channels;
  const int n = i / pooled / pooled / channels;
  global const float *roi = rois + n * 5;
  const int batch = roi[0]; // cause
  const float left = roi[1] * scale - 0.5f, top = roi[2] * scale - 0.5f; // cause
  const float right = roi[3] * scale - 0.5f, bottom = roi[4] * scale - 0.5f; // cause
  const float bin_h = (bottom - top) / pooled, bin_w = (right - left) / pooled;
  global const float *plane = in + (batch * channels + c) * height * width;
  out[i] = sample(plane, height, width, top + (ph + 0.5f) * bin_h, left + (pw + 0.5f) * bin_w);
}
kernel void after(global const float *in, global const float *rois, global float *out, int channels, int height, int width,
                  int pooled, float scale, int groups_per_roi) {
  local float roi[5];
  const int n = get_group_id(0) / groups_per_roi;
  const int i = (get_group_id(0) - n * groups_per_roi) * get_local_size(0) + get_local_id(0);
  if (get_local_id(0) == 0) {
    roi[0] = rois[n * 5];
    for (int k = 1; k < 5; k++)
      roi[k] = rois[n * 5 + k] * scale - 0.5f;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  const int each = pooled * pooled * channels;
  if (i < each) {
    const int pw = i % pooled, ph = i / pooled % pooled, c = i / pooled / pooled % channels;
    const float bin_h = (roi[4] - roi[2]) / pooled, bin_w = (roi[3] - roi[1]) / pooled;
    global const float *plane = in + ((int)roi[0] * channels + c) * height * width;
    out[i + n * each] = sample(plane, height, width, roi[2] + (ph + 0.5f) * bin_h, roi[1] + (pw + 0.5f) * bin_w);
  }
}
