#ifndef SLM
#define SLM 64
#endif
#ifndef WIDTH
#define SIZED
#else
#define SIZED __attribute__((intel_reqd_sub_group_size(WIDTH)))
#endif
#define KB *1024
kernel SIZED void plain(global float *o, global const float *a) { o[get_global_id(0)] = a[get_global_id(0)] * 2; }
kernel SIZED __attribute__((reqd_work_group_size(64, 2, 1))) void legal(global float *o) { o[get_global_id(0)] = 1; }
kernel SIZED __attribute__((reqd_work_group_size(2048, 1, 1))) void huge(global float *o) { o[get_global_id(0)] = 1; }
#define SHARED(NAME, SIZE) kernel SIZED void NAME(global float *o) { \
  local float t[(SIZE) / 4]; int l = get_local_id(0); \
  for (int i = l; i < (SIZE) / 4; i += get_local_size(0)) t[i] = o[i]; \
  barrier(CLK_LOCAL_MEM_FENCE); o[get_global_id(0)] = t[(l * 77) & 1023]; }
SHARED(slm_32, 32 KB)
SHARED(slm_64, 64 KB)
#ifdef LARGE
SHARED(slm_96, 96 KB)
SHARED(slm_128, 128 KB)
#endif
#define PRIVATE(NAME, SIZE) kernel SIZED void NAME(global float *o, int n) { \
  float t[(SIZE) / 4]; int g = get_global_id(0); \
  for (int i = 0; i < n; i++) t[(i * 7) % ((SIZE) / 4)] = o[g + i]; \
  float s = 0; for (int i = 0; i < n; i++) s += t[(i * 13 + g) % ((SIZE) / 4)]; o[g] = s; }
PRIVATE(private_4k, 4000)
PRIVATE(private_16k, 16000)
PRIVATE(private_280k, 280000)
kernel SIZED void prints(global float *o) { if (o[0] > 3) printf("%f\n", o[1]); o[get_global_id(0)] = 1; }
