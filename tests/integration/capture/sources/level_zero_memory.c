/* What an application finds in memory that nothing was computed into: how many bytes are not zero. */
#define _GNU_SOURCE
#include "level_zero_application.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { SIZE = 4096, BLOCKS = 64, MARK = 0x55, WIDTH = 8, PITCH = 16, HEIGHT = 4, DEPTH = 2, SLICE = 128 };

/* Leaves to whoever asks for memory next what somebody has written into it. */
static void write_and_free(void)
{
    void *blocks[BLOCKS];
    for (int index = 0; index < BLOCKS; ++index)
        memset(blocks[index] = malloc(2 * SIZE), 0xaa, 2 * SIZE);
    for (int index = 0; index < BLOCKS; ++index)
        free(blocks[index]);
}

static size_t marked(const uint8_t *memory, size_t size, uint8_t value)
{
    size_t count = 0;
    for (size_t index = 0; index < size; ++index)
        count += memory[index] == value;
    return count;
}

typedef ze_result_t (*copy_with_parameters)(ze_command_list_handle_t list, void *to, const void *from, size_t size,
                                            const void *extensions, ze_event_handle_t event, uint32_t count,
                                            ze_event_handle_t *events);

/* Copies parts of an image, and all of it; each part into the middle of memory. */
static void read_image(ze_command_list_handle_t list, uint8_t *to)
{
    ze_image_desc_t description = {.stype = ZE_STRUCTURE_TYPE_IMAGE_DESC,
                                   .type = ZE_IMAGE_TYPE_2D,
                                   .format = {.layout = ZE_IMAGE_FORMAT_LAYOUT_8_8_8_8},
                                   .width = 32,
                                   .height = 16};
    ze_image_region_t part = {.originX = 1, .originY = 2, .width = WIDTH, .height = HEIGHT, .depth = 1};
    ze_image_handle_t image;
    check(zeImageCreate(context, device, &description, &image), "zeImageCreate");
    memset(to, MARK, 3 * SIZE);
    check(zeCommandListAppendImageCopyToMemory(list, to + SIZE, image, &part, NULL, 0, NULL), "image");
    size_t size = 4 * WIDTH * HEIGHT;
    printf("image %zu around %zu\n", size - marked(to + SIZE, size, 0), marked(to, 3 * SIZE, MARK));
    memset(to, MARK, 3 * SIZE);
    check(zeCommandListAppendImageCopyToMemory(list, to + SIZE, image, NULL, NULL, 0, NULL), "image");
    size = 4 * 32 * 16;
    printf("whole image %zu around %zu\n", size - marked(to + SIZE, size, 0), marked(to, 3 * SIZE, MARK));
    check(zeImageDestroy(image), "zeImageDestroy");
}

void read_memory(void)
{
    ze_device_mem_alloc_desc_t of_device = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
    ze_host_mem_alloc_desc_t of_host = {.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
    ze_command_queue_desc_t queue = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
                                     .mode = ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS};
    ze_command_list_desc_t description = {.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC};
    ze_command_list_handle_t immediate, list;
    void *host, *shared, *memory;
    check(zeCommandListCreateImmediate(context, device, &queue, &immediate), "zeCommandListCreateImmediate");
    check(zeCommandListCreate(context, device, &description, &list), "zeCommandListCreate");

    write_and_free();
    check(zeMemAllocHost(context, &of_host, SIZE, 64, &host), "zeMemAllocHost");
    write_and_free();
    check(zeMemAllocShared(context, &of_device, &of_host, SIZE, 64, device, &shared), "zeMemAllocShared");
    write_and_free();
    check(zeMemAllocDevice(context, &of_device, SIZE, 64, device, &memory), "zeMemAllocDevice");
    printf("host %zu\n", SIZE - marked(host, SIZE, 0));
    printf("shared %zu\n", SIZE - marked(shared, SIZE, 0));

    /* Into the middle of memory: exactly that. */
    uint8_t *to = malloc(3 * SIZE);
    ze_command_list_handle_t lists[] = {immediate, list};
    for (int index = 0; index < 2; ++index) {
        memset(to, MARK, 3 * SIZE);
        check(zeCommandListAppendMemoryCopy(lists[index], to + SIZE, memory, SIZE, NULL, 0, NULL), "copy");
        printf("copy %zu around %zu\n", SIZE - marked(to + SIZE, SIZE, 0), marked(to, 3 * SIZE, MARK));
    }
    memset(host, MARK, SIZE);
    check(zeCommandListAppendMemoryCopy(list, host, (uint8_t *)memory + 16, 64, NULL, 0, NULL), "copy");
    printf("into host %zu around %zu\n", 64 - marked(host, 64, 0), marked(host, SIZE, MARK));

    /* A box: the rows alone. */
    memset(to, MARK, 3 * SIZE);
    ze_copy_region_t box = {.originX = 4, .originY = 1, .originZ = 1, .width = WIDTH, .height = HEIGHT, .depth = DEPTH};
    check(zeCommandListAppendMemoryCopyRegion(list, to, &box, PITCH, SLICE, memory, &box, PITCH, SLICE, NULL, 0, NULL), "box");
    size_t other = 0;
    for (size_t z = 0; z < DEPTH; ++z)
        for (size_t y = 0; y < HEIGHT; ++y)
            other += WIDTH - marked(to + (1 + z) * SLICE + (1 + y) * PITCH + 4, WIDTH, 0);
    printf("box %zu around %zu\n", other, marked(to, 3 * SIZE, MARK));

    memset(to, MARK, 3 * SIZE);
    check(zeCommandListAppendMemoryCopyFromContext(list, to + SIZE, context, memory, SIZE, NULL, 0, NULL), "copy");
    printf("from context %zu around %zu\n", SIZE - marked(to + SIZE, SIZE, 0), marked(to, 3 * SIZE, MARK));
    copy_with_parameters with = (copy_with_parameters)dlsym(RTLD_DEFAULT, "zeCommandListAppendMemoryCopyWithParameters");
    memset(to, MARK, 3 * SIZE);
    if (with == NULL) /* loaders before 1.16 */
        zeCommandListAppendMemoryCopy(list, to + SIZE, memory, SIZE, NULL, 0, NULL);
    else
        check(with(list, to + SIZE, memory, SIZE, NULL, NULL, 0, NULL), "copy with parameters");
    printf("with parameters %zu around %zu\n", SIZE - marked(to + SIZE, SIZE, 0), marked(to, 3 * SIZE, MARK));
    read_image(list, to);

    /* What is no memory of the device, and what cannot be written. */
    memset(to, MARK, 3 * SIZE);
    check(zeCommandListAppendMemoryCopy(list, to, host, SIZE, NULL, 0, NULL), "copy");
    check(zeCommandListAppendMemoryCopy(list, memory, to, SIZE, NULL, 0, NULL), "copy");
    printf("from host %zu\n", marked(to, 3 * SIZE, MARK));
    void *closed = mmap(NULL, SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    printf("closed %#x\n", (unsigned)zeCommandListAppendMemoryCopy(list, closed, memory, SIZE, NULL, 0, NULL));

    check(zeCommandListDestroy(list), "zeCommandListDestroy");
    check(zeCommandListDestroy(immediate), "zeCommandListDestroy");
    munmap(closed, SIZE);
    free(to);
    check(zeMemFree(context, memory), "zeMemFree");
    check(zeMemFree(context, shared), "zeMemFree");
    check(zeMemFree(context, host), "zeMemFree");
}
