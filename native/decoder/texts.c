#include "decoder/texts.h"

#include "base/arrays.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What iga64 switches on unless told otherwise: bfn's table as an expression (IGA_FORMATTING_OPT_PRINT_BFNEXPRS). */
enum { IGA64_OPTIONS = 0x80 };

enum { USUAL_TEXT = 512, LONGEST_TEXT = 1 << 16, FIRST_ROOM = 4096, MAX_LABELS = 2 };

/* Reads a label (L96, or L_N96 for one before the kernel's start) at `text`; returns its length, 0 if there is none. */
static size_t read_label(const char *text, const char *end, int64_t *target)
{
    const char *at = text;
    if (at == end || *at++ != 'L')
        return 0;
    bool before = end - at >= 2 && at[0] == '_' && at[1] == 'N';
    if (before)
        at += 2;
    const char *digits = at;
    int64_t value = 0;
    while (at < end && *at >= '0' && *at <= '9' && at - digits < 10)
        value = value * 10 + (*at++ - '0');
    *target = before ? -value : value;
    return at > digits ? (size_t)(at - text) : 0;
}

/* Labels are rewritten, not asked for through the library's labeler: it pads columns by another rule for those. */
size_t shift_labels(const char *text, size_t length, int64_t shift, char *out)
{
    const char *at = text, *end = text + length;
    char *to = out;
    int shifted = 0;
    while (at < end) {
        int64_t target = 0;
        size_t label = 0;
        if (shifted < MAX_LABELS && at > text && at[-1] == ' ')
            label = read_label(at, end, &target);
        if (label == 0) {
            *to++ = *at++;
            continue;
        }
        int64_t moved = (int32_t)(uint32_t)(uint64_t)(target + shift);
        to += sprintf(to, moved < 0 ? "L_N%lld" : "L%lld", (long long)(moved < 0 ? -moved : moved));
        at += label;
        shifted++;
    }
    return (size_t)(to - out);
}

/* Makes room for `more` characters at the chunk's end and returns it; NULL if there is no memory. */
static char *reserve(text_chunk *chunk, size_t more)
{
    size_t size = chunk->size + more;
    char *characters = array_reserve(chunk->characters, &chunk->capacity, size < FIRST_ROOM ? FIRST_ROOM : size, 1);
    if (characters == NULL) {
        chunk->out_of_memory = true;
        return NULL;
    }
    chunk->characters = characters;
    return chunk->characters + chunk->size;
}

/* Appends the instruction's text to the chunk; returns its length. */
static size_t append_text(text_chunk *chunk, const iga_library *library, const kv_t *view, int32_t place)
{
    char *text = reserve(chunk, USUAL_TEXT);
    if (text == NULL)
        return 0;
    /* The returned length includes the terminating zero, and tells what the whole text needs. */
    size_t length = library->kv_get_inst_syntax(view, place, text, USUAL_TEXT, IGA64_OPTIONS, NULL, NULL);
    if (length > USUAL_TEXT) {
        size_t room = length < LONGEST_TEXT ? length : LONGEST_TEXT;
        if ((text = reserve(chunk, room)) == NULL)
            return 0;
        length = library->kv_get_inst_syntax(view, place, text, room, IGA64_OPTIONS, NULL, NULL);
        length = length < room ? length : room;
    }
    return length > 0 ? length - 1 : 0;
}

/* Moves the labels of the text just appended, `length` long, by `shift`; returns the new length. */
static size_t move_labels(text_chunk *chunk, size_t length, int64_t shift)
{
    char *text = reserve(chunk, 2 * length + LABEL_GROWTH);
    if (text == NULL)
        return 0;
    size_t moved = shift_labels(text, length, shift, text + length);
    memmove(text, text + length, moved);
    return moved;
}

static void visit_text(void *context, size_t index, const kv_t *view, int32_t place)
{
    static const char illegal[] = "illegal";
    text_job *job = context;
    text_item *item = &job->items[index];
    text_chunk *chunk = &job->chunks[index / CHUNK_SIZE];
    const instruction_record *record = &job->batch->records[item->number];
    item->start = chunk->size;
    if (view == NULL) {
        char *text = reserve(chunk, sizeof illegal);
        item->length = text == NULL ? 0 : sizeof illegal - 1;
        if (text != NULL)
            memcpy(text, illegal, sizeof illegal);
    } else {
        item->length = append_text(chunk, job->batch->library, view, place);
        if ((record->flags & RECORD_LABEL) && !(record->flags & RECORD_ABSOLUTE_TARGET))
            item->length = move_labels(chunk, item->length, -(int64_t)place);
    }
    chunk->size += item->length;
}

/* One view gives both: to make it takes a quarter of the time that a text takes. */
static void visit_record_and_text(void *context, size_t index, const kv_t *view, int32_t place)
{
    text_job *job = context;
    size_t number = job->items[index].number;
    batch_visit_record(job->batch, number, view, place);
    visit_text(job, index, view, place);
}

static uint32_t number_of_item(void *context, size_t index)
{
    return ((text_job *)context)->items[index].number;
}

bool text_job_run(text_job *job, unsigned threads)
{
    size_t chunks = chunk_count(job->count);
    if (chunks == 0)
        return true;
    job->chunks = calloc(chunks, sizeof *job->chunks);
    if (job->chunks == NULL)
        return false;
    traversal t = {.batch = job->batch, .context = job, .number_at = number_of_item};
    t.visit = job->decodes ? visit_record_and_text : visit_text;
    traverse_all(&t, job->count, threads);
    for (size_t chunk = 0; chunk < chunks; chunk++)
        if (job->chunks[chunk].out_of_memory)
            return false;
    return true;
}

void text_job_free(text_job *job)
{
    if (job->chunks != NULL)
        for (size_t chunk = 0; chunk < chunk_count(job->count); chunk++)
            free(job->chunks[chunk].characters);
    free(job->chunks);
    free(job->items);
}

const char *text_job_text(const text_job *job, size_t index)
{
    return job->chunks[index / CHUNK_SIZE].characters + job->items[index].start;
}
