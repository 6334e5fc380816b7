kernel void fault_1(volatile global uint *o, global const ushort *a) {
  int g = get_global_id(0), shift = (g & 1) * 16;
  uint old = o[g >> 1], seen;
  while ((seen = atomic_cmpxchg(o + (g >> 1), old,
                                (old & ~(0xffffu << shift)) | ((((old >> shift) + a[g]) & 0xffffu) << shift))) != old)
    old = seen;
}
kernel void mended_1(volatile global uint *o, global const ushort *a) {
  int g = get_global_id(0);
  atomic_add(o + g, a[g]);
}

kernel void fault_2(volatile global uint *o, global const ushort *a, global const int *bin) {
  int g = get_global_id(0);
  volatile global uint *p = o + bin[g];
  uint old = *p, seen = 0;
  for (;;) {
    uint high = (old >> 16) + a[g];
    seen = atomic_cmpxchg(p, old, (old & 0xffff) | high << 16);
    if (seen == old) break;
    old = seen;
  }
}
kernel void mended_2(volatile global uint *o, global const ushort *a, global const int *bin) {
  int g = get_global_id(0);
  atomic_add(o + bin[g], a[g]);
}

kernel void fault_3(volatile global uint *o, global const ushort *a) {
  int g = get_global_id(0);
  uint old, sum;
  do {
    old = o[g];
    ushort2 both = as_ushort2(old);
    both.x = max(both.x, a[g]);
    sum = as_uint((ushort2)(both.x, (ushort)(old >> 16)));
  } while (atomic_cmpxchg(o + g, old, sum) != old);
}
kernel void mended_3(volatile global uint *o, global const ushort *a) {
  int g = get_global_id(0);
  atomic_max(o + g, a[g]);
}

kernel void alike_1(volatile global int *o, global const int *a) {
  int g = get_global_id(0), old = o[0], was;
  while ((was = atomic_cmpxchg(o, old, old * 3 + a[g])) != old) old = was;
}
kernel void alike_2(volatile global uint *o, global const ushort *a) {
  int g = get_global_id(0);
  atomic_add(o + (a[g] & 0xffff), (uint)a[g] << 16);
}
// Not in a loop.
kernel void alike_3(volatile global uint *o, global const uint *a) {
  int g = get_global_id(0);
  atomic_cmpxchg(o + g, 0, (a[g] & 0xffff) | a[g + 1] << 16);
}
