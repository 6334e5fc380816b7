/* Assembles and prints machine code with a libiga64, for a process that goes on if this one crashes or is ended.
 *
 * libiga64's parser is not made for hostile text. The argument is the library's path. Standard output begins with a word of
 * MAGIC. Each request on standard input is a `request` with its bytes behind it, each answer an `answer` with its parts.
 * All numbers are the machine's own. Declarations follow iga.h and kv.h of intel-graphics-compiler. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "disassembler/confine.h"
#include "disassembler/limits.h"

enum { MAGIC = 0x4D534147, MOST_BYTES = 64 << 20, TEXT_SIZE = 4096, MOST_MESSAGES = 50 };
enum { ASSEMBLE = 1, PRINT = 2 };
enum { OK = 0, REFUSED = 1 };
/* Seconds of processor time for one request: some, and one more for so many bytes. */
enum { LEAST_SECONDS = 5, BYTES_PER_SECOND = 40000 };

/* `options`: iga's encoder options, or those of its formatter. `count`: how many offsets of instructions (4 bytes each) stand
 * before the bytes to print. */
typedef struct {
    uint32_t kind, platform, options, count, size;
} request;

/* Behind it: messages, each a `message` with its text, and the code or the texts, a line feed behind each. */
typedef struct {
    uint32_t status, messages, size;
} answer;

typedef struct {
    uint32_t line, column, is_warning, size;
} message;

typedef struct {
    size_t size;
    uint32_t platform;
} context_options;

typedef struct {
    uint32_t size, warnings, encoder_options, syntax_options, reserved[2], sbid_count, swsb_mode;
} assemble_options;

typedef struct {
    uint32_t line, column, offset, extent;
    const char *text;
} diagnostic;

typedef struct {
    char *bytes;
    size_t used, room;
} column;

static struct {
    int (*create)(const context_options *, void **context);
    int (*release)(void *context);
    int (*assemble)(void *context, const assemble_options *, const char *text, void **bits, uint32_t *size);
    int (*errors)(void *context, const diagnostic **, uint32_t *count);
    int (*warnings)(void *context, const diagnostic **, uint32_t *count);
    void *(*view)(uint32_t platform, const void *code, size_t, int *status, char *errors, size_t, uint32_t swsb_mode);
    void (*delete_view)(void *view);
    size_t (*text)(const void *view, int32_t offset, char *, size_t, uint32_t options, void *labeler, void *environment);
} iga;

static column messages, result;
static uint32_t message_count;

static void append(column *to, const void *bytes, size_t size)
{
    if (to->room - to->used < size) {
        size_t room = 2 * to->room + size + 4096;
        char *more = realloc(to->bytes, room);
        if (more == NULL)
            _exit(EXIT_FAILURE);
        to->bytes = more;
        to->room = room;
    }
    if (size > 0)
        memcpy(to->bytes + to->used, bytes, size);
    to->used += size;
}

static void append_messages(const diagnostic *from, uint32_t count, uint32_t is_warning)
{
    for (uint32_t index = 0; index < count && message_count < MOST_MESSAGES; index++, message_count++) {
        const char *text = from[index].text == NULL ? "" : from[index].text;
        size_t length = strnlen(text, TEXT_SIZE);
        message head = {from[index].line, from[index].column, is_warning, (uint32_t)length};
        append(&messages, &head, sizeof head);
        append(&messages, text, length);
    }
}

static uint32_t assemble(uint32_t platform, uint32_t options, const char *text)
{
    context_options about = {sizeof about, platform};
    void *context = NULL, *bits = NULL;
    if (iga.create(&about, &context) != 0)
        return REFUSED;
    assemble_options how = {.size = sizeof how, .encoder_options = options};
    uint32_t size = 0, count = 0;
    const diagnostic *told = NULL;
    int status = iga.assemble(context, &how, text, &bits, &size);
    if (iga.errors(context, &told, &count) == 0)
        append_messages(told, count, 0);
    bool is_refused = status != 0 || message_count > 0 || (bits == NULL && size > 0);
    if (iga.warnings(context, &told, &count) == 0)
        append_messages(told, count, 1);
    if (!is_refused)
        append(&result, bits, size);
    (void)iga.release(context);
    return is_refused ? REFUSED : OK;
}

static uint32_t print(uint32_t platform, uint32_t options, const uint32_t *offsets, uint32_t count, const char *code, uint32_t size)
{
    int status = 0;
    void *view = iga.view(platform, code, size, &status, NULL, 0, 0);
    if (view == NULL)
        return REFUSED;
    for (uint32_t index = 0; index < count; index++) {
        char text[TEXT_SIZE] = "";
        crash_offset = offsets[index];
        size_t length = offsets[index] < size ? iga.text(view, (int32_t)offsets[index], text, sizeof text, options, NULL, NULL) : 0;
        if (length > 0 && length <= sizeof text)
            append(&result, text, strnlen(text, length));
        append(&result, "\n", 1);
    }
    iga.delete_view(view);
    return OK;
}

static bool open_library(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return false;
    }
#define RESOLVE(member, name)                                                                                        \
    {                                                                                                                \
        void *function = dlsym(library, name);                                                                       \
        if (function == NULL) {                                                                                      \
            fprintf(stderr, "%s has no function %s\n", path, name);                                                  \
            return false;                                                                                            \
        }                                                                                                            \
        memcpy(&iga.member, &function, sizeof function);                                                             \
    }
    RESOLVE(create, "iga_context_create")
    RESOLVE(release, "iga_context_release")
    RESOLVE(assemble, "iga_context_assemble")
    RESOLVE(errors, "iga_context_get_errors")
    RESOLVE(warnings, "iga_context_get_warnings")
    RESOLVE(view, "kv_create")
    RESOLVE(delete_view, "kv_delete")
    RESOLVE(text, "kv_get_inst_syntax")
#undef RESOLVE
    return true;
}

static bool write_column(const column *from)
{
    return from->used == 0 || fwrite(from->bytes, from->used, 1, stdout) == 1;
}

/* Reads the bytes behind a request, with a zero at the end; NULL if there are not so many, or no memory. */
static char *read_bytes(size_t size)
{
    char *bytes = malloc(size + 1);
    if (bytes == NULL || (size > 0 && fread(bytes, size, 1, stdin) != 1)) {
        free(bytes);
        return NULL;
    }
    bytes[size] = '\0';
    return bytes;
}

int main(int count, char **arguments)
{
    close_range(STDERR_FILENO + 1, ~0U, 0); /* the files of an application that left them to its children */
    if (count != 2 || !open_library(arguments[1]))
        return EXIT_FAILURE;
    limit_process();
    confine_to_pipes();
    const uint32_t magic = MAGIC;
    if (fwrite(&magic, sizeof magic, 1, stdout) != 1 || fflush(stdout) != 0)
        return EXIT_FAILURE;
    for (request asked; fread(&asked, sizeof asked, 1, stdin) == 1;) {
        if (asked.size > MOST_BYTES || asked.count > MOST_BYTES / sizeof(uint32_t))
            return EXIT_FAILURE;
        char *offsets = read_bytes(asked.count * sizeof(uint32_t)), *bytes = read_bytes(asked.size);
        if (offsets == NULL || bytes == NULL)
            return EXIT_FAILURE;
        struct itimerval timer = {.it_value.tv_sec = LEAST_SECONDS + asked.size / BYTES_PER_SECOND};
        if (setitimer(ITIMER_PROF, &timer, NULL) != 0)
            return EXIT_FAILURE;
        messages.used = result.used = 0;
        message_count = 0;
        uint32_t status = REFUSED;
        if (asked.kind == ASSEMBLE)
            status = assemble(asked.platform, asked.options, bytes);
        else if (asked.kind == PRINT)
            status = print(asked.platform, asked.options, (const uint32_t *)(const void *)offsets, asked.count, bytes, asked.size);
        timer.it_value.tv_sec = 0;
        answer head = {status, message_count, (uint32_t)result.used};
        bool is_written = setitimer(ITIMER_PROF, &timer, NULL) == 0 && fwrite(&head, sizeof head, 1, stdout) == 1 &&
                          write_column(&messages) && write_column(&result) && fflush(stdout) == 0;
        free(offsets);
        free(bytes);
        if (!is_written)
            return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
