/* The characters of a row of a listing, as UTF-8; lone surrogates, which stand in names and marks, have three bytes each. */
#ifndef KERNLENS_ROW_BUFFER_H
#define KERNLENS_ROW_BUFFER_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>
#include <stddef.h>

typedef struct {
    char *characters;
    size_t size, capacity;
} row_buffer;

/* Each appends to the row; false: an exception is set. */
bool append(row_buffer *row, const char *characters, size_t length);

/* A text as it is. */
bool append_text(row_buffer *row, PyObject *text);

/* text.rstrip(). */
bool append_stripped(row_buffer *row, PyObject *text);

/* The text as a string of JSON, in ASCII. */
bool append_quoted(row_buffer *row, PyObject *text);

#endif
