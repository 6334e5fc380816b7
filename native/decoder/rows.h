/* Rows of listings: texts put together of columns. */
#ifndef KERNLENS_ROWS_H
#define KERNLENS_ROWS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* rows(start, stop, columns, separator=None), as the module's documentation says. */
PyObject *rows(PyObject *module, PyObject *arguments);

/* are_plain(texts), likewise. */
PyObject *are_plain(PyObject *module, PyObject *texts);

#endif
