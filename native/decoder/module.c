/* The extension module: Library opens libiga64, Library.decode gives a Batch, a Batch gives records and texts. */
#include "decoder/objects.h"

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

static struct PyModuleDef decoder_module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "kernlens._decoder",
    .m_doc = "Machine code to packed instruction records and texts, through libiga64.",
    .m_size = sizeof(PyObject *),
    .m_slots = module_slots,
    .m_clear = module_clear,
};

PyMODINIT_FUNC PyInit__decoder(void);

PyMODINIT_FUNC PyInit__decoder(void)
{
    return PyModuleDef_Init(&decoder_module);
}
