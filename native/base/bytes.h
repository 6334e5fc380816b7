/* Bytes: views of somebody's, growing buffers, and bounded reading of what those hold; and texts made from others. */
#ifndef KERNLENS_BYTES_H
#define KERNLENS_BYTES_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes that belong to somebody else; NULL if there are none. */
struct view {
    const unsigned char *bytes;
    size_t size;
};

/* A buffer that grows as it is written. After an allocation failed, `failed` is set and writing does nothing. */
struct writer {
    unsigned char *bytes;
    size_t size;
    size_t capacity;
    bool failed;
};

void write_bytes(struct writer *writer, const void *bytes, size_t size);
void write_number(struct writer *writer, uint64_t number);
/* Writes a number (the size), then the bytes. */
void write_block(struct writer *writer, const void *bytes, size_t size);
void write_text(struct writer *writer, const char *text);
void writer_free(struct writer *writer);

/* A position in bytes of known size. After a read past the end, `failed` is set and reading yields zero or NULL. */
struct reader {
    const unsigned char *bytes;
    size_t size;
    size_t offset;
    bool failed;
};

uint64_t read_number(struct reader *reader);
const void *read_block(struct reader *reader, size_t *size);
/* Reads a block that ends with a zero byte, as write_text wrote it; "" if it is none. */
const char *read_text(struct reader *reader);

/* printf into memory of its own; NULL if there is none. */
char *text_format(const char *format, ...) __attribute__((format(printf, 1, 2)));
char *text_format_list(const char *format, va_list arguments) __attribute__((format(printf, 1, 0)));

bool text_starts_with(const char *text, const char *start);
bool text_ends_with(const char *text, const char *end);

#endif
