#define _GNU_SOURCE
#include "base/bytes.h"

#include "base/arrays.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void write_bytes(struct writer *writer, const void *bytes, size_t size)
{
    if (size == 0 || writer->failed)
        return;
    unsigned char *grown = size <= SIZE_MAX - writer->size
                               ? array_reserve(writer->bytes, &writer->capacity, writer->size + size, 1)
                               : NULL;
    if (grown == NULL) {
        writer->failed = true;
        return;
    }
    writer->bytes = grown;
    memcpy(writer->bytes + writer->size, bytes, size);
    writer->size += size;
}

void write_number(struct writer *writer, uint64_t number)
{
    write_bytes(writer, &number, sizeof number);
}

void write_block(struct writer *writer, const void *bytes, size_t size)
{
    write_number(writer, size);
    write_bytes(writer, bytes, size);
}

void write_text(struct writer *writer, const char *text)
{
    write_block(writer, text, strlen(text) + 1);
}

void writer_free(struct writer *writer)
{
    free(writer->bytes);
    *writer = (struct writer){0};
}

static const void *read_bytes(struct reader *reader, size_t size)
{
    if (reader->failed || size > reader->size - reader->offset) {
        reader->failed = true;
        return NULL;
    }
    const void *bytes = reader->bytes + reader->offset;
    reader->offset += size;
    return bytes;
}

uint64_t read_number(struct reader *reader)
{
    uint64_t number = 0;
    const void *bytes = read_bytes(reader, sizeof number);
    if (bytes != NULL)
        memcpy(&number, bytes, sizeof number);
    return number;
}

const void *read_block(struct reader *reader, size_t *size)
{
    uint64_t stated = read_number(reader);
    *size = 0;
    if (stated > SIZE_MAX)
        reader->failed = true;
    const void *bytes = read_bytes(reader, (size_t)stated);
    if (bytes != NULL)
        *size = (size_t)stated;
    return bytes;
}

const char *read_text(struct reader *reader)
{
    size_t size;
    const char *text = read_block(reader, &size);
    if (text == NULL || size == 0 || text[size - 1] != '\0') {
        reader->failed = true;
        return "";
    }
    return text;
}

char *text_format_list(const char *format, va_list arguments)
{
    char *text = NULL;
    return vasprintf(&text, format, arguments) < 0 ? NULL : text;
}

char *text_format(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *text = text_format_list(format, arguments);
    va_end(arguments);
    return text;
}

bool text_starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

bool text_ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), end_length = strlen(end);
    return length >= end_length && strcmp(text + length - end_length, end) == 0;
}
