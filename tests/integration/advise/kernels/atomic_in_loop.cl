kernel void fault_1(global int *o, global const int *a, int n) {
  int g = get_global_id(0);
  for (int i = 0; i < n; i++) atomic_xor(o, a[g * n + i]);
}
kernel void mended_1(global int *o, global const int *a, int n) {
  int g = get_global_id(0), s = 0;
  for (int i = 0; i < n; i++) s ^= a[g * n + i];
  atomic_xor(o, s);
}

kernel void fault_2(global int *o, global const int *a, int n) {
  int g = get_global_id(0);
  for (int i = 0; i < n; i++) atomic_add(o + 1, a[g * n + i]);
}
kernel void mended_2(global int *o, global const int *a, int n) {
  int g = get_global_id(0), s = 0;
  for (int i = 0; i < n; i++) s += a[g * n + i];
  atomic_add(o + 1, s);
}

kernel void fault_3(global int *o, global const int *a, local int *t, int n) {
  int g = get_global_id(0), l = get_local_id(0);
  if (l == 0) t[0] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = 0; i < n; i++) atomic_max(t, a[g * n + i]);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (l == 0) o[0] = t[0];
}
kernel void mended_3(global int *o, global const int *a, local int *t, int n) {
  int g = get_global_id(0), l = get_local_id(0), most = 0;
  if (l == 0) t[0] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = 0; i < n; i++) most = max(most, a[g * n + i]);
  atomic_max(t, most);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (l == 0) o[0] = t[0];
}

// Each work-item updates a bin of its own choice.
kernel void fault_4(global int *o, global const int *a, int n) {
  int g = get_global_id(0);
  global int *bin = o + a[g];
  for (int i = 0; i < n; i++) atomic_add(bin, a[g * n + i]);
}
kernel void mended_4(global int *o, global const int *a, int n) {
  int g = get_global_id(0), s = 0;
  for (int i = 0; i < n; i++) s += a[g * n + i];
  atomic_add(o + a[g], s);
}

kernel void alike_1(global int *o, global const int *a) { atomic_add(o, a[get_global_id(0)]); }
// A histogram: each lane has an address of its own.
kernel void alike_2(global int *o, global const int *a, int n) {
  int g = get_global_id(0);
  for (int i = 0; i < n; i++) atomic_inc(o + a[g * n + i]);
}
// A queue: each answer is another piece of work.
kernel void alike_3(global int *o, global int *q, int n) {
  int t;
  while ((t = atomic_inc(q)) < n) o[t] = t * 3;
}
// Another bin in each iteration, chosen by the work-item.
kernel void alike_4(global int *o, global const int *a, int n) {
  int g = get_global_id(0);
  for (int i = 0; i < n; i++) atomic_add(o + g * n + (i & 3), a[g + i]);
}
// The same for all work-items.
kernel void alike_5(global int *o, global const int *a, int n) {
  int g = get_global_id(0);
  for (int i = 0; i < n; i++) atomic_add(o + (i & 3), a[g * n + i]);
}
// A queue of limited length: who comes too late takes its own increment back.
kernel void alike_6(global int *o, global int *q, global const int *a, int n) {
  int g = get_global_id(0);
  for (int i = 0; i < n; i++)
    if (a[g * n + i] > 3) {
      if (atomic_inc(q) < 100) o[g] = i;
      else atomic_dec(q);
    }
}
