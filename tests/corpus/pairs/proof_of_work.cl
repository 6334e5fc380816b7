// Rebuilds inkeliz/nanopow 2: rounds of a hash of 64 bits, whose message is ordered by a table and copied byte by byte.
constant uchar sigma[12 * 16] = {
  0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3,
  11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4, 7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8,
  9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13, 2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9,
  12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11, 13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10,
  6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5, 10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0,
  0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3};
#define MIX(x, y, a, b, c, d)                                                                                        \
  a += b + x; d = rotate(d ^ a, 32ul); c += d; b = rotate(b ^ c, 40ul);                                              \
  a += b + y; d = rotate(d ^ a, 48ul); c += d; b = rotate(b ^ c, 1ul);
#define ROUND(at)                                                                                                    \
  MIX(m[at(0)], m[at(1)], v[0], v[4], v[8], v[12]) MIX(m[at(2)], m[at(3)], v[1], v[5], v[9], v[13])                  \
  MIX(m[at(4)], m[at(5)], v[2], v[6], v[10], v[14]) MIX(m[at(6)], m[at(7)], v[3], v[7], v[11], v[15])                \
  MIX(m[at(8)], m[at(9)], v[0], v[5], v[10], v[15]) MIX(m[at(10)], m[at(11)], v[1], v[6], v[11], v[12])              \
  MIX(m[at(12)], m[at(13)], v[2], v[7], v[8], v[13]) MIX(m[at(14)], m[at(15)], v[3], v[4], v[9], v[14])
#define OF_TABLE(i) sigma[r * 16 + i]
#define START 0x6a09e667f3bcc908ul
kernel void before(global const uchar *in, global ulong *out, int length) {
  uchar block[128];
  for (int i = 0; i < 128; i++) // cause
    block[i] = 0; // cause
  for (int i = 0; i < length; i++) // cause
    block[i] = in[i]; // cause
  *(private ulong *)block = get_global_id(0);
  ulong m[16], v[16];
  for (int i = 0; i < 16; i++) {
    ulong word = 0;
    for (int k = 7; k >= 0; k--)
      word = word << 8 | block[i * 8 + k]; // cause
    m[i] = word; // cause
    v[i] = START * (i + 1);
  }
  for (int r = 0; r < 12; r++) {
    ROUND(OF_TABLE) // cause
  }
  out[get_global_id(0)] = v[0] ^ v[8];
}
#define AT(s) s
#define M(a, b, c, d, e, f, g, h, i, j, k, l, n, o, p, q)                                                            \
  MIX(m[a], m[b], v[0], v[4], v[8], v[12]) MIX(m[c], m[d], v[1], v[5], v[9], v[13])                                  \
  MIX(m[e], m[f], v[2], v[6], v[10], v[14]) MIX(m[g], m[h], v[3], v[7], v[11], v[15])                                \
  MIX(m[i], m[j], v[0], v[5], v[10], v[15]) MIX(m[k], m[l], v[1], v[6], v[11], v[12])                                \
  MIX(m[n], m[o], v[2], v[7], v[8], v[13]) MIX(m[p], m[q], v[3], v[4], v[9], v[14])
kernel void after(global const ulong *in, global ulong *out, int length) {
  ulong m[16], v[16];
#pragma unroll
  for (int i = 0; i < 16; i++) {
    m[i] = i < 5 ? in[i] : 0;
    v[i] = START * (i + 1);
  }
  m[0] = get_global_id(0);
  M(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
  M(14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3)
  M(11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4)
  M(7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8)
  M(9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13)
  M(2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9)
  M(12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11)
  M(13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10)
  M(6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5)
  M(10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0)
  M(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
  M(14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3)
  out[get_global_id(0)] = v[0] ^ v[8];
}
