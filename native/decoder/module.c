#include <Python.h>

static struct PyModuleDef decoder_module = {
    PyModuleDef_HEAD_INIT, "kernlens._decoder", "The native loop over libiga64.", 0, NULL, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__decoder(void)
{
    return PyModule_Create(&decoder_module);
}
