/* From Intel's Level Zero specification 1.4 (ze_api.h): images and samplers. Enumerations lack the values that the
 * layer does not use.
 *
 * Copyright (C) 2019-2021 Intel Corporation
 * SPDX-License-Identifier: MIT
 * The text of the licence is in the file LICENSE here.
 */
#ifndef KERNLENS_ZE_IMAGES_H
#define KERNLENS_ZE_IMAGES_H

#include "level_zero_api/ze_api.h"

typedef uint32_t ze_image_flags_t;

typedef enum {
    ZE_IMAGE_TYPE_1D = 0,
    ZE_IMAGE_TYPE_1DARRAY = 1,
    ZE_IMAGE_TYPE_2D = 2,
    ZE_IMAGE_TYPE_2DARRAY = 3,
    ZE_IMAGE_TYPE_3D = 4,
    ZE_IMAGE_TYPE_FORCE_UINT32 = 0x7fffffff,
} ze_image_type_t;

typedef enum {
    ZE_IMAGE_FORMAT_LAYOUT_8 = 0,
    ZE_IMAGE_FORMAT_LAYOUT_16 = 1,
    ZE_IMAGE_FORMAT_LAYOUT_32 = 2,
    ZE_IMAGE_FORMAT_LAYOUT_8_8 = 3,
    ZE_IMAGE_FORMAT_LAYOUT_8_8_8_8 = 4,
    ZE_IMAGE_FORMAT_LAYOUT_16_16 = 5,
    ZE_IMAGE_FORMAT_LAYOUT_16_16_16_16 = 6,
    ZE_IMAGE_FORMAT_LAYOUT_32_32 = 7,
    ZE_IMAGE_FORMAT_LAYOUT_32_32_32_32 = 8,
    ZE_IMAGE_FORMAT_LAYOUT_10_10_10_2 = 9,
    ZE_IMAGE_FORMAT_LAYOUT_11_11_10 = 10,
    ZE_IMAGE_FORMAT_LAYOUT_5_6_5 = 11,
    ZE_IMAGE_FORMAT_LAYOUT_5_5_5_1 = 12,
    ZE_IMAGE_FORMAT_LAYOUT_4_4_4_4 = 13,
    ZE_IMAGE_FORMAT_LAYOUT_FORCE_UINT32 = 0x7fffffff,
} ze_image_format_layout_t;

typedef enum {
    ZE_IMAGE_FORMAT_TYPE_UINT = 0,
    ZE_IMAGE_FORMAT_TYPE_SINT = 1,
    ZE_IMAGE_FORMAT_TYPE_UNORM = 2,
    ZE_IMAGE_FORMAT_TYPE_SNORM = 3,
    ZE_IMAGE_FORMAT_TYPE_FLOAT = 4,
    ZE_IMAGE_FORMAT_TYPE_FORCE_UINT32 = 0x7fffffff,
} ze_image_format_type_t;

typedef enum {
    ZE_IMAGE_FORMAT_SWIZZLE_R = 0,
    ZE_IMAGE_FORMAT_SWIZZLE_B = 2,
    ZE_IMAGE_FORMAT_SWIZZLE_FORCE_UINT32 = 0x7fffffff,
} ze_image_format_swizzle_t;

typedef struct {
    ze_image_format_layout_t layout;
    ze_image_format_type_t type;
    ze_image_format_swizzle_t x;
    ze_image_format_swizzle_t y;
    ze_image_format_swizzle_t z;
    ze_image_format_swizzle_t w;
} ze_image_format_t;

typedef struct {
    ze_structure_type_t stype;
    const void *pNext;
    ze_image_flags_t flags;
    ze_image_type_t type;
    ze_image_format_t format;
    uint64_t width;
    uint32_t height;
    uint32_t depth;
    uint32_t arraylevels;
    uint32_t miplevels;
} ze_image_desc_t;

typedef struct _ze_sampler_handle_t *ze_sampler_handle_t;
typedef uint8_t ze_bool_t;

typedef enum {
    ZE_SAMPLER_ADDRESS_MODE_NONE = 0,
    ZE_SAMPLER_ADDRESS_MODE_REPEAT = 1,
    ZE_SAMPLER_ADDRESS_MODE_CLAMP = 2,
    ZE_SAMPLER_ADDRESS_MODE_CLAMP_TO_BORDER = 3,
    ZE_SAMPLER_ADDRESS_MODE_MIRROR = 4,
    ZE_SAMPLER_ADDRESS_MODE_FORCE_UINT32 = 0x7fffffff,
} ze_sampler_address_mode_t;

typedef enum {
    ZE_SAMPLER_FILTER_MODE_NEAREST = 0,
    ZE_SAMPLER_FILTER_MODE_LINEAR = 1,
    ZE_SAMPLER_FILTER_MODE_FORCE_UINT32 = 0x7fffffff,
} ze_sampler_filter_mode_t;

typedef struct {
    ze_structure_type_t stype;
    const void *pNext;
    ze_sampler_address_mode_t addressMode;
    ze_sampler_filter_mode_t filterMode;
    ze_bool_t isNormalized;
} ze_sampler_desc_t;

#endif
