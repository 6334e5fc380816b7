/* Each row is the texts of its columns one after the other. It is put together in one buffer, which all rows share. */
#include "decoder/rows.h"

#include "decoder/row_buffer.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_COLUMNS = 32 };

typedef enum { CONSTANT, TEXTS, STRIPPED, QUOTED, NUMBERS, OFFSETS } column_kind;

typedef struct {
    column_kind kind;
    PyObject *values; /* the text of all rows, or the sequence of the rows' texts; borrowed from the caller's tuples */
    Py_buffer numbers; /* of numbers and offsets; `obj` is NULL where there is none */
} column;

/* The kinds by their names, in the order of column_kind. */
static const char *const kind_names[] = {"constant", "texts", "stripped", "quoted", "numbers", "offsets"};

static bool append_number(row_buffer *row, const column *from, Py_ssize_t index)
{
    const char *at = (const char *)from->numbers.buf + index * from->numbers.itemsize;
    uint64_t value;
    if (from->numbers.itemsize == 1) {
        value = *(const uint8_t *)at;
    } else if (from->numbers.itemsize == 4) {
        uint32_t narrow;
        memcpy(&narrow, at, sizeof narrow);
        value = narrow;
    } else {
        memcpy(&value, at, sizeof value);
    }
    enum { LONGEST = 24 };
    char digits[LONGEST], *first = digits + LONGEST;
    if (from->kind == NUMBERS) {
        do
            *--first = (char)('0' + value % 10);
        while ((value /= 10) != 0);
        return append(row, first, (size_t)(digits + LONGEST - first));
    }
    do
        *--first = "0123456789abcdef"[value & 0xF];
    while ((value >>= 4) != 0);
    while (digits + LONGEST - first < 4)
        *--first = '0';
    *--first = 'x';
    *--first = '0';
    return append(row, first, (size_t)(digits + LONGEST - first));
}

static bool append_column(row_buffer *row, const column *from, Py_ssize_t index)
{
    if (from->kind == CONSTANT)
        return append_text(row, from->values);
    if (from->kind == NUMBERS || from->kind == OFFSETS)
        return append_number(row, from, index);
    PyObject *text = PySequence_GetItem(from->values, index);
    if (text == NULL)
        return false;
    bool done = from->kind == TEXTS      ? append_text(row, text)
                : from->kind == STRIPPED ? append_stripped(row, text)
                                         : append_quoted(row, text);
    Py_DECREF(text);
    return done;
}

/* Reads the numbers of a column, of which there must be `stop` at least; false: an exception is set. */
static bool read_numbers(column *to, Py_ssize_t stop)
{
    if (PyObject_GetBuffer(to->values, &to->numbers, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) < 0)
        return false;
    const char *format = to->numbers.format == NULL ? "B" : to->numbers.format;
    Py_ssize_t size = to->numbers.itemsize;
    if (strlen(format) != 1 || strchr("BILQ", *format) == NULL || (size != 1 && size != 4 && size != 8)) {
        PyErr_Format(PyExc_TypeError, "a column of numbers has the format %s", format);
        return false;
    }
    if (to->numbers.len / size < stop) {
        PyErr_SetString(PyExc_IndexError, "a column of numbers has fewer than the rows");
        return false;
    }
    return true;
}

/* Reads one column, a pair of its kind's name and its values; false: an exception is set. */
static bool read_column(column *to, PyObject *pair, Py_ssize_t stop)
{
    const char *name;
    if (!PyArg_ParseTuple(pair, "sO:column", &name, &to->values))
        return false;
    for (size_t kind = 0; kind < sizeof kind_names / sizeof *kind_names; kind++)
        if (strcmp(name, kind_names[kind]) == 0) {
            to->kind = (column_kind)kind;
            return to->kind < NUMBERS || read_numbers(to, stop);
        }
    PyErr_Format(PyExc_ValueError, "there is no kind of columns %s", name);
    return false;
}

/* Reads the columns of a tuple; -1: an exception is set. `*count` are those to give back with release_columns in any case. */
static int read_columns(column *columns, Py_ssize_t *count, PyObject *pairs, Py_ssize_t stop)
{
    Py_ssize_t size = PyTuple_Size(pairs);
    if (size > MAX_COLUMNS)
        PyErr_SetString(PyExc_ValueError, "these are too many columns");
    if (size < 0 || size > MAX_COLUMNS)
        return -1;
    for (; *count < size; ++*count) {
        column *to = &columns[*count];
        memset(to, 0, sizeof *to);
        PyObject *pair = PyTuple_GetItem(pairs, *count);
        if (pair == NULL || !PyTuple_Check(pair)) {
            PyErr_SetString(PyExc_TypeError, "a column is a tuple of its kind and its values");
            return -1;
        }
        if (!read_column(to, pair, stop)) {
            PyBuffer_Release(&to->numbers);
            return -1;
        }
    }
    return 0;
}

static void release_columns(column *columns, Py_ssize_t count)
{
    for (Py_ssize_t index = 0; index < count; index++)
        PyBuffer_Release(&columns[index].numbers);
}

static bool append_row(row_buffer *row, const column *columns, Py_ssize_t count, Py_ssize_t index)
{
    bool done = true;
    for (Py_ssize_t number = 0; done && number < count; number++)
        done = append_column(row, &columns[number], index);
    return done;
}

static PyObject *text_of(const row_buffer *row)
{
    return PyUnicode_DecodeUTF8(row->size > 0 ? row->characters : "", (Py_ssize_t)row->size, "surrogatepass");
}

/* All rows in one text, between two of which stands the separator. */
static PyObject *joined(const column *columns, Py_ssize_t count, Py_ssize_t start, Py_ssize_t stop, PyObject *separator)
{
    row_buffer all = {NULL, 0, 0};
    bool done = true;
    for (Py_ssize_t index = start; done && index < stop; index++)
        done = (index == start || append_text(&all, separator)) && append_row(&all, columns, count, index);
    PyObject *text = done ? text_of(&all) : NULL;
    free(all.characters);
    return text;
}

static PyObject *listed(const column *columns, Py_ssize_t count, Py_ssize_t start, Py_ssize_t stop)
{
    row_buffer row = {NULL, 0, 0};
    PyObject *list = PyList_New(stop - start);
    for (Py_ssize_t index = start; list != NULL && index < stop; index++) {
        row.size = 0;
        PyObject *text = append_row(&row, columns, count, index) ? text_of(&row) : NULL;
        if (text == NULL)
            Py_CLEAR(list);
        else
            PyList_SetItem(list, index - start, text);
    }
    free(row.characters);
    return list;
}

PyObject *rows(PyObject *module, PyObject *arguments)
{
    (void)module;
    Py_ssize_t start, stop, count = 0;
    PyObject *pairs, *separator = Py_None, *result = NULL;
    if (!PyArg_ParseTuple(arguments, "nnO!|O", &start, &stop, &PyTuple_Type, &pairs, &separator))
        return NULL;
    if (start < 0 || stop < start) {
        PyErr_SetString(PyExc_IndexError, "there are no such rows");
        return NULL;
    }
    column columns[MAX_COLUMNS];
    if (read_columns(columns, &count, pairs, stop) == 0)
        result = separator == Py_None ? listed(columns, count, start, stop)
                                      : joined(columns, count, start, stop, separator);
    release_columns(columns, count);
    return result;
}

/* Whether all characters are tabs or visible ones of ASCII. */
static bool is_plain_line(const char *characters, size_t length)
{
    unsigned char special = 0;
    for (size_t index = 0; index < length; index++) {
        unsigned char character = (unsigned char)characters[index];
        special |= (unsigned char)((character != '\t') & ((character < ' ') | (character > '~')));
    }
    return special == 0;
}

PyObject *are_plain(PyObject *module, PyObject *texts)
{
    (void)module;
    bool plain = true;
    Py_ssize_t count = PySequence_Size(texts);
    for (Py_ssize_t index = 0; plain && index < count; index++) {
        PyObject *text = PySequence_GetItem(texts, index);
        if (text == NULL)
            return NULL;
        Py_ssize_t length = 0;
        const char *characters = PyUnicode_AsUTF8AndSize(text, &length);
        plain = characters != NULL && is_plain_line(characters, (size_t)length);
        Py_DECREF(text);
    }
    if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_UnicodeEncodeError))
        return NULL;
    PyErr_Clear();
    return PyBool_FromLong(plain);
}
