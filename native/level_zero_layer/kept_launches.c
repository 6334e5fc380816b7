/* Launches that are kept: those of immediate lists as they are appended, those of others each time their list is executed, with what the
 * kernel had been given when they were appended. */
#define _GNU_SOURCE
#include "base/zeros.h"
#include "level_zero_layer/driver.h"
#include "level_zero_layer/kept.h"
#include "level_zero_layer/layer.h"
#include "recording/kept_files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A launch as it was appended. */
struct appended_launch {
    struct listed listed;
    struct given_kernel *given_kernel;
    struct list_home home;
    struct shape group; /* of one group */
    ze_group_count_t groups;
    const ze_group_count_t *groups_at; /* where memory says how many; NULL: `groups` does */
    const uint32_t *count_at;
    uint32_t place;
};

/* A launch that is kept once the driver has accepted it. */
struct kept_launch {
    struct kept_launch *next;
    struct given_kernel own; /* its lists are the appended launch's */
    struct reached_list reached;
    char *file;
};

static bool is_on, is_simulated;

bool kept_open(void)
{
    is_on = chosen_open();
    is_simulated = device_is_simulated();
    if (!is_on)
        return false;
    given_kernels_watch();
    kept_objects_watch();
    return true;
}

static void free_appended(struct listed *listed)
{
    struct appended_launch *appended = (struct appended_launch *)(void *)listed;
    given_free(appended->given_kernel);
    free(appended);
}

/* Adds the image to what the launch reaches. */
static void add_image(struct reached_list *list, struct argument_row *row, void *image, const ze_image_desc_t *description)
{
    struct reached memory = {.row = {.kind = MEMORY_IMAGE}, .object = image, .is_written = true};
    uint64_t number = reached_number(list, image, NULL);
    if (!kept_image(description, &memory.row.image))
        list->why = "it has an image in a format that OpenCL does not have";
    memory.row.size = image_form_size(&memory.row.image);
    *row = (struct argument_row){.kind = ROW_MEMORY, .memory = number != 0 ? number : reached_add(list, &memory)};
}

/* Describes an argument of eight bytes: an image, a sampler, an address, or a number. */
static void describe_word(struct reached_list *list, struct argument_row *row, const struct argument *argument)
{
    void *word;
    ze_image_desc_t image;
    struct allocation allocation;
    uint64_t sampler[3];
    memcpy(&word, argument->bytes, sizeof word);
    if (image_description(word, &image)) {
        add_image(list, row, word, &image);
    } else if (kept_sampler(word, sampler)) {
        *row = (struct argument_row){.kind = ROW_SAMPLER, .sampler = {sampler[0], sampler[1], sampler[2]}};
    } else if (allocation_of(word, &allocation)) {
        *row = (struct argument_row){0};
        reached_pointer(list, row, word);
    }
}

static void describe(struct reached_list *list, size_t number, const struct argument *argument)
{
    struct argument_row *row = &list->arguments[number];
    *row = (struct argument_row){.kind = argument->kind == ARGUMENT_LOCAL ? ROW_LOCAL : ROW_VALUE, .size = argument->size};
    if (argument->kind == ARGUMENT_UNSET)
        list->why = "an argument of it was not seen to be set";
    else if (argument->kind == ARGUMENT_VALUE && argument->size == sizeof(void *))
        describe_word(list, row, argument);
    else if (argument->kind == ARGUMENT_VALUE)
        reached_words(list, argument->bytes, argument->size);
}

/* On a device that runs them, launches may be ahead of the list, or behind it: what memory holds now is not what they see. */
static void read_nothing(struct reached_list *list)
{
    for (size_t index = 0; index < list->count; ++index) {
        list->items[index].is_unread = true;
        list->items[index].is_written = false;
        list->items[index].why = "memory of Level Zero is read of simulated devices only";
    }
}

static bool find_reached(struct reached_list *list, const struct given_kernel *own, const void *context)
{
    if (!reached_begin(list, own->argument_count))
        return false;
    for (size_t index = 0; index < list->argument_count; ++index)
        describe(list, index, &own->arguments[index]);
    reached_beside(list, own, context);
    if (own->why != NULL)
        list->why = own->why;
    if (is_simulated)
        reached_by_nothing(list);
    else
        read_nothing(list);
    reached_count(list);
    return true;
}

/* Reads numbers that memory of the device holds; false if the processor may not. */
static bool read_numbers(void *to, const void *from, size_t size)
{
    struct allocation allocation;
    bool is_there = is_simulated && allocation_of(from, &allocation) && allocation.kind != MEMORY_DEVICE;
    return is_there && memory_peek(to, from, size);
}

/* Finds how many groups come in each dimension, and which work items that are; says why not, or NULL. */
static const char *find_sizes(const struct appended_launch *appended, size_t global[3], size_t local[3])
{
    ze_group_count_t groups = appended->groups;
    if (appended->groups_at != NULL && !read_numbers(&groups, appended->groups_at, sizeof groups))
        return "the number of its groups is in memory that is not read";
    const uint32_t counts[3] = {groups.groupCountX, groups.groupCountY, groups.groupCountZ};
    for (unsigned dimension = 0; dimension < 3; ++dimension) {
        local[dimension] = appended->group.local[dimension];
        global[dimension] = counts[dimension] * local[dimension];
        if (local[dimension] == 0 || counts[dimension] == 0)
            return local[dimension] == 0 ? "the size of its groups was not set" : "it has no groups";
    }
    return NULL;
}

/* Keeps a launch that is to come, if it is chosen. */
static void begin(struct kept_launches *launches, const struct appended_launch *appended)
{
    size_t global[3] = {0}, local[3] = {0};
    uint32_t count;
    bool comes = appended->count_at == NULL || !read_numbers(&count, appended->count_at, sizeof count) || appended->place < count;
    struct kept_launch *launch = comes ? calloc(1, sizeof *launch) : NULL;
    if (launch == NULL)
        return;
    launch->own = *appended->given_kernel;
    if (given_launched(&launch->own) && !launch->own.if_slowest && find_reached(&launch->reached, &launch->own, appended->home.context)) {
        const char *why = find_sizes(appended, global, local);
        launch->reached.why = why != NULL ? why : launch->reached.why;
        launch->file = kept_file_begin(&launch->own, &launch->reached, appended->home.device, 3, launch->own.offset, global, local);
    }
    if (launch->file != NULL) {
        reached_peek(&launch->reached);
        launch->next = launches->begun;
        launches->begun = launch;
    } else {
        reached_free(&launch->reached);
        free(launch);
    }
}

/* Writes what was begun, or drops it. */
static void end(struct kept_launches *launches, bool is_kept)
{
    while (launches->begun != NULL) {
        struct kept_launch *launch = launches->begun;
        launches->begun = launch->next;
        if (!is_kept)
            kept_file_drop(launch->file, false);
        if (!is_kept || !kept_file_end(launch->file, &launch->reached, 0))
            kept_room_back(launch->reached.size);
        reached_free(&launch->reached);
        free(launch->file);
        free(launch);
    }
    listed_let_go(&launches->appended);
}

void kept_append(struct kept_launches *launches, ze_command_list_handle_t list, const struct launching *launching)
{
    int before = errno;
    struct given_kernel *own = is_on ? given_until_now(launching->kernel) : NULL;
    struct appended_launch *appended = own != NULL ? calloc(1, sizeof *appended) : NULL;
    if (appended == NULL || !list_home_of(list, &appended->home) || launching->groups == NULL) {
        given_free(own);
        free(appended);
        errno = before;
        return;
    }
    appended->listed.free = free_appended;
    appended->given_kernel = own;
    appended->group = kernel_shape(launching->kernel, &(ze_group_count_t){1, 1, 1});
    if (launching->is_indirect)
        appended->groups_at = launching->groups;
    else
        appended->groups = *launching->groups;
    appended->count_at = launching->count_at;
    appended->place = launching->place;
    if (!listed_hold(&launches->appended, &appended->listed))
        free_appended(&appended->listed);
    else if (appended->home.is_immediate && graph_of(list) == NULL)
        begin(launches, appended);
    errno = before;
}

void kept_appended(struct kept_launches *launches, ze_command_list_handle_t list, ze_result_t result)
{
    if (launches->appended.count == 0)
        return;
    int before = errno;
    struct list_home home = {0};
    const void *graph = result == ZE_RESULT_SUCCESS ? graph_of(list) : NULL;
    bool comes_later = list_home_of(list, &home) && (graph != NULL || !home.is_immediate);
    for (size_t index = 0; result == ZE_RESULT_SUCCESS && comes_later && index < launches->appended.count; ++index)
        list_holds(list, graph, launches->appended.items[index]);
    end(launches, result == ZE_RESULT_SUCCESS && !comes_later);
    errno = before;
}

void kept_execute(struct kept_launches *launches, const void *list)
{
    if (!is_on)
        return;
    int before = errno;
    size_t former = launches->appended.count;
    list_held(list, &launches->appended);
    for (size_t index = former; index < launches->appended.count; ++index)
        begin(launches, (const struct appended_launch *)(void *)launches->appended.items[index]);
    errno = before;
}

void kept_executed(struct kept_launches *launches, ze_result_t result)
{
    int before = errno;
    end(launches, result == ZE_RESULT_SUCCESS);
    errno = before;
}
