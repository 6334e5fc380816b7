/* A program with an OpenCL loader of its own linked in, as Khronos's is without layers: it opens the drivers of a folder's files in the
 * order of the folder, and calls them through their tables, or with MANAGED as cl_khr_icd 2.0 says.
 *
 * It prints the platforms in their order; on each it builds so many programs and launches so many kernels: own_loader BUILDS LAUNCHES.
 * Then each driver says what became of its tables. A third word says what it does beside, or otherwise: a child of its does the same
 * before (fork), contexts are made for a type of device, which is never listed (type), for sub-devices of a device (sub), kernels are
 * those of a list and clones of them (clone), programs are released (release). */
#define _GNU_SOURCE
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl_icd.h>

#include <dirent.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PLATFORMS = 128 };
/* What an object begins with. */
struct object {
    cl_icd_dispatch *table;
    struct managed {
        cl_icd_dispatch table;
    } * managed;
};
typedef void *(CL_API_CALL *finder)(const char *name);

static struct object *platforms[PLATFORMS];
static finder finders[PLATFORMS];
static void *libraries[PLATFORMS];
static unsigned count;

static cl_icd_dispatch *table_of(void *handle)
{
    struct object *object = handle;
#ifdef MANAGED
    if ((uint64_t)(uintptr_t)object->table->clGetPlatformIDs == 0x4F50454E434C3331)
        return &object->managed->table;
#endif
    return object->table;
}

static void manage(struct object *platform, finder find)
{
#ifdef MANAGED
    if ((uint64_t)(uintptr_t)platform->table->clGetPlatformIDs != 0x4F50454E434C3331)
        return;
    void *(CL_API_CALL * named)(void *, const char *) = (void *(CL_API_CALL *)(void *, const char *))find("clIcdGetFunctionAddressForPlatformKHR");
    cl_int(CL_API_CALL * set)(void *, void *) = (cl_int(CL_API_CALL *)(void *, void *))find("clIcdSetPlatformDispatchDataKHR");
    struct managed *managed = calloc(1, sizeof *managed);
#define TAKE(name) managed->table.name = (cl_api_##name)named(platform, #name)
    TAKE(clGetPlatformInfo), TAKE(clGetDeviceIDs), TAKE(clCreateContext), TAKE(clCreateCommandQueue);
    TAKE(clCreateProgramWithSource), TAKE(clBuildProgram), TAKE(clCreateKernel), TAKE(clEnqueueNDRangeKernel);
    TAKE(clCreateContextFromType), TAKE(clCreateSubDevices), TAKE(clCreateKernelsInProgram), TAKE(clCloneKernel);
    TAKE(clReleaseProgram);
    set(platform, managed);
#else
    (void)platform, (void)find;
#endif
}

static void add(const char *path)
{
    void *library = dlopen(path, RTLD_NOW);
    for (unsigned index = 0; index < count; ++index)
        if (libraries[index] == library)
            return;
    finder find = library != NULL ? (finder)dlsym(library, "clGetExtensionFunctionAddress") : NULL;
    cl_int(CL_API_CALL * get)(cl_uint, void *, cl_uint *) =
        find != NULL ? (cl_int(CL_API_CALL *)(cl_uint, void *, cl_uint *))find("clIcdGetPlatformIDsKHR") : NULL;
    cl_uint more = 0;
    if (get == NULL || get(0, NULL, &more) != CL_SUCCESS || count + more > PLATFORMS ||
        get(more, &platforms[count], NULL) != CL_SUCCESS)
        return;
    for (cl_uint index = 0; index < more; ++index) {
        finders[count + index] = find;
        libraries[count + index] = library;
        manage(platforms[count + index], find);
    }
    count += more;
}

static void list(void)
{
    const char *folder = getenv("OCL_ICD_VENDORS");
    folder = folder != NULL ? folder : "/etc/OpenCL/vendors";
    DIR *entries = opendir(folder);
    for (struct dirent *entry; entries != NULL && (entry = readdir(entries)) != NULL;) {
        char path[4096], text[4096] = "";
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        FILE *file = strstr(entry->d_name, ".icd") != NULL ? fopen(path, "r") : NULL;
        if (file != NULL && fgets(text, sizeof text, file) != NULL) {
            text[strcspn(text, "\n")] = '\0';
            add(text);
        }
        if (file != NULL)
            fclose(file);
    }
}

static cl_context new_context(struct object *platform, const char *how, cl_device_id *device)
{
    cl_int error = CL_SUCCESS;
    cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)platform, 0};
    if (strcmp(how, "type") == 0) /* as ocl-icd does without properties, if there is one platform */
        return table_of(platform)->clCreateContextFromType(count > 1 ? properties : NULL, CL_DEVICE_TYPE_ALL, NULL, NULL, &error);
    if (table_of(platform)->clGetDeviceIDs((cl_platform_id)(void *)platform, CL_DEVICE_TYPE_ALL, 1, device, NULL) != CL_SUCCESS)
        return NULL;
    cl_device_id whole = *device;
    if (strcmp(how, "sub") == 0)
        table_of(whole)->clCreateSubDevices(whole, NULL, 1, device, NULL);
    return table_of(*device)->clCreateContext(NULL, 1, device, NULL, NULL, &error);
}

static cl_kernel new_kernel(cl_program program, const char *how, cl_int *error)
{
    cl_kernel kernel = NULL;
    if (strcmp(how, "clone") != 0)
        return table_of(program)->clCreateKernel(program, "one", error);
    table_of(program)->clCreateKernelsInProgram(program, 1, &kernel, NULL);
    return table_of(kernel)->clCloneKernel(kernel, error);
}

static void work(struct object *platform, int builds, int launches, const char *how)
{
    cl_device_id device = NULL;
    cl_int error = CL_SUCCESS;
    cl_context context = new_context(platform, how, &device);
    if (context == NULL)
        return;
    cl_command_queue queue = table_of(context)->clCreateCommandQueue(context, device, 0, &error);
    for (int each = 0; each < builds; ++each) {
        const char *source = "kernel void one(global int *a) { a[0] = 1; }";
        cl_program program = table_of(context)->clCreateProgramWithSource(context, 1, &source, NULL, &error);
        error |= table_of(program)->clBuildProgram(program, device != NULL, device != NULL ? &device : NULL, "", NULL, NULL);
        cl_kernel kernel = new_kernel(program, how, &error);
        size_t size = 64;
        for (int launch = 0; launch < launches; ++launch)
            error |= table_of(queue)->clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &size, NULL, 0, NULL, NULL);
        if (strcmp(how, "release") == 0)
            table_of(program)->clReleaseProgram(program);
    }
    printf("worked %d\n", error);
}

int main(int words, char **word)
{
    list();
    const char *how = words > 3 ? word[3] : "";
    pid_t child = strcmp(how, "fork") == 0 ? fork() : 0;
    if (child > 0)
        waitpid(child, NULL, 0);
    for (unsigned index = 0; index < count; ++index) {
        char name[128] = "", suffix[64] = "", told[128];
        cl_platform_id platform = (cl_platform_id)(void *)platforms[index];
        table_of(platform)->clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof name, name, NULL);
        printf("%s\n", name);
        if (strncmp(name, "Tables", 6) == 0)
            work(platforms[index], atoi(word[1]), atoi(word[2]), how);
        table_of(platform)->clGetPlatformInfo(platform, CL_PLATFORM_ICD_SUFFIX_KHR, sizeof suffix, suffix, NULL);
        snprintf(told, sizeof told, "tell%s", suffix);
        void (*tell)(void) = (void (*)(void))finders[index](told);
        if (tell != NULL)
            tell();
    }
    return count > 0 ? 7 : 9;
}
