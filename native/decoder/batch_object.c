/* Batch: kernels of one platform, decoded together. */
#include "decoder/objects.h"

#include "decoder/texts.h"

#include <stdlib.h>
#include <string.h>

enum { LARGEST_KERNEL = INT32_MAX - 64 };

/* Splits every buffer of the sequence; false: an exception is set. */
static bool add_buffers(batch *decoded, PyObject *buffers)
{
    for (size_t index = 0; index < decoded->kernel_count; index++) {
        Py_buffer view;
        PyObject *item = PySequence_GetItem(buffers, (Py_ssize_t)index);
        if (item == NULL)
            return false;
        int failed = PyObject_GetBuffer(item, &view, PyBUF_SIMPLE);
        Py_DECREF(item);
        if (failed)
            return false;
        bool added = false;
        if (view.len > LARGEST_KERNEL) {
            PyErr_SetString(PyExc_ValueError, "a kernel of 2 GB or more cannot be decoded");
        } else {
            Py_BEGIN_ALLOW_THREADS
            added = encoding_set_add(&decoded->set, view.buf, (size_t)view.len);
            Py_END_ALLOW_THREADS
            if (!added)
                PyErr_NoMemory();
        }
        PyBuffer_Release(&view);
        if (!added)
            return false;
        decoded->starts[index + 1] = decoded->set.number_count;
    }
    return true;
}

static bool make_texts(BatchObject *self, size_t start_kernel, size_t stop_kernel, unsigned threads, bool decodes);

static bool fill(BatchObject *self, uint32_t platform, PyObject *buffers, unsigned threads, bool has_texts)
{
    batch *decoded = &self->batch;
    if (!iga_ops_read(decoded->library, platform, &decoded->ops)) {
        PyErr_Format(PyExc_ValueError, "platform 0x%x is not one of this library's", platform);
        return false;
    }
    Py_ssize_t count = PySequence_Size(buffers);
    if (count < 0)
        return false;
    decoded->kernel_count = (size_t)count;
    decoded->starts = calloc((size_t)count + 1, sizeof *decoded->starts);
    if (decoded->starts == NULL) {
        PyErr_NoMemory();
        return false;
    }
    if (!add_buffers(decoded, buffers))
        return false;
    self->texts = calloc(decoded->set.count + 1, sizeof *self->texts);
    if (self->texts == NULL || !batch_reserve(decoded)) {
        PyErr_NoMemory();
        return false;
    }
    if (has_texts)
        return make_texts(self, 0, decoded->kernel_count, threads, true);
    Py_BEGIN_ALLOW_THREADS
    batch_decode(decoded, threads);
    Py_END_ALLOW_THREADS
    return true;
}

PyObject *batch_new(LibraryObject *library, uint32_t platform, PyObject *buffers, unsigned threads, bool has_texts)
{
    BatchObject *self = PyObject_New(BatchObject, library->batch_type);
    if (self == NULL)
        return NULL;
    memset(&self->batch, 0, sizeof self->batch);
    self->texts = NULL;
    self->library = library;
    Py_INCREF((PyObject *)library);
    self->batch.library = &library->library;
    self->batch.platform = platform;
    encoding_set_init(&self->batch.set);
    if (!fill(self, platform, buffers, threads, has_texts))
        Py_CLEAR(self);
    return (PyObject *)self;
}

static void batch_dealloc(BatchObject *self)
{
    PyTypeObject *type = Py_TYPE((PyObject *)self);
    if (self->texts != NULL)
        for (size_t number = 0; number < self->batch.set.count; number++)
            Py_XDECREF(self->texts[number]);
    free(self->texts);
    free(self->batch.records);
    free(self->batch.starts);
    encoding_set_free(&self->batch.set);
    Py_XDECREF((PyObject *)self->library);
    PyObject_Free(self);
    Py_DECREF((PyObject *)type);
}

static Py_ssize_t batch_length(BatchObject *self)
{
    return (Py_ssize_t)self->batch.kernel_count;
}

/* Bytes for items of this size, one per instruction of the kernel that `argument` numbers; NULL: an exception is set. */
static PyObject *bytes_per_instruction(const BatchObject *self, PyObject *argument, size_t item_size, size_t *index)
{
    Py_ssize_t number = PyLong_AsSsize_t(argument);
    if (number == -1 && PyErr_Occurred())
        return NULL;
    if (number < 0 || (size_t)number >= self->batch.kernel_count) {
        PyErr_SetString(PyExc_IndexError, "the batch has no such kernel");
        return NULL;
    }
    *index = (size_t)number;
    size_t count = self->batch.starts[number + 1] - self->batch.starts[number];
    return PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(count * item_size));
}

static PyObject *batch_records(BatchObject *self, PyObject *argument)
{
    size_t index;
    PyObject *bytes = bytes_per_instruction(self, argument, sizeof(instruction_record), &index);
    if (bytes != NULL)
        batch_expand(&self->batch, index, (instruction_record *)(void *)PyBytes_AsString(bytes));
    return bytes;
}

static PyObject *batch_regions_of(BatchObject *self, PyObject *argument)
{
    size_t index;
    PyObject *bytes = bytes_per_instruction(self, argument, sizeof(instruction_regions), &index);
    if (bytes != NULL) {
        instruction_regions *out = (instruction_regions *)(void *)PyBytes_AsString(bytes);
        Py_BEGIN_ALLOW_THREADS
        batch_regions(&self->batch, index, out);
        Py_END_ALLOW_THREADS
    }
    return bytes;
}

/* The texts still to make for these kernels, one per distinct encoding. */
static bool gather_items(BatchObject *self, size_t start_kernel, size_t stop_kernel, text_job *job)
{
    const batch *decoded = &self->batch;
    size_t first = decoded->starts[start_kernel], last = decoded->starts[stop_kernel];
    uint8_t *gathered = calloc(decoded->set.count + 1, 1);
    job->items = malloc((last - first + 1) * sizeof *job->items);
    if (gathered == NULL || job->items == NULL) {
        free(gathered);
        return false;
    }
    for (size_t at = first; at < last; at++) {
        uint32_t number = decoded->set.numbers[at];
        if (self->texts[number] == NULL && !gathered[number]) {
            job->items[job->count++] = (text_item){.number = number};
            gathered[number] = 1;
        }
    }
    free(gathered);
    return true;
}

/* Keeps the made texts as Python strings. Another thread may have made some of them meanwhile. */
static bool keep_texts(BatchObject *self, const text_job *job)
{
    for (size_t index = 0; index < job->count; index++) {
        const text_item *item = &job->items[index];
        if (self->texts[item->number] == NULL)
            self->texts[item->number] =
                PyUnicode_DecodeUTF8(text_job_text(job, index), (Py_ssize_t)item->length, "replace");
        if (self->texts[item->number] == NULL)
            return false;
    }
    return true;
}

/* Makes the texts of these kernels that are still to make, and with `decodes` the records of their instructions, in one walk;
 * false: an exception is set. */
static bool make_texts(BatchObject *self, size_t start_kernel, size_t stop_kernel, unsigned threads, bool decodes)
{
    text_job job = {.batch = &self->batch, .decodes = decodes};
    bool done = gather_items(self, start_kernel, stop_kernel, &job);
    if (done) {
        Py_BEGIN_ALLOW_THREADS
        done = text_job_run(&job, threads);
        Py_END_ALLOW_THREADS
    }
    if (!done)
        PyErr_NoMemory();
    done = done && keep_texts(self, &job);
    text_job_free(&job);
    return done;
}

/* The text of an instruction at `offset`; a new reference. */
static PyObject *text_at(BatchObject *self, uint32_t number, uint32_t offset)
{
    const instruction_record *record = &self->batch.records[number];
    PyObject *text = self->texts[number];
    if (!(record->flags & RECORD_LABEL) || record->flags & RECORD_ABSOLUTE_TARGET) {
        Py_INCREF(text);
        return text;
    }
    Py_ssize_t length = 0;
    const char *characters = PyUnicode_AsUTF8AndSize(text, &length);
    char *moved = characters == NULL ? NULL : malloc((size_t)length + LABEL_GROWTH);
    if (moved == NULL)
        return characters == NULL ? NULL : PyErr_NoMemory();
    size_t moved_length = shift_labels(characters, (size_t)length, offset, moved);
    text = PyUnicode_DecodeUTF8(moved, (Py_ssize_t)moved_length, "replace");
    free(moved);
    return text;
}

static PyObject *kernel_texts(BatchObject *self, size_t kernel)
{
    size_t first = self->batch.starts[kernel], last = self->batch.starts[kernel + 1];
    PyObject *texts = PyList_New((Py_ssize_t)(last - first));
    uint32_t offset = 0;
    for (size_t at = first; texts != NULL && at < last; at++) {
        uint32_t number = self->batch.set.numbers[at];
        PyObject *text = text_at(self, number, offset);
        if (text == NULL)
            Py_CLEAR(texts);
        else
            PyList_SetItem(texts, (Py_ssize_t)(at - first), text);
        offset += self->batch.records[number].size;
    }
    return texts;
}

static PyObject *listed_texts(BatchObject *self, size_t start_kernel, size_t stop_kernel)
{
    PyObject *kernels = PyList_New((Py_ssize_t)(stop_kernel - start_kernel));
    for (size_t kernel = start_kernel; kernels != NULL && kernel < stop_kernel; kernel++) {
        PyObject *texts = kernel_texts(self, kernel);
        if (texts == NULL)
            Py_CLEAR(kernels);
        else
            PyList_SetItem(kernels, (Py_ssize_t)(kernel - start_kernel), texts);
    }
    return kernels;
}

static PyObject *batch_texts(BatchObject *self, PyObject *arguments)
{
    Py_ssize_t start, stop;
    unsigned threads = 1;
    if (!PyArg_ParseTuple(arguments, "nn|I", &start, &stop, &threads))
        return NULL;
    if (start < 0 || stop < start || (size_t)stop > self->batch.kernel_count) {
        PyErr_SetString(PyExc_IndexError, "the batch has no such kernels");
        return NULL;
    }
    bool done = make_texts(self, (size_t)start, (size_t)stop, threads, false);
    return done ? listed_texts(self, (size_t)start, (size_t)stop) : NULL;
}

static PyMethodDef batch_methods[] = {
    {"records", (PyCFunction)batch_records, METH_O, "records(index) -> bytes: the kernel's packed records."},
    {"regions", (PyCFunction)batch_regions_of, METH_O,
     "regions(index) -> bytes: how the operands of the kernel's instructions lie in registers, packed."},
    {"texts", (PyCFunction)batch_texts, METH_VARARGS,
     "texts(start, stop, threads=1) -> list[list[str]]: the assembly text of each instruction of these kernels."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot batch_slots[] = {
    {Py_tp_doc, "Kernels of one platform, decoded together; made by Library.decode."},
    {Py_tp_dealloc, batch_dealloc},
    {Py_tp_methods, batch_methods},
    {Py_sq_length, batch_length},
    {0, NULL},
};

PyType_Spec batch_spec = {
    "kernlens._decoder.Batch", sizeof(BatchObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    batch_slots,
};
