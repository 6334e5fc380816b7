#define _GNU_SOURCE
#include "recording/reached.h"

#include "base/arrays.h"

#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

uint64_t image_form_size(const struct image_form *image)
{
    bool is_row_array = image->object_type == FORM_1D_ARRAY;
    uint64_t rows = is_row_array ? image->array_size : image->height > 0 ? image->height : 1;
    uint64_t slices = image->object_type == FORM_2D_ARRAY ? image->array_size : image->depth > 0 ? image->depth : 1;
    return image->width * rows * slices * image->element_size;
}

bool reached_begin(struct reached_list *list, size_t arguments)
{
    list->argument_count = arguments;
    list->arguments = calloc(arguments + 1, sizeof *list->arguments);
    return list->arguments != NULL;
}

uint64_t reached_add(struct reached_list *list, const struct reached *memory)
{
    struct reached *grown = array_reserve(list->items, &list->capacity, list->count + 1, sizeof *grown);
    if (grown == NULL) {
        list->why = "there is no memory for a list of what it reaches";
        return 0;
    }
    list->items = grown;
    grown[list->count] = *memory;
    return ++list->count;
}

uint64_t reached_number(const struct reached_list *list, const void *object, const void *address)
{
    for (size_t index = 0; index < list->count; ++index)
        if (list->items[index].object == object && list->items[index].address == address)
            return index + 1;
    return 0;
}

static uint64_t add_allocation(struct reached_list *list, const struct allocation *each)
{
    uint64_t number = reached_number(list, NULL, each->address);
    if (number != 0)
        return number;
    struct reached memory = {.address = each->address, .is_written = true};
    memory.row = (struct memory_row){
        .kind = each->kind, .size = each->size, .flags = each->flags, .address = (uintptr_t)each->address};
    return reached_add(list, &memory);
}

void reached_pointer(struct reached_list *list, struct argument_row *row, const void *pointer)
{
    struct allocation allocation;
    row->kind = pointer != NULL ? ROW_POINTER : ROW_NULL;
    if (pointer == NULL)
        return;
    if (!allocation_of(pointer, &allocation)) {
        list->why = "an argument points into memory that was not allocated for kernels";
        return;
    }
    row->memory = add_allocation(list, &allocation);
    row->offset = (uintptr_t)pointer - (uintptr_t)allocation.address;
}

void reached_words(struct reached_list *list, const void *value, size_t size)
{
    for (size_t offset = 0; offset + sizeof(void *) <= size; offset += sizeof(void *)) {
        const void *word;
        struct allocation allocation;
        memcpy(&word, (const char *)value + offset, sizeof word);
        if (allocation_of(word, &allocation))
            add_allocation(list, &allocation);
    }
}

static void visit(const struct allocation *each, void *to)
{
    add_allocation(to, each);
}

void reached_beside(struct reached_list *list, const struct given_kernel *given_kernel, const void *context)
{
    for (size_t index = 0; index < given_kernel->reachable_count; ++index) {
        struct allocation allocation;
        if (allocation_of(given_kernel->reachable[index], &allocation))
            add_allocation(list, &allocation);
    }
    const bool reaches[] = {given_kernel->reaches_host, given_kernel->reaches_device, given_kernel->reaches_shared};
    for (unsigned index = 0; index < sizeof reaches / sizeof reaches[0]; ++index)
        if (reaches[index])
            allocations_visit(context, MEMORY_HOST + index, visit, list);
}

void reached_by_nothing(struct reached_list *list)
{
    for (size_t index = 0; index < list->count; ++index) {
        struct reached *memory = &list->items[index];
        uint64_t kind = memory->row.kind;
        memory->is_written = false;
        memory->is_unread = kind != MEMORY_SVM && kind != MEMORY_HOST && kind != MEMORY_SHARED;
        memory->why = memory->is_unread ? "a simulated device gives back nothing of it" : "nothing runs on a simulated device";
    }
}

bool memory_peek(void *to, const void *from, size_t size)
{
    enum { MOST = 1 << 30 }; /* the kernel reads less than 2 GB in a call */
    for (size_t done = 0; done < size;) {
        size_t part = size - done < MOST ? size - done : MOST;
        const struct iovec here = {(char *)to + done, part}, there = {(char *)(uintptr_t)from + done, part};
        ssize_t count = process_vm_readv(getpid(), &here, 1, &there, 1, 0);
        if (count <= 0)
            return false;
        done += (size_t)count;
    }
    return true;
}

void reached_peek(struct reached_list *list)
{
    for (size_t index = 0; index < list->count; ++index) {
        struct reached *memory = &list->items[index];
        if (memory->is_unread)
            continue;
        memory->before = memory->row.size > 0 ? malloc(memory->row.size) : NULL;
        if (memory->before != NULL && memory_peek(memory->before, memory->address, memory->row.size))
            continue;
        memory->why = memory->before == NULL ? "there was no memory for its contents" : "the processor may not read it";
        free(memory->before);
        memory->before = NULL;
    }
}

void reached_count(struct reached_list *list)
{
    for (size_t index = 0; index < list->count; ++index)
        list->size += list->items[index].row.size * ((uint64_t)!list->items[index].is_unread + list->items[index].is_written);
}

void reached_free(struct reached_list *list)
{
    for (size_t index = 0; index < list->count; ++index) {
        free(list->items[index].before);
        free(list->items[index].after);
    }
    free(list->items);
    free(list->arguments);
    *list = (struct reached_list){0};
}
