/* Living images, as they were made: an image does not tell. Those that came another way (views) are not known. */
#include "base/locks.h"
#include "base/records.h"
#include "level_zero_layer/driver.h"
#include "level_zero_layer/layer.h"

#include <stdlib.h>

static ze_pfnImageCreate_t next_create;
static ze_pfnImageDestroy_t next_destroy;

struct known_image {
    struct record record;
    ze_image_desc_t description;
};
static struct records images; /* LOCK_MEMORY */

static void after_fork(bool (*damaged)(enum lock lock))
{
    if (damaged(LOCK_MEMORY))
        images = (struct records){0};
}

__attribute__((constructor)) static void begin(void)
{
    forks_watch(after_fork);
}

bool image_description(const void *image, ze_image_desc_t *description)
{
    lock_take(LOCK_MEMORY);
    const struct known_image *known = (const struct known_image *)(const void *)records_find(&images, image);
    if (known != NULL)
        *description = known->description;
    lock_give(LOCK_MEMORY);
    return known != NULL;
}

size_t image_pixel_size(ze_image_format_layout_t layout)
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
    *known = (struct known_image){.record = {.handle = *image}, .description = *description};
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

void images_hook(ze_image_dditable_t *table, ze_api_version_t version)
{
    (void)version; /* they are in every one */
    PUT_IN_FRONT(table->pfnCreate, create, next_create);
    PUT_IN_FRONT(table->pfnDestroy, destroy, next_destroy);
}
