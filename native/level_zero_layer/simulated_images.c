/* What is copied out of images of simulated devices is zero (base/zeros.h). An image does not tell how large its pixels are: that is
 * kept from when it was made. Of images that came another way (views), and of video formats, copies stay as the driver leaves them. */
#include "base/locks.h"
#include "base/records.h"
#include "base/zeros.h"
#include "level_zero_layer/driver.h"
#include "level_zero_layer/layer.h"

#include <stdlib.h>

static ze_pfnImageCreate_t next_create;
static ze_pfnImageDestroy_t next_destroy;
static ze_pfnCommandListAppendImageCopyToMemory_t next_copy;
static ze_pfnCommandListAppendImageCopyToMemoryExt_t next_copy_pitched;

struct known_image {
    struct record record;
    ze_image_type_t type;
    size_t pixel; /* its bytes */
    size_t width, height, depth;
};
static struct records images;

static void after_fork(bool (*damaged)(enum lock lock))
{
    if (damaged(LOCK_MEMORY))
        images = (struct records){0};
}

__attribute__((constructor)) static void begin(void)
{
    forks_watch(after_fork);
}

/* Returns 0 for formats whose pixels are not each in bytes of their own. */
static size_t pixel_size(ze_image_format_layout_t layout)
{
    static const unsigned char sizes[] = {
        [ZE_IMAGE_FORMAT_LAYOUT_8] = 1,
        [ZE_IMAGE_FORMAT_LAYOUT_16] = 2,
        [ZE_IMAGE_FORMAT_LAYOUT_32] = 4,
        [ZE_IMAGE_FORMAT_LAYOUT_8_8] = 2,
        [ZE_IMAGE_FORMAT_LAYOUT_8_8_8_8] = 4,
        [ZE_IMAGE_FORMAT_LAYOUT_16_16] = 4,
        [ZE_IMAGE_FORMAT_LAYOUT_16_16_16_16] = 8,
        [ZE_IMAGE_FORMAT_LAYOUT_32_32] = 8,
        [ZE_IMAGE_FORMAT_LAYOUT_32_32_32_32] = 16,
        [ZE_IMAGE_FORMAT_LAYOUT_10_10_10_2] = 4,
        [ZE_IMAGE_FORMAT_LAYOUT_11_11_10] = 4,
        [ZE_IMAGE_FORMAT_LAYOUT_5_6_5] = 2,
        [ZE_IMAGE_FORMAT_LAYOUT_5_5_5_1] = 2,
        [ZE_IMAGE_FORMAT_LAYOUT_4_4_4_4] = 2,
    };
    return layout < sizeof sizes ? sizes[layout] : 0;
}

static void forget(ze_image_handle_t image)
{
    lock_take(LOCK_MEMORY);
    struct record *known = records_remove(&images, image);
    lock_give(LOCK_MEMORY);
    free(known);
}

static ze_result_t ZE_APICALL create(ze_context_handle_t context, ze_device_handle_t device, const ze_image_desc_t *description,
                                     ze_image_handle_t *image)
{
    ze_result_t result = next_create(context, device, description, image);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    forget(*image); /* the handle of one that is gone, maybe */
    struct known_image *known = malloc(sizeof *known);
    if (known == NULL)
        return result;
    *known = (struct known_image){
        .record = {.handle = *image},
        .type = description->type,
        .pixel = pixel_size(description->format.layout),
        .width = description->width,
        .height = description->height,
        .depth = description->depth,
    };
    lock_take(LOCK_MEMORY);
    records_add(&images, &known->record);
    lock_give(LOCK_MEMORY);
    return result;
}

static ze_result_t ZE_APICALL destroy(ze_image_handle_t image)
{
    forget(image);
    return next_destroy(image);
}

/* Fills the region (NULL: all) of an image, as the driver copies it: of an array one image. A pitch of 0 is the smallest. */
static void clear_region(void *to, ze_image_handle_t image, const ze_image_region_t *region, size_t pitch, size_t slice_pitch)
{
    lock_take(LOCK_MEMORY);
    const struct known_image *record = (const struct known_image *)(const void *)records_find(&images, image);
    struct known_image known = record != NULL ? *record : (struct known_image){0};
    lock_give(LOCK_MEMORY);
    bool has_rows = known.type == ZE_IMAGE_TYPE_2D || known.type == ZE_IMAGE_TYPE_2DARRAY || known.type == ZE_IMAGE_TYPE_3D;
    size_t width = known.pixel * (region != NULL ? region->width : known.width);
    size_t height = !has_rows ? 1 : region != NULL ? region->height : known.height;
    size_t depth = known.type != ZE_IMAGE_TYPE_3D ? 1 : region != NULL ? region->depth : known.depth;
    size_t row = pitch != 0 ? pitch : width;
    if (width > 0)
        clear_box(to, width, height, depth, row, slice_pitch != 0 ? slice_pitch : row * height);
}

static ze_result_t ZE_APICALL copy(ze_command_list_handle_t list, void *to, ze_image_handle_t image,
                                   const ze_image_region_t *region, ze_event_handle_t event, uint32_t count,
                                   ze_event_handle_t *events)
{
    ze_result_t result = next_copy(list, to, image, region, event, count, events);
    if (result == ZE_RESULT_SUCCESS && !simulation_is_of_device(to))
        clear_region(to, image, region, 0, 0);
    return result;
}

static ze_result_t ZE_APICALL copy_pitched(ze_command_list_handle_t list, void *to, ze_image_handle_t image,
                                           const ze_image_region_t *region, uint32_t pitch, uint32_t slice_pitch,
                                           ze_event_handle_t event, uint32_t count, ze_event_handle_t *events)
{
    ze_result_t result = next_copy_pitched(list, to, image, region, pitch, slice_pitch, event, count, events);
    if (result == ZE_RESULT_SUCCESS && !simulation_is_of_device(to))
        clear_region(to, image, region, pitch, slice_pitch);
    return result;
}

void simulation_hook_images(ze_image_dditable_t *table, ze_api_version_t version)
{
    (void)version; /* they are in every one */
    PUT_IN_FRONT(table->pfnCreate, create, next_create);
    PUT_IN_FRONT(table->pfnDestroy, destroy, next_destroy);
}

void simulation_hook_image_copies(ze_command_list_dditable_t *table, ze_api_version_t version)
{
    PUT_IN_FRONT(table->pfnAppendImageCopyToMemory, copy, next_copy);
    if ((int)version >= ZE_MAKE_VERSION(1, 3))
        PUT_IN_FRONT(table->pfnAppendImageCopyToMemoryExt, copy_pitched, next_copy_pitched);
}
