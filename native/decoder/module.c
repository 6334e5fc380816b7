/* The extension module: Library opens libiga64, Library.decode gives a Batch, a Batch gives records and texts (batch_object.c);
 * rows puts texts together (rows.c). */
#include "decoder/objects.h"
#include "decoder/rows.h"

enum { MAX_PLATFORMS = 64 };

static PyObject *library_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = {"path", NULL};
    PyObject *path;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "U", names, &path))
        return NULL;
    PyObject *encoded = PyUnicode_EncodeFSDefault(path);
    PyObject *module = PyType_GetModule(type);
    if (encoded == NULL || module == NULL) {
        Py_XDECREF(encoded);
        return NULL;
    }
    iga_library opened;
    char error[512] = "";
    bool done;
    Py_BEGIN_ALLOW_THREADS
    done = iga_library_open(&opened, PyBytes_AsString(encoded), error, sizeof error);
    Py_END_ALLOW_THREADS
    Py_DECREF(encoded);
    if (!done) {
        PyErr_SetString(PyExc_OSError, error);
        return NULL;
    }
    LibraryObject *self = PyObject_New(LibraryObject, type);
    if (self == NULL)
        return NULL;
    self->library = opened;
    self->batch_type = *(PyTypeObject **)PyModule_GetState(module);
    Py_INCREF((PyObject *)self->batch_type);
    return (PyObject *)self;
}

static void library_dealloc(LibraryObject *self)
{
    PyTypeObject *type = Py_TYPE((PyObject *)self);
    Py_XDECREF((PyObject *)self->batch_type);
    PyObject_Free(self);
    Py_DECREF((PyObject *)type);
}

static PyObject *library_path(LibraryObject *self, void *closure)
{
    (void)closure;
    return PyUnicode_DecodeFSDefault(self->library.file);
}

static PyObject *library_version(LibraryObject *self, void *closure)
{
    (void)closure;
    const char *version = self->library.iga_version_string();
    return PyUnicode_FromString(version != NULL ? version : "");
}

static PyObject *library_platforms(LibraryObject *self, void *closure)
{
    (void)closure;
    uint32_t platforms[MAX_PLATFORMS];
    size_t needed = 0;
    if (self->library.iga_platforms_list(sizeof platforms, platforms, &needed) != IGA_SUCCESS)
        needed = 0;
    size_t count = needed < sizeof platforms ? needed / sizeof *platforms : MAX_PLATFORMS;
    PyObject *numbers = PyTuple_New((Py_ssize_t)count);
    for (size_t index = 0; numbers != NULL && index < count; index++) {
        PyObject *platform = PyLong_FromUnsignedLong(platforms[index]);
        if (platform == NULL)
            Py_CLEAR(numbers);
        else
            PyTuple_SetItem(numbers, (Py_ssize_t)index, platform);
    }
    return numbers;
}

static PyObject *library_mnemonics(LibraryObject *self, PyObject *argument)
{
    unsigned long platform = PyLong_AsUnsignedLong(argument);
    if (platform == (unsigned long)-1 && PyErr_Occurred())
        return NULL;
    iga_ops ops;
    if (!iga_ops_read(&self->library, (uint32_t)platform, &ops))
        return PyErr_Format(PyExc_ValueError, "platform 0x%lx is not one of this library's", platform);
    PyObject *mnemonics = PyTuple_New(IGA_MAX_OPS);
    for (Py_ssize_t number = 0; mnemonics != NULL && number < IGA_MAX_OPS; number++) {
        PyObject *text = PyUnicode_InternFromString(ops.mnemonics[number]);
        if (text == NULL)
            Py_CLEAR(mnemonics);
        else
            PyTuple_SetItem(mnemonics, number, text);
    }
    return mnemonics;
}

static PyObject *library_decode(LibraryObject *self, PyObject *arguments)
{
    unsigned platform, threads = 1;
    int has_texts = 0;
    PyObject *buffers;
    if (!PyArg_ParseTuple(arguments, "IO|Ip", &platform, &buffers, &threads, &has_texts))
        return NULL;
    return batch_new(self, platform, buffers, threads, has_texts != 0);
}

static PyMethodDef library_methods[] = {
    {"mnemonics", (PyCFunction)library_mnemonics, METH_O,
     "mnemonics(platform) -> tuple[str, ...]: by the records' opcode number; empty where there is none."},
    {"decode", (PyCFunction)library_decode, METH_VARARGS,
     "decode(platform, buffers, threads=1, texts=False) -> Batch: decodes each buffer as one kernel. With texts they are made at"
     " once, in less time than later."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef library_properties[] = {
    {"path", (getter)library_path, NULL, "The file that was opened; empty if the system does not tell.", NULL},
    {"version", (getter)library_version, NULL, "IGA's version text.", NULL},
    {"platforms", (getter)library_platforms, NULL, "The iga_gen_t numbers that it decodes.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot library_slots[] = {
    {Py_tp_doc, "Library(path): libiga64, opened from a file or by its system name. OSError says why it cannot."},
    {Py_tp_new, library_new},
    {Py_tp_dealloc, library_dealloc},
    {Py_tp_methods, library_methods},
    {Py_tp_getset, library_properties},
    {0, NULL},
};

static PyType_Spec library_spec = {
    "kernlens._decoder.Library", sizeof(LibraryObject), 0, Py_TPFLAGS_DEFAULT, library_slots,
};

/* The module's state is the Batch type. */
static int module_exec(PyObject *module)
{
    PyObject *batch_type = PyType_FromModuleAndSpec(module, &batch_spec, NULL);
    PyObject *library_type = PyType_FromModuleAndSpec(module, &library_spec, NULL);
    *(PyObject **)PyModule_GetState(module) = batch_type;
    if (batch_type == NULL || library_type == NULL || PyModule_AddObjectRef(module, "Batch", batch_type) < 0 ||
        PyModule_AddObjectRef(module, "Library", library_type) < 0) {
        Py_XDECREF(library_type);
        return -1;
    }
    Py_DECREF(library_type);
    return PyModule_AddIntConstant(module, "RECORD_SIZE", (long)sizeof(instruction_record));
}

static int module_clear(PyObject *module)
{
    Py_CLEAR(*(PyObject **)PyModule_GetState(module));
    return 0;
}

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, module_exec},
    {0, NULL},
};

static PyMethodDef module_functions[] = {
    {"are_plain", are_plain, METH_O, "are_plain(texts) -> bool: whether all have only tabs and visible characters of ASCII."},
    {"rows", rows, METH_VARARGS,
     "rows(start, stop, columns, separator=None) -> list[str] | str: the rows from start up to, without, stop, one by one, or"
     " with a separator in one text. A row is the texts of its columns, one after the other. A column is a pair: constant and"
     " a text; texts and a sequence of them, or stripped, without the spaces at their ends, or quoted, as JSON has them;"
     " numbers and a buffer of them, or offsets, in hexadecimal with four digits at least."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef decoder_module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "kernlens._decoder",
    .m_doc = "Machine code to packed instruction records and texts, through libiga64.",
    .m_size = sizeof(PyObject *),
    .m_methods = module_functions,
    .m_slots = module_slots,
    .m_clear = module_clear,
};

PyMODINIT_FUNC PyInit__decoder(void);

PyMODINIT_FUNC PyInit__decoder(void)
{
    return PyModuleDef_Init(&decoder_module);
}
