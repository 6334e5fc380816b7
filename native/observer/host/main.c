// The host of the interpreter: builds a program, or runs one launch of a kernel, with Oclgrind's OpenCL library.
//
//   kernlens_interpreter LIBRARY build SOURCE BITCODE OPTIONS
//   kernlens_interpreter LIBRARY run JOB
//
// A job has a line for each word of it, in this order; the names of files are relative to the working folder:
//
//   set NAME VALUE            an environment variable, before the library is loaded
//   program FILE              LLVM bitcode
//   kernel NAME
//   global|local N N N
//   value HEX                 the next argument: a value
//   memory BYTES              local memory
//   buffer BYTES FILE         a buffer with the file's bytes
//
// The status is 0; 1 if the source does not build, with the log on standard output; else 2, with a sentence on standard error.

#define _POSIX_C_SOURCE 200809L
#include <CL/cl.h>
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_LINE = 1 << 16, REFUSED = 1, FAILED = 2 };

static struct {
    cl_int (*platforms)(cl_uint, cl_platform_id *, cl_uint *);
    cl_int (*devices)(cl_platform_id, cl_device_type, cl_uint, cl_device_id *, cl_uint *);
    cl_context (*context)(const cl_context_properties *, cl_uint, const cl_device_id *, void *, void *, cl_int *);
    cl_command_queue (*queue)(cl_context, cl_device_id, cl_command_queue_properties, cl_int *);
    cl_program (*with_source)(cl_context, cl_uint, const char **, const size_t *, cl_int *);
    cl_program (*with_binary)(cl_context, cl_uint, const cl_device_id *, const size_t *, const unsigned char **, cl_int *, cl_int *);
    cl_int (*build)(cl_program, cl_uint, const cl_device_id *, const char *, void *, void *);
    cl_int (*build_info)(cl_program, cl_device_id, cl_program_build_info, size_t, void *, size_t *);
    cl_int (*program_info)(cl_program, cl_program_info, size_t, void *, size_t *);
    cl_kernel (*kernel)(cl_program, const char *, cl_int *);
    cl_int (*argument)(cl_kernel, cl_uint, size_t, const void *);
    cl_mem (*buffer)(cl_context, cl_mem_flags, size_t, void *, cl_int *);
    cl_int (*launch)(cl_command_queue, cl_kernel, cl_uint, const size_t *, const size_t *, const size_t *, cl_uint, const cl_event *, cl_event *);
    cl_int (*finish)(cl_command_queue);
} cl;

static cl_device_id device;
static cl_context context;

static void fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(FAILED);
}

static void check(cl_int status, const char *what) {
    if (status != CL_SUCCESS) fail("%s failed with status %d", what, status);
}

static void open_library(const char *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (library == NULL) fail("%s", dlerror());
    const struct { const char *symbol; void **function; } needed[] = {
        {"clGetPlatformIDs", (void **)&cl.platforms}, {"clGetDeviceIDs", (void **)&cl.devices},
        {"clCreateContext", (void **)&cl.context}, {"clCreateCommandQueue", (void **)&cl.queue},
        {"clCreateProgramWithSource", (void **)&cl.with_source}, {"clCreateProgramWithBinary", (void **)&cl.with_binary},
        {"clBuildProgram", (void **)&cl.build}, {"clGetProgramBuildInfo", (void **)&cl.build_info},
        {"clGetProgramInfo", (void **)&cl.program_info}, {"clCreateKernel", (void **)&cl.kernel},
        {"clSetKernelArg", (void **)&cl.argument}, {"clCreateBuffer", (void **)&cl.buffer},
        {"clEnqueueNDRangeKernel", (void **)&cl.launch}, {"clFinish", (void **)&cl.finish},
    };
    for (size_t each = 0; each < sizeof needed / sizeof *needed; each++) {
        *needed[each].function = dlsym(library, needed[each].symbol);
        if (*needed[each].function == NULL) fail("%s has no %s", path, needed[each].symbol);
    }
    cl_platform_id platform;
    cl_int status;
    check(cl.platforms(1, &platform, NULL), "clGetPlatformIDs");
    check(cl.devices(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
    context = cl.context(NULL, 1, &device, NULL, NULL, &status);
    check(status, "clCreateContext");
}

static unsigned char *file_bytes(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0) fail("%s cannot be read", path);
    long length = ftell(file);
    rewind(file);
    unsigned char *bytes = length < 0 ? NULL : malloc((size_t)length + 1);
    if (bytes == NULL || fread(bytes, 1, (size_t)length, file) != (size_t)length) fail("%s cannot be read", path);
    bytes[length] = 0;
    fclose(file);
    *size = (size_t)length;
    return bytes;
}

static void build(cl_program program, const char *options) {
    cl_int status = cl.build(program, 1, &device, options, NULL, NULL);
    size_t size = 0;
    cl.build_info(program, device, CL_PROGRAM_BUILD_LOG, 0, NULL, &size);
    char *log = calloc(1, size + 1);
    if (log != NULL && size) cl.build_info(program, device, CL_PROGRAM_BUILD_LOG, size, log, NULL);
    if (log != NULL) fputs(log, stdout);
    free(log);
    if (status == CL_BUILD_PROGRAM_FAILURE || status == CL_INVALID_BUILD_OPTIONS) exit(REFUSED);
    check(status, "clBuildProgram");
}

static int build_source(const char *source, const char *target, const char *options) {
    size_t size;
    cl_int status;
    const char *text = (const char *)file_bytes(source, &size);
    cl_program program = cl.with_source(context, 1, &text, &size, &status);
    check(status, "clCreateProgramWithSource");
    build(program, options);
    check(cl.program_info(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, NULL), "clGetProgramInfo");
    unsigned char *bytes = malloc(size + 1);
    if (bytes == NULL) fail("there is no memory for the program");
    check(cl.program_info(program, CL_PROGRAM_BINARIES, sizeof bytes, &bytes, NULL), "clGetProgramInfo");
    FILE *file = fopen(target, "wb");
    if (file == NULL || fwrite(bytes, 1, size, file) != size || fclose(file) != 0) fail("%s cannot be written", target);
    return 0;
}

static size_t number(const char *text) {
    size_t value = 0;
    for (; *text >= '0' && *text <= '9'; text++) value = value * 10 + (size_t)(*text - '0');
    return value;
}

static int digit(char letter) { return letter <= '9' ? letter - '0' : letter - 'a' + 10; }

static void set_value(cl_kernel kernel, cl_uint index, const char *hex) {
    static unsigned char bytes[LONGEST_LINE / 2];
    size_t size = strlen(hex) / 2;
    for (size_t each = 0; each < size; each++) bytes[each] = (unsigned char)(digit(hex[2 * each]) << 4 | digit(hex[2 * each + 1]));
    check(cl.argument(kernel, index, size, bytes), "clSetKernelArg");
}

static void set_buffer(cl_kernel kernel, cl_uint index, size_t size, const char *path) {
    size_t length;
    cl_int status;
    unsigned char *bytes = file_bytes(path, &length);
    if (length != size) fail("%s has %zu bytes, not %zu", path, length, size);
    cl_mem buffer = cl.buffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, size, bytes, &status);
    check(status, "clCreateBuffer");
    free(bytes);
    check(cl.argument(kernel, index, sizeof buffer, &buffer), "clSetKernelArg");
}

static void set_sizes(char *words, size_t sizes[3]) {
    for (int each = 0; each < 3; each++) {
        char *word = strtok(each ? NULL : words, " ");
        sizes[each] = word ? number(word) : 1;
    }
}

static cl_kernel kernel_of(const char *program_file, const char *name) {
    size_t size;
    cl_int status, of_binary;
    const unsigned char *bytes = file_bytes(program_file, &size);
    cl_program program = cl.with_binary(context, 1, &device, &size, &bytes, &of_binary, &status);
    check(status, "clCreateProgramWithBinary");
    build(program, "");
    cl_kernel kernel = cl.kernel(program, name, &status);
    check(status, "clCreateKernel");
    return kernel;
}

static int run(const char *library, const char *job) {
    static char line[LONGEST_LINE];
    char program_file[4096] = "";
    size_t global[3] = {1, 1, 1}, local[3] = {1, 1, 1};
    cl_uint arguments = 0;
    cl_kernel kernel = NULL;
    FILE *file = fopen(job, "r");
    if (file == NULL) fail("%s cannot be read", job);
    while (fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = 0;
        char *rest = strchr(line, ' ');
        if (rest == NULL) fail("%s: %s", job, line);
        *rest++ = 0;
        char *second = strchr(rest, ' ');
        if (strcmp(line, "set") == 0 && second != NULL) {
            *second++ = 0;
            setenv(rest, second, 1);
        } else if (strcmp(line, "program") == 0 && strlen(rest) < sizeof program_file) {
            strcpy(program_file, rest);
            open_library(library);
        } else if (strcmp(line, "kernel") == 0) {
            kernel = kernel_of(program_file, rest);
        } else if (strcmp(line, "global") == 0 || strcmp(line, "local") == 0) {
            set_sizes(rest, *line == 'g' ? global : local);
        } else if (kernel != NULL && strcmp(line, "value") == 0) {
            set_value(kernel, arguments++, rest);
        } else if (kernel != NULL && strcmp(line, "memory") == 0) {
            check(cl.argument(kernel, arguments++, number(rest), NULL), "clSetKernelArg");
        } else if (kernel != NULL && strcmp(line, "buffer") == 0 && second != NULL) {
            set_buffer(kernel, arguments++, number(rest), second + 1);
        } else {
            fail("%s: %s", job, line);
        }
    }
    fclose(file);
    if (kernel == NULL) fail("%s names no kernel", job);
    cl_int status;
    cl_command_queue queue = cl.queue(context, device, 0, &status);
    check(status, "clCreateCommandQueue");
    status = cl.launch(queue, kernel, 3, NULL, global, local, 0, NULL, NULL);
    if (status == CL_INVALID_WORK_GROUP_SIZE)
        fail("it does not run in work-groups of %zu x %zu x %zu: it states another size (reqd_work_group_size), or they do not"
             " divide the launch", local[0], local[1], local[2]);
    check(status, "clEnqueueNDRangeKernel");
    check(cl.finish(queue), "clFinish");
    return 0;
}

int main(int count, char **words) {
    if (count == 6 && strcmp(words[2], "build") == 0) {
        open_library(words[1]);
        return build_source(words[3], words[4], words[5]);
    }
    if (count == 4 && strcmp(words[2], "run") == 0) return run(words[1], words[3]);
    fail("kernlens_interpreter LIBRARY build SOURCE BITCODE OPTIONS, or LIBRARY run JOB");
}
