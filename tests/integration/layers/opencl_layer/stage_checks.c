/* Every stage in every form, and of several tries the right one. */
#define _GNU_SOURCE
#include "checks.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static void check_ending(const struct expected_stage *stage, bool text, const char *ending)
{
    const char *right = text ? stage->text : stage->binary;
    CHECK(strcmp(ending, right) == 0 || (stage->other != NULL && strcmp(ending, stage->other) == 0));
}

/* What every form of a file starts with. */
static void check_contents(const struct received *received)
{
    const char *ending = received->ending;
    const unsigned char *start = received->start;
    if (strcmp(ending, ".bc") == 0)
        CHECK(memcmp(start, "BC\xc0\xde", 4) == 0);
    else if (strcmp(ending, ".spv") == 0)
        CHECK(memcmp(start, "\x03\x02\x23\x07", 4) == 0);
    else if (strcmp(ending, ".elf") == 0 || strcmp(ending, ".so") == 0 || strcmp(ending, ".o") == 0)
        CHECK(memcmp(start, "\x7f" "ELF", 4) == 0);
    else if (strcmp(ending, ".progbin") == 0)
        CHECK(memcmp(start, "CTNI", 4) == 0 || memcmp(start, "\x7f" "ELF", 4) == 0);
    else if (strcmp(ending, ".cl") == 0)
        CHECK(received->size == strlen(SOURCE) && strcmp(received->last, SOURCE) == 0);
    else if (strcmp(ending, ".visaasm") == 0 || strcmp(ending, ".ll") == 0 || strcmp(ending, ".asm") == 0 ||
             strcmp(ending, ".visa.ll") == 0 || strcmp(ending, ".spvasm") == 0 || strcmp(ending, ".s") == 0)
        CHECK(strlen(received->last) == received->size && strstr(received->last, "vmul") != NULL);
}

static void check_stage(const struct expected_stage *stage, cl_uint format)
{
    checking("stage %s, format %u", stage->name, format);
    cl_program program = program_with(SOURCE);
    struct received received = expecting();
    CHECK_EQUAL(request(program, device, stage->name, format, receive, &received), CL_SUCCESS);
    CHECK_EQUAL(received.calls, 0);
    CHECK_EQUAL(clBuildProgram(program, 1, &device, stage->snapshots == 0 ? "-g" : "", NULL, NULL), CL_SUCCESS);
    if (stage->snapshots < 0)
        CHECK(received.calls == 1 || received.calls == 2);
    else
        CHECK_EQUAL(received.calls, stage->snapshots == 0 ? 2 : stage->snapshots);
    CHECK(received.complete && received.on_thread);
    bool text = format == CL_PROGRAM_BINARY_FORMAT_TEXT_CODEPLAY ||
                (format == CL_PROGRAM_BINARY_FORMAT_DEFAULT_CODEPLAY && stage->text_first);
    for (int call = 0; call < received.calls && call < 8; ++call)
        check_ending(stage, text, received.endings[call]);
    if (received.calls == 2) {
        CHECK(strcmp(received.kernels[0], "vadd") == 0);
        CHECK(strcmp(received.kernels[1], "vmul") == 0);
    } else {
        CHECK(received.kernels[0][0] == '\0');
    }
    if (received.calls > 0)
        check_contents(&received);
    forget(&received);
    clReleaseProgram(program);
}

static void check_stages(cl_uint format)
{
    for (cl_uint index = 0; index < expected_count; ++index)
        check_stage(&expected[index], format);
}

void check_default_stages(void)
{
    check_stages(CL_PROGRAM_BINARY_FORMAT_DEFAULT_CODEPLAY);
}

void check_binary_stages(void)
{
    check_stages(CL_PROGRAM_BINARY_FORMAT_BINARY_CODEPLAY);
}

void check_text_stages(void)
{
    check_stages(CL_PROGRAM_BINARY_FORMAT_TEXT_CODEPLAY);
}

struct text {
    char *text;
    size_t length, room;
};

static void append(struct text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    text->length += (size_t)vsnprintf(text->text + text->length, text->room - text->length, format, arguments);
    va_end(arguments);
}

/* A kernel whose loop has much to hoist, so that more values live than there are registers: IGC then compiles it again without
 * hoisting, and makes other code. Free it. */
static char *heavy_source(void)
{
    enum { VALUES = 60, ROOM = 1 << 16 };
    struct text source = {.text = malloc(ROOM), .room = ROOM};
    append(&source, "kernel void heavy(global float *p, global float *q, int n) {\n int g = get_global_id(0);\n");
    for (int value = 0; value < VALUES; ++value)
        append(&source, " float v%d = p[g + %d], w%d = q[g + %d];\n", value, value * 64, value, value * 64);
    append(&source, " for (int r = 0; r < n; ++r) {\n");
    for (int value = 0; value < VALUES; ++value)
        append(&source, "  v%d = v%d * native_sin(w%d * w%d) + v%d;\n", value, value, value, (value * 37 + 11) % VALUES,
               (value * 53 + 7) % VALUES);
    append(&source, " }\n");
    for (int value = 0; value < VALUES; ++value)
        append(&source, " q[g + %d] = v%d;\n", value * 64, value);
    append(&source, "}\n");
    return source.text;
}

/* Of all tries, the one that came into the program's binary is delivered. */
void check_tries(void)
{
    if (expected_count < 10)
        return;
    checking("a kernel that spills");
    char *source = heavy_source();
    cl_program program = program_with(source);
    struct received received = expecting();
    CHECK_EQUAL(request(program, device, "gen-assembly", CL_PROGRAM_BINARY_FORMAT_BINARY_CODEPLAY, receive, &received),
                CL_SUCCESS);
    CHECK_EQUAL(clBuildProgram(program, 1, &device, "", NULL, NULL), CL_SUCCESS);
    CHECK_EQUAL(received.calls, 1);
    size_t size;
    unsigned char *binary = binary_of(program, &size);
    CHECK(received.size > 1000 && memmem(binary, size, received.last, received.size) != NULL);
    free(binary);
    forget(&received);
    clReleaseProgram(program);
    free(source);
}
