/* Runs one launch of an OpenCL kernel, as an application made it, and compares what it leaves in memory with what it left then.
 *
 *   ./replay [-t TOLERANCE] [PLATFORM [DEVICE]]      numbers, from 0; without them the first device
 *
 * With -t floats and doubles are equal if they are apart by at most this share of the larger one.
 *
 * Exit status: 0 all equal, 1 something differs, 2 it could not be run. */
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <float.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind { BUFFER, IMAGE, ADDRESS };
enum argument_kind { VALUE, LOCAL, MEMORY, SAMPLER, POINTER, NONE };
enum program_kind { SOURCE, SPIRV, BINARY };

struct memory {
  enum kind kind;
  size_t size;
  cl_ulong flags;
  uint64_t address;
  const char *before, *after;
  cl_image_format format;
  cl_image_desc image;
  int made_of, real; /* real: bytes of its floating-point numbers, 0 if it has none */
};

struct argument {
  enum argument_kind kind;
  int memory;
  size_t offset, size;
  cl_ulong flags;
  const unsigned char *value;
  cl_uint sampler[3];
};

/*LAUNCH*/

static cl_context context;
static cl_command_queue queue;
static cl_mem objects[MEMORIES + 1];
static char *addresses[MEMORIES + 1];
static double tolerance = 0;

static void fail(const char *what, long code) {
  fprintf(stderr, "%s: %ld\n", what, code);
  exit(2);
}

#define CHECK(call)                                                                                                    \
  do {                                                                                                                 \
    cl_int code_ = (call);                                                                                             \
    if (code_ != CL_SUCCESS)                                                                                           \
      fail(#call, code_);                                                                                              \
  } while (0)

static char *read_file(const char *name, size_t *size) {
  FILE *file = fopen(name, "rb");
  if (!file)
    fail(name, -1);
  fseek(file, 0, SEEK_END);
  *size = (size_t)ftell(file);
  rewind(file);
  char *content = malloc(*size + 1);
  if (!content || fread(content, 1, *size, file) != *size)
    fail(name, -2);
  content[*size] = 0;
  fclose(file);
  return content;
}

static char *content_of(const char *name, size_t size) {
  size_t length = size;
  char *content = name ? read_file(name, &length) : calloc(size + 1, 1);
  if (!content || length != size)
    fail(name ? name : "memory", -3);
  return content;
}

/* Pointers to memory that the application had are changed to where it is now, or back: words of 8 bytes, at places that 8
 * divides, whose values lie in an allocation. */
static void move_pointers(char *content, size_t size, int is_back) {
  for (size_t place = 0; place + 8 <= size; place += 8) {
    uint64_t word, from, best = 0;
    int chosen = -1;
    memcpy(&word, content + place, 8);
    for (int i = 0; i < MEMORIES; i++) {
      if (memories[i].kind != ADDRESS)
        continue;
      from = is_back ? (uint64_t)(uintptr_t)addresses[i] : memories[i].address;
      if (word >= from && word - from <= memories[i].size && (chosen < 0 || from > best)) {
        chosen = i;
        best = from;
      }
    }
    if (chosen < 0)
      continue;
    word = word - best + (is_back ? memories[chosen].address : (uint64_t)(uintptr_t)addresses[chosen]);
    memcpy(content + place, &word, 8);
  }
}

static void create_memory(int number) {
  const struct memory *memory = &memories[number];
  cl_int code = CL_SUCCESS;
  if (memory->kind == ADDRESS) {
    addresses[number] = clSVMAlloc(context, memory->flags, memory->size + 64, 0);
    if (!addresses[number])
      fail("clSVMAlloc", (long)memory->size);
    return;
  }
  if (memory->kind == BUFFER) {
    objects[number] = clCreateBuffer(context, memory->flags, memory->size ? memory->size : 1, NULL, &code);
  } else {
    cl_image_desc description = memory->image;
    if (memory->made_of >= 0)
      description.mem_object = objects[memory->made_of];
    objects[number] = clCreateImage(context, memory->flags, &memory->format, &description, NULL, &code);
  }
  if (code != CL_SUCCESS)
    fail("clCreateBuffer or clCreateImage", code);
}

static void region_of(const struct memory *memory, size_t region[3]) {
  const cl_image_desc *image = &memory->image;
  size_t layers = image->image_array_size ? image->image_array_size : 1;
  int is_row = image->image_type == CL_MEM_OBJECT_IMAGE1D_ARRAY;
  region[0] = image->image_width;
  region[1] = is_row ? layers : image->image_height ? image->image_height : 1;
  region[2] = is_row ? 1 : (image->image_depth ? image->image_depth : 1) * layers;
}

static void copy_memory(int number, char *content, int is_read) {
  const struct memory *memory = &memories[number];
  if (!memory->size || memory->made_of >= 0)
    return;
  if (memory->kind == ADDRESS) {
    char *target = is_read ? content : addresses[number], *source = is_read ? addresses[number] : content;
    CHECK(clEnqueueSVMMemcpy(queue, CL_TRUE, target, source, memory->size, 0, NULL, NULL));
  } else if (memory->kind == BUFFER) {
    if (is_read)
      CHECK(clEnqueueReadBuffer(queue, objects[number], CL_TRUE, 0, memory->size, content, 0, NULL, NULL));
    else
      CHECK(clEnqueueWriteBuffer(queue, objects[number], CL_TRUE, 0, memory->size, content, 0, NULL, NULL));
  } else {
    size_t origin[3] = {0, 0, 0}, region[3];
    region_of(memory, region);
    if (is_read)
      CHECK(clEnqueueReadImage(queue, objects[number], CL_TRUE, origin, region, 0, 0, content, 0, NULL, NULL));
    else
      CHECK(clEnqueueWriteImage(queue, objects[number], CL_TRUE, origin, region, 0, 0, content, 0, NULL, NULL));
  }
}

static void set_argument(cl_kernel kernel, cl_uint number) {
  const struct argument *argument = &arguments[number];
  cl_int code = CL_SUCCESS;
  cl_mem object = NULL;
  if (argument->kind == LOCAL) {
    CHECK(clSetKernelArg(kernel, number, argument->size, NULL));
  } else if (argument->kind == POINTER) {
    CHECK(clSetKernelArgSVMPointer(kernel, number, addresses[argument->memory] + argument->offset));
  } else if (argument->kind == SAMPLER) {
    const cl_uint *how = argument->sampler;
    cl_sampler sampler = clCreateSampler(context, how[0], how[1], how[2], &code);
    if (code != CL_SUCCESS)
      fail("clCreateSampler", code);
    CHECK(clSetKernelArg(kernel, number, sizeof sampler, &sampler));
  } else if (argument->kind == VALUE) {
    char *value = malloc(argument->size + 1);
    memcpy(value, argument->value, argument->size);
    move_pointers(value, argument->size, 0);
    CHECK(clSetKernelArg(kernel, number, argument->size, value));
    free(value);
  } else {
    if (argument->kind == MEMORY)
      object = objects[argument->memory];
    if (argument->kind == MEMORY && argument->size) {
      cl_buffer_region part = {argument->offset, argument->size};
      object = clCreateSubBuffer(object, argument->flags, CL_BUFFER_CREATE_TYPE_REGION, &part, &code);
      if (code != CL_SUCCESS)
        fail("clCreateSubBuffer", code);
    }
    CHECK(clSetKernelArg(kernel, number, sizeof object, &object));
  }
}

static cl_device_id find_device(long platform, long device) {
  cl_platform_id platforms[64];
  cl_device_id devices[64];
  cl_uint count = 0, own = 0, first = platform < 0 ? 0 : (cl_uint)platform;
  char name[256] = "";
  CHECK(clGetPlatformIDs(64, platforms, &count));
  for (cl_uint i = first; i < count && i < 64 && (platform < 0 || i == first); i++) {
    if (clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 64, devices, &own) != CL_SUCCESS || device >= (long)own)
      continue;
    clGetDeviceInfo(devices[device], CL_DEVICE_NAME, sizeof name, name, NULL);
    printf("device: %s (recorded on %s)\n", name, recorded_on);
    return devices[device];
  }
  fail("there is no such OpenCL device", platform);
  return NULL;
}

static cl_program build_program(cl_device_id device) {
  size_t size = 0;
  cl_int code = CL_SUCCESS, state = CL_SUCCESS;
  char *content = read_file(program_file, &size);
  const char *text = content;
  const unsigned char *binary = (const unsigned char *)content;
  cl_program program = NULL;
  if (program_kind == SOURCE)
    program = clCreateProgramWithSource(context, 1, &text, &size, &code);
  else if (program_kind == SPIRV)
    program = clCreateProgramWithIL(context, content, size, &code);
  else
    program = clCreateProgramWithBinary(context, 1, &device, &size, &binary, &state, &code);
  if (code != CL_SUCCESS)
    fail("the program", code);
  code = clBuildProgram(program, 1, &device, build_options, NULL, NULL);
  if (code != CL_SUCCESS) {
    static char log[1 << 16];
    clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof log - 1, log, NULL);
    fprintf(stderr, "%s\n", log);
    fail("clBuildProgram", code);
  }
  return program;
}

/* Whether two elements are equal: bit by bit, or numbers within the tolerance. */
static int is_equal(const char *recorded, const char *result, size_t size) {
  double first = 0, second = 0, apart, larger;
  if (memcmp(recorded, result, size) == 0)
    return 1;
  if (size == 1)
    return 0;
  if (size == 4) {
    float halves[2];
    memcpy(&halves[0], recorded, 4);
    memcpy(&halves[1], result, 4);
    first = halves[0];
    second = halves[1];
  } else {
    memcpy(&first, recorded, 8);
    memcpy(&second, result, 8);
  }
  if (first == second || (first != first && second != second))
    return 1;
  apart = first > second ? first - second : second - first;
  larger = first < 0 ? -first : first;
  larger = (second < 0 ? -second : second) > larger ? (second < 0 ? -second : second) : larger;
  return larger <= DBL_MAX && apart <= tolerance * larger;
}

static int compare(int number) {
  const struct memory *memory = &memories[number];
  size_t differing = 0, first = 0;
  char *recorded = content_of(memory->after, memory->size), *result = calloc(memory->size + 1, 1);
  copy_memory(number, result, 1);
  if (memory->kind == ADDRESS)
    move_pointers(result, memory->size, 1);
  size_t step = tolerance > 0 && memory->real && memory->size % memory->real == 0 ? memory->real : 1;
  for (size_t i = memory->size / step; i-- > 0;)
    if (!is_equal(recorded + i * step, result + i * step, step)) {
      differing++;
      first = i * step;
    }
  if (differing)
    printf("memory %d: %zu of %zu %s differ, the first at byte %zu: 0x%02x, recorded was 0x%02x\n", number, differing,
           memory->size / step, step == 1 ? "bytes" : "numbers", first, (unsigned char)result[first],
           (unsigned char)recorded[first]);
  else
    printf("memory %d: %zu bytes are equal\n", number, memory->size);
  free(recorded);
  free(result);
  return differing != 0;
}

static void usage(void) {
  fprintf(stderr, "usage: replay [-t TOLERANCE] [PLATFORM [DEVICE]]: a share such as 1e-6, and numbers from 0\n");
  exit(2);
}

static long number_of(const char *word) {
  if (!*word || strlen(word) > 6 || strspn(word, "0123456789") != strlen(word))
    usage();
  return atol(word);
}

int main(int count, char **words) {
  char *end = NULL;
  int at = 1;
  if (count > 2 && strcmp(words[1], "-t") == 0) {
    tolerance = strtod(words[2], &end);
    if (end == words[2] || *end || !(tolerance >= 0 && tolerance < 1))
      usage();
    at = 3;
  }
  if (count - at > 2)
    usage();
  cl_int code = CL_SUCCESS;
  int differs = 0, compared = 0;
  cl_device_id device = find_device(count > at ? number_of(words[at]) : -1, count > at + 1 ? number_of(words[at + 1]) : 0);
  context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
  CHECK(code);
  queue = clCreateCommandQueue(context, device, 0, &code);
  CHECK(code);
  cl_kernel kernel = clCreateKernel(build_program(device), kernel_name, &code);
  if (code != CL_SUCCESS)
    fail("clCreateKernel", code);
  for (int pass = 0; pass < 3; pass++) /* What an image is made of comes before it. */
    for (int i = 0; i < MEMORIES; i++) {
      int own = memories[i].made_of < 0, base = own ? 0 : memories[memories[i].made_of].made_of < 0 ? 1 : 2;
      if (base == pass)
        create_memory(i);
    }
  for (int i = 0; i < MEMORIES; i++) {
    char *content = content_of(memories[i].before, memories[i].size);
    if (memories[i].kind == ADDRESS)
      move_pointers(content, memories[i].size, 0);
    copy_memory(i, content, 0);
    free(content);
  }
  for (cl_uint i = 0; i < ARGUMENTS; i++)
    set_argument(kernel, i);
  void *indirect[MEMORIES + 1];
  size_t reached = 0;
  for (int i = 0; i < MEMORIES; i++)
    if (memories[i].kind == ADDRESS)
      indirect[reached++] = addresses[i];
  if (reached)
    CHECK(clSetKernelExecInfo(kernel, CL_KERNEL_EXEC_INFO_SVM_PTRS, reached * sizeof indirect[0], indirect));
  CHECK(clEnqueueNDRangeKernel(queue, kernel, DIMENSIONS, global_offset, global_size, local_size, 0, NULL, NULL));
  CHECK(clFinish(queue));
  for (int i = 0; i < MEMORIES; i++)
    if (memories[i].after) {
      compared++;
      differs |= compare(i);
    }
  printf("%s\n", differs ? "different" : compared ? "equal" : "nothing was compared");
  return differs;
}
