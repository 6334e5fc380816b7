/* The extension's two Python types. */
#ifndef KERNLENS_OBJECTS_H
#define KERNLENS_OBJECTS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "decoder/batch.h"

typedef struct {
    PyObject ob_base;
    iga_library library;
    PyTypeObject *batch_type;
} LibraryObject;

typedef struct {
    PyObject ob_base;
    LibraryObject *library;
    batch batch;
    PyObject **texts; /* by encoding number, as if at offset 0; NULL until made */
} BatchObject;

extern PyType_Spec batch_spec;

/* The Batch of these kernels, whose texts are made with `has_texts`, else when they are asked for; NULL: an exception is set. */
PyObject *batch_new(LibraryObject *library, uint32_t platform, PyObject *buffers, unsigned threads, bool has_texts);

#endif
