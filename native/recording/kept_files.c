/* The file of a launch that is kept: what it was given, then, once it has run, what its memory held. Until it is whole its name begins
 * with a dot: the launch that it tells of had not ended. kernlens/verbs/capture/kept_files.py reads it. */
#include "recording/kept_files.h"

#include "base/bytes.h"
#include "base/locks.h"
#include "base/owned.h"
#include "recording/growing_files.h"
#include "recording/spool.h"

#include <string.h>
#include <unistd.h>

static void numbers(struct writer *fields, const char *name, unsigned count, const size_t *values)
{
    uint64_t rows[3] = {0};
    for (unsigned index = 0; index < count && index < 3 && values != NULL; ++index)
        rows[index] = values[index];
    field_bytes(fields, name, rows, count < 3 ? count * sizeof rows[0] : sizeof rows);
}

/* Notes that a launch of the kernel is missing, and why. */
static void refuse(const struct given_kernel *given_kernel, const char *why)
{
    FREED char *what = text_format("a launch of the kernel %s: %s", chosen_name_text(given_kernel->name), why);
    spool_missing(what != NULL ? what : "a launch that was to be kept", 0);
}

void kept_room_back(uint64_t size)
{
    lock_take(LOCK_RECORDER);
    chosen_give_back(size);
    lock_give(LOCK_RECORDER);
}

static bool take_room(const struct given_kernel *given_kernel, const struct reached_list *list)
{
    if (list->why != NULL) {
        refuse(given_kernel, list->why);
        return false;
    }
    lock_take(LOCK_RECORDER);
    bool has_room = chosen_take(list->size);
    lock_give(LOCK_RECORDER);
    if (!has_room)
        refuse(given_kernel, "its memory is more than may be kept (--launch-bytes)");
    return has_room;
}

char *kept_file_begin(const struct given_kernel *given_kernel, const struct reached_list *list, const void *device, unsigned dimensions,
                      const size_t *offset, const size_t *global, const size_t *local)
{
    if (!take_room(given_kernel, list))
        return NULL;
    RELEASED_BY(writer_free) struct writer fields = {0};
    field_text(&fields, "kernel", chosen_name_text(given_kernel->name));
    field_number(&fields, "number", given_kernel->number);
    field_number(&fields, "process", (uint64_t)getpid());
    field_bytes(&fields, "program", &given_kernel->program, sizeof given_kernel->program);
    field_number(&fields, "device", (uintptr_t)device);
    numbers(&fields, "global", dimensions, global);
    numbers(&fields, "offset", dimensions, offset);
    if (local != NULL)
        numbers(&fields, "local", dimensions, local);
    for (size_t index = 0; index < list->argument_count; ++index) {
        const struct argument *argument = &given_kernel->arguments[index];
        field_bytes(&fields, "argument", &list->arguments[index], sizeof list->arguments[index]);
        if (list->arguments[index].kind == ROW_VALUE && argument->bytes != NULL)
            field_bytes(&fields, "value", argument->bytes, argument->size);
    }
    for (size_t index = 0; index < list->count; ++index)
        field_bytes(&fields, "memory", &list->items[index].row, sizeof list->items[index].row);
    char *name = spool_begin("launch", &fields, "a launch that was to be kept");
    if (name == NULL)
        kept_room_back(list->size);
    return name;
}

/* Writes one field: its name, and so many bytes. */
static bool write_field(const char *name, const char *field, const void *bytes, size_t size)
{
    RELEASED_BY(writer_free) struct writer head = {0};
    write_text(&head, field);
    write_number(&head, size);
    return !head.failed && spool_append(name, head.bytes, head.size) && spool_append(name, bytes, size);
}

static bool write_memory(const char *name, uint64_t number, const struct reached *memory)
{
    const uint64_t refused[3] = {number, (uint64_t)-(int64_t)memory->refused_before, (uint64_t)-(int64_t)memory->refused_after};
    bool is_whole = (refused[1] == 0 && refused[2] == 0) || write_field(name, "refused", refused, sizeof refused);
    if (is_whole && memory->why != NULL)
        is_whole = write_field(name, "unread", &number, sizeof number) && write_field(name, "why", memory->why, strlen(memory->why));
    if (is_whole && memory->before != NULL)
        is_whole = write_field(name, "before", &number, sizeof number) &&
                   write_field(name, "content", memory->before, memory->row.size);
    if (is_whole && memory->after != NULL)
        is_whole = write_field(name, "after", &number, sizeof number) && write_field(name, "content", memory->after, memory->row.size);
    return is_whole;
}

bool kept_file_end(const char *name, const struct reached_list *list, uint64_t nanoseconds)
{
    bool is_whole = nanoseconds == 0 || write_field(name, "nanoseconds", &nanoseconds, sizeof nanoseconds);
    for (size_t index = 0; is_whole && index < list->count; ++index)
        is_whole = write_memory(name, index, &list->items[index]);
    return spool_end(name, is_whole, "a launch that was to be kept");
}

void kept_file_drop(const char *name, bool is_whole)
{
    spool_drop(name, is_whole);
}
