/* SHA-256, as FIPS 180-4 has it. */
#ifndef KERNLENS_SHA256_H
#define KERNLENS_SHA256_H

#include "base/bytes.h"

enum { SHA256_TEXT = 65 };

/* Writes the hash of the bytes: 64 hexadecimal digits and a zero byte. */
void sha256_text(const struct view *bytes, char text[SHA256_TEXT]);

#endif
