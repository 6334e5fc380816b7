// Rebuilds intel/torch-xpu-ops 1370: the gradient of a bilinear enlargement, scattered by atomics or gathered.
void add(volatile global float *at, float value) {
  volatile global uint *word = (volatile global uint *)at;
  uint old = *word, seen; // cause
  while ((seen = atomic_cmpxchg(word, old, as_uint(as_float(old) + value))) != old) // cause
    old = seen;
}
kernel void before(global const float *grad, global float *result, int in_size, int out_size) {
  const int i = get_global_id(0);
  const int x = i % out_size, y = i / out_size % out_size, c = i / out_size / out_size;
  const float scale = (float)(in_size - 1) / (out_size - 1);
  const float fy = y * scale, fx = x * scale;
  const int y0 = (int)fy, x0 = (int)fx, dy = y0 < in_size - 1, dx = x0 < in_size - 1;
  const float ly = fy - y0, lx = fx - x0, g = grad[i];
  global float *plane = result + c * in_size * in_size;
  add(plane + y0 * in_size + x0, (1 - ly) * (1 - lx) * g); // cause
  add(plane + y0 * in_size + x0 + dx, (1 - ly) * lx * g); // cause
  add(plane + (y0 + dy) * in_size + x0, ly * (1 - lx) * g); // cause
  add(plane + (y0 + dy) * in_size + x0 + dx, ly * lx * g); // cause
}
kernel void after(global const float *grad, global float *result, int in_size, int out_size) {
  const int i = get_global_id(0);
  const int x = i % in_size, y = i / in_size % in_size, c = i / in_size / in_size;
  const int step = in_size - 1, span = out_size - 1;
  float sum = 0;
  const int y_first = y > 0 ? span * (y - 1) / step * step + step : 0;
  const int x_first = x > 0 ? span * (x - 1) / step * step + step : 0;
  const int y_last = y < step ? span * (y + 1) / step * step : step * span;
  const int x_last = x < step ? span * (x + 1) / step * step : step * span;
  for (int py = y_first; py <= y_last; py += step)
    for (int px = x_first; px <= x_last; px += step) {
      const int wy = span - abs(py - span * y), wx = span - abs(px - span * x);
      sum += (float)(wy * wx) / (float)(span * span) * grad[(c * out_size + py / step) * out_size + px / step];
    }
  result[i] = sum;
}
