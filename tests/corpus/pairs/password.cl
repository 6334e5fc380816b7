// Rebuilds hashcat 25200: a password, repeated, is hashed in blocks of 64 bytes that are put together byte by byte; or whole words
// of a longer copy are taken, whose length is a multiple of both.
void hash(private const uint *w, private uint *h) {
  uint a = h[0], b = h[1], c = h[2], d = h[3], e = h[4];
#pragma unroll
  for (int i = 0; i < 16; i++) {
    const uint next = rotate(a, 5u) + ((b & c) | (~b & d)) + e + w[i] + 0x5a827999u;
    e = d; d = c; c = rotate(b, 30u); b = a; a = next;
  }
  h[0] += a; h[1] += b; h[2] += c; h[3] += d; h[4] += e;
}
kernel void before(global const uchar *passwords, global uint *out, int length, int blocks) {
  const int gid = get_global_id(0);
  global const uchar *password = passwords + gid * 64;
  uint h[5] = {0x67452301u, 0xefcdab89u, 0x98badcfeu, 0x10325476u, 0xc3d2e1f0u};
  int at = 0;
  for (int block = 0; block < blocks; block++) {
    uint w[16];
    for (int i = 0; i < 64; i++) {
      const uint byte = password[at++ % length]; // cause
      w[i / 4] = i % 4 ? w[i / 4] << 8 | byte : byte; // cause
    }
    hash(w, h);
  }
  for (int i = 0; i < 5; i++)
    out[gid * 5 + i] = h[i];
}
kernel void after(global const uint *copies, global uint *out, int length, int blocks) {
  const int gid = get_global_id(0);
  global const uint *copy = copies + gid * length * 16;
  uint h[5] = {0x67452301u, 0xefcdab89u, 0x98badcfeu, 0x10325476u, 0xc3d2e1f0u};
  for (int block = 0; block < blocks; block++) {
    const int at = block * 64 % (length * 64) / 4;
    uint w[16];
#pragma unroll
    for (int i = 0; i < 16; i++)
      w[i] = copy[at + i];
    hash(w, h);
  }
  for (int i = 0; i < 5; i++)
    out[gid * 5 + i] = h[i];
}
