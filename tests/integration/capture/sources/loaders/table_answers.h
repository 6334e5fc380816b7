/* What the objects of table_driver.c answer. */
static cl_int answer(const void *bytes, size_t size, size_t room, void *value, size_t *size_ret)
{
    if (value != NULL && room < size)
        return CL_INVALID_VALUE;
    if (value != NULL)
        memcpy(value, bytes, size);
    if (size_ret != NULL)
        *size_ret = size;
    return CL_SUCCESS;
}

#define TEXT(text) answer(text, strlen(text) + 1, room, value, size_ret)
#define VALUE(thing) answer(&(thing), sizeof(thing), room, value, size_ret)
#define INFO(name, handle, question)                                                                                  \
    static cl_int CL_API_CALL name(handle asked, question what, size_t room, void *value, size_t *size_ret)
#define SELF struct object *self = (struct object *)(void *)asked

INFO(platform_info, cl_platform_id, cl_platform_info)
{
    SELF;
    char name[32], version[32];
    snprintf(name, sizeof name, "Tables " SUFFIX " %d", self->number);
    snprintf(version, sizeof version, "OpenCL %d.%d tables", RELEASE / 10, RELEASE % 10);
    switch (what) {
    case CL_PLATFORM_NAME: return TEXT(name);
    case CL_PLATFORM_VERSION: return TEXT(version);
    case CL_PLATFORM_EXTENSIONS: return TEXT("cl_khr_icd");
    case CL_PLATFORM_ICD_SUFFIX_KHR: return TEXT(SUFFIX);
    default: return CL_INVALID_VALUE;
    }
}

INFO(device_info, cl_device_id, cl_device_info)
{
    SELF;
    cl_platform_id platform = (cl_platform_id)(void *)&platforms[self->number];
    cl_device_type type = CL_DEVICE_TYPE_ACCELERATOR;
    switch (what) {
    case CL_DEVICE_PLATFORM: return VALUE(platform);
    case CL_DEVICE_TYPE: return VALUE(type);
    case CL_DEVICE_NAME: return TEXT("Table");
    case CL_DRIVER_VERSION: return TEXT("1");
    default: return CL_INVALID_VALUE;
    }
}

static cl_device_id device_of(struct object *object)
{
    while (object->of != NULL)
        object = object->of;
    return (cl_device_id)(void *)object;
}

INFO(context_info, cl_context, cl_context_info)
{
    SELF;
    cl_device_id device = device_of(self);
    return what == CL_CONTEXT_DEVICES ? VALUE(device) : CL_INVALID_VALUE;
}

INFO(queue_info, cl_command_queue, cl_command_queue_info)
{
    SELF;
    cl_device_id device = device_of(self);
    return what == CL_QUEUE_DEVICE ? VALUE(device) : CL_INVALID_VALUE;
}

INFO(program_info, cl_program, cl_program_info)
{
    SELF;
    cl_device_id device = device_of(self);
    cl_uint one = 1;
    size_t size = 4;
    switch (what) {
    case CL_PROGRAM_NUM_DEVICES: case CL_PROGRAM_REFERENCE_COUNT: return VALUE(one);
    case CL_PROGRAM_DEVICES: return VALUE(device);
    case CL_PROGRAM_CONTEXT: return VALUE(self->of);
    case CL_PROGRAM_SOURCE: return TEXT(self->text);
    case CL_PROGRAM_BINARY_SIZES: return VALUE(size);
    case CL_PROGRAM_BINARIES: memcpy(*(void **)value, "code", 4); return CL_SUCCESS;
    default: return CL_INVALID_VALUE;
    }
}

static cl_int CL_API_CALL build_info(cl_program program, cl_device_id device, cl_program_build_info what, size_t room, void *value,
                                     size_t *size_ret)
{
    (void)program, (void)device;
    cl_build_status status = CL_BUILD_SUCCESS;
    return what == CL_PROGRAM_BUILD_STATUS ? VALUE(status) : TEXT("");
}

INFO(kernel_info, cl_kernel, cl_kernel_info)
{
    SELF;
    return what == CL_KERNEL_FUNCTION_NAME ? TEXT(self->text) : CL_INVALID_VALUE;
}
