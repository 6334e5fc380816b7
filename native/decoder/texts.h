/* Assembly texts, as `iga64 -d` prints them. */
#ifndef KERNLENS_TEXTS_H
#define KERNLENS_TEXTS_H

#include "decoder/batch.h"

typedef struct {
    uint32_t number; /* the encoding's */
    size_t start;    /* where the text begins in its chunk's characters, once made */
    size_t length;
} text_item;

typedef struct {
    char *characters;
    size_t size, capacity;
    bool out_of_memory;
} text_chunk;

typedef struct {
    batch *batch;
    text_item *items;
    size_t count;
    bool decodes; /* the items' records are made too */
    text_chunk *chunks;
} text_job;

/* Makes the texts of all items, each as if its instruction stood at offset 0. False: out of memory. Call without the
 * interpreter's lock. */
bool text_job_run(text_job *job, unsigned threads);
void text_job_free(text_job *job);

/* The characters of item `index`, not terminated. */
const char *text_job_text(const text_job *job, size_t index);

enum { LABEL_GROWTH = 64 }; /* how much longer shift_labels can make a text */

/* Copies the text to `out`, every label operand moved by `shift` bytes; returns the new length. */
size_t shift_labels(const char *text, size_t length, int64_t shift, char *out);

#endif
