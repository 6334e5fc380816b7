/* Images in OpenCL's numbers, which launches are kept with. */
#include "level_zero_layer/kept.h"
#include "level_zero_layer/layer.h"

/* OpenCL's channel orders. */
enum { ORDER_R = 0x10B0, ORDER_RG = 0x10B2, ORDER_RGBA = 0x10B5, ORDER_BGRA = 0x10B6 };
/* Its data types by the bits of a channel (8, 16, 32) and Level Zero's type; 0: it has none. */
static const uint64_t DATA_TYPES[3][5] = {
    {0x10DA, 0x10D7, 0x10D2, 0x10D0, 0},
    {0x10DB, 0x10D8, 0x10D3, 0x10D1, 0x10DD},
    {0x10DC, 0x10D9, 0, 0, 0x10DE},
};

struct channels {
    unsigned char count, size; /* of one: 0, 1 or 2 for 8, 16 or 32 bits */
};

static const struct channels CHANNELS[] = {
    [ZE_IMAGE_FORMAT_LAYOUT_8] = {1, 0},        [ZE_IMAGE_FORMAT_LAYOUT_16] = {1, 1},
    [ZE_IMAGE_FORMAT_LAYOUT_32] = {1, 2},       [ZE_IMAGE_FORMAT_LAYOUT_8_8] = {2, 0},
    [ZE_IMAGE_FORMAT_LAYOUT_8_8_8_8] = {4, 0},  [ZE_IMAGE_FORMAT_LAYOUT_16_16] = {2, 1},
    [ZE_IMAGE_FORMAT_LAYOUT_16_16_16_16] = {4, 1}, [ZE_IMAGE_FORMAT_LAYOUT_32_32] = {2, 2},
    [ZE_IMAGE_FORMAT_LAYOUT_32_32_32_32] = {4, 2},
};

static uint64_t order_of(unsigned count, ze_image_format_swizzle_t first)
{
    if (first == ZE_IMAGE_FORMAT_SWIZZLE_B)
        return count == 4 ? ORDER_BGRA : 0;
    if (first != ZE_IMAGE_FORMAT_SWIZZLE_R)
        return 0;
    return count == 4 ? ORDER_RGBA : count == 2 ? ORDER_RG : ORDER_R;
}

bool kept_image(const ze_image_desc_t *description, struct image_form *form)
{
    static const uint64_t TYPES[] = {
        [ZE_IMAGE_TYPE_1D] = FORM_1D, [ZE_IMAGE_TYPE_1DARRAY] = FORM_1D_ARRAY, [ZE_IMAGE_TYPE_2D] = FORM_2D,
        [ZE_IMAGE_TYPE_2DARRAY] = FORM_2D_ARRAY, [ZE_IMAGE_TYPE_3D] = FORM_3D,
    };
    const ze_image_format_t *format = &description->format;
    if ((unsigned)format->layout >= sizeof CHANNELS / sizeof *CHANNELS || (unsigned)format->type > ZE_IMAGE_FORMAT_TYPE_FLOAT ||
        (unsigned)description->type >= sizeof TYPES / sizeof *TYPES)
        return false;
    const struct channels channels = CHANNELS[format->layout];
    bool is_array = description->type == ZE_IMAGE_TYPE_1DARRAY || description->type == ZE_IMAGE_TYPE_2DARRAY;
    bool has_rows = description->type >= ZE_IMAGE_TYPE_2D;
    *form = (struct image_form){
        .order = order_of(channels.count, format->x),
        .data_type = DATA_TYPES[channels.size][format->type],
        .object_type = TYPES[description->type],
        .width = description->width,
        .height = has_rows ? description->height : 0,
        .depth = description->type == ZE_IMAGE_TYPE_3D ? description->depth : 0,
        .array_size = is_array ? description->arraylevels : 0,
        .element_size = image_pixel_size(format->layout),
    };
    return channels.count > 0 && form->order != 0 && form->data_type != 0;
}
