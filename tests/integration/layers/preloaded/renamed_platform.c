/* A driver that is another one, which RENAMED_DRIVER names, with another name: so a compiler that is known looks like one that is not. */
#include <CL/cl_icd.h>

#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const char NAME[] = "Another platform";
static cl_int(CL_API_CALL *below)(cl_platform_id, cl_platform_info, size_t, void *, size_t *);

static cl_int CL_API_CALL get_platform_info(cl_platform_id platform, cl_platform_info name, size_t size, void *value,
                                            size_t *size_ret)
{
    if (name != CL_PLATFORM_NAME)
        return below(platform, name, size, value, size_ret);
    if (value != NULL && size < sizeof NAME)
        return CL_INVALID_VALUE;
    if (value != NULL)
        memcpy(value, NAME, sizeof NAME);
    if (size_ret != NULL)
        *size_ret = sizeof NAME;
    return CL_SUCCESS;
}

static void *real(const char *name)
{
    void *library = dlopen(getenv("RENAMED_DRIVER"), RTLD_NOW);
    void *(*find)(const char *) =
        library != NULL ? (void *(*)(const char *))dlsym(library, "clGetExtensionFunctionAddress") : NULL;
    return find != NULL ? find(name) : NULL;
}

static cl_int CL_API_CALL get_platforms(cl_uint room, cl_platform_id *platforms, cl_uint *count_ret)
{
    cl_int(CL_API_CALL * get)(cl_uint, cl_platform_id *, cl_uint *) =
        (cl_int(CL_API_CALL *)(cl_uint, cl_platform_id *, cl_uint *))real("clIcdGetPlatformIDsKHR");
    cl_int status = get != NULL ? get(room, platforms, count_ret) : CL_PLATFORM_NOT_FOUND_KHR;
    if (status != CL_SUCCESS || platforms == NULL || below != NULL)
        return status;
    cl_icd_dispatch *table = *(cl_icd_dispatch **)(void *)platforms[0];
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), begin = (uintptr_t)table / page * page;
    below = table->clGetPlatformInfo;
    mprotect((void *)begin, page, PROT_READ | PROT_WRITE);
    table->clGetPlatformInfo = get_platform_info;
    return status;
}

CL_API_ENTRY void *CL_API_CALL clGetExtensionFunctionAddress(const char *name)
{
    return strcmp(name, "clIcdGetPlatformIDsKHR") == 0 ? (void *)get_platforms : real(name);
}

CL_API_ENTRY cl_int CL_API_CALL clGetPlatformInfo(cl_platform_id platform, cl_platform_info what, size_t size, void *value,
                                                  size_t *size_ret)
{
    return (*(cl_icd_dispatch **)(void *)platform)->clGetPlatformInfo(platform, what, size, value, size_ret);
}
