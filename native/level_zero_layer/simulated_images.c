/* What is copied out of images of simulated devices is zero (base/zeros.h). Of images that are not known (images.c), and of video formats,
 * copies stay as the driver leaves them. */
#include "base/zeros.h"
#include "level_zero_layer/driver.h"
#include "level_zero_layer/layer.h"

static ze_pfnCommandListAppendImageCopyToMemory_t next_copy;
static ze_pfnCommandListAppendImageCopyToMemoryExt_t next_copy_pitched;

/* Fills the region (NULL: all) of an image, as the driver copies it: of an array one image. A pitch of 0 is the smallest. */
static void clear_region(void *to, ze_image_handle_t image, const ze_image_region_t *region, size_t pitch, size_t slice_pitch)
{
    ze_image_desc_t known = {0};
    if (!image_description(image, &known))
        return;
    bool has_rows = known.type == ZE_IMAGE_TYPE_2D || known.type == ZE_IMAGE_TYPE_2DARRAY || known.type == ZE_IMAGE_TYPE_3D;
    size_t width = image_pixel_size(known.format.layout) * (region != NULL ? region->width : known.width);
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

void simulation_hook_image_copies(ze_command_list_dditable_t *table, ze_api_version_t version)
{
    PUT_IN_FRONT(table->pfnAppendImageCopyToMemory, copy, next_copy);
    if ((int)version >= ZE_MAKE_VERSION(1, 3))
        PUT_IN_FRONT(table->pfnAppendImageCopyToMemoryExt, copy_pitched, next_copy_pitched);
}
