#include "decoder/row_buffer.h"

#include "base/arrays.h"

#include <stdint.h>
#include <string.h>

/* Makes room for `more` characters behind the others; NULL: an exception is set. */
static char *room_for(row_buffer *row, size_t more)
{
    char *characters =
        more > SIZE_MAX - row->size ? NULL : array_reserve(row->characters, &row->capacity, row->size + more, 1);
    if (characters == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    row->characters = characters;
    return characters + row->size;
}

bool append(row_buffer *row, const char *characters, size_t length)
{
    char *to = room_for(row, length);
    if (to == NULL)
        return false;
    memcpy(to, characters, length);
    row->size += length;
    return true;
}

/* The text as UTF-8, which lives as long as `text` and `*holder`; NULL: an exception is set. */
static const char *utf8_of(PyObject *text, Py_ssize_t *length, PyObject **holder)
{
    *holder = NULL;
    const char *characters = PyUnicode_AsUTF8AndSize(text, length);
    if (characters != NULL || !PyErr_ExceptionMatches(PyExc_UnicodeEncodeError))
        return characters;
    PyErr_Clear();
    char *encoded = NULL;
    *holder = PyUnicode_AsEncodedString(text, "utf-8", "surrogatepass");
    if (*holder == NULL || PyBytes_AsStringAndSize(*holder, &encoded, length) < 0)
        Py_CLEAR(*holder);
    return encoded;
}

bool append_text(row_buffer *row, PyObject *text)
{
    PyObject *holder;
    Py_ssize_t length = 0;
    const char *characters = utf8_of(text, &length, &holder);
    bool done = characters != NULL && append(row, characters, (size_t)length);
    Py_XDECREF(holder);
    return done;
}

/* Appends the text that Python makes of `text` in its own way; `changed` is a new reference, or NULL with an exception set. */
static bool append_changed(row_buffer *row, PyObject *changed)
{
    bool done = changed != NULL && append_text(row, changed);
    Py_XDECREF(changed);
    return done;
}

/* Whether str.rstrip removes this character of ASCII. */
static bool is_space(char character)
{
    return character == ' ' || (character >= '\t' && character <= '\r') || (character >= 0x1C && character <= 0x1F);
}

bool append_stripped(row_buffer *row, PyObject *text)
{
    PyObject *holder;
    Py_ssize_t length = 0;
    const char *characters = utf8_of(text, &length, &holder);
    bool done = false;
    if (characters != NULL) {
        while (length > 0 && is_space(characters[length - 1]))
            length--;
        if (length > 0 && (unsigned char)characters[length - 1] >= 0x80) /* it may be a space beyond ASCII */
            done = append_changed(row, PyObject_CallMethod(text, "rstrip", NULL));
        else
            done = append(row, characters, (size_t)length);
    }
    Py_XDECREF(holder);
    return done;
}

/* Whether JSON has all characters as they are. */
static bool is_plain(const char *characters, size_t length)
{
    unsigned char special = 0;
    for (size_t index = 0; index < length; index++) {
        unsigned char character = (unsigned char)characters[index];
        special |= (unsigned char)((character < ' ') | (character > '~') | (character == '"') | (character == '\\'));
    }
    return special == 0;
}

bool append_quoted(row_buffer *row, PyObject *text)
{
    Py_ssize_t length = 0;
    PyObject *holder;
    const char *characters = utf8_of(text, &length, &holder);
    bool done = false;
    if (characters != NULL && is_plain(characters, (size_t)length)) {
        done = append(row, "\"", 1) && append(row, characters, (size_t)length) && append(row, "\"", 1);
    } else if (characters != NULL) {
        PyObject *encoder = PyImport_ImportModule("json.encoder");
        if (encoder != NULL)
            done = append_changed(row, PyObject_CallMethod(encoder, "encode_basestring_ascii", "O", text));
        Py_XDECREF(encoder);
    }
    Py_XDECREF(holder);
    return done;
}
