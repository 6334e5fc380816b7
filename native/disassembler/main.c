/* Disassembles machine code with a libLLVM, for a process that goes on if this one crashes or is ended.
 *
 * LLVM's disassemblers are not made for hostile bytes, and a second LLVM in an application that already has one (an OpenCL
 * driver's) would share its command-line options and targets. The argument is the library's path. Standard output begins
 * with a `greeting`. Each request on standard input is a `request` with its texts and code behind it, each answer an
 * `answer` with its columns. Standard error is a file: what LLVM complains about lies there. All numbers are the machine's own. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "disassembler/confine.h"
#include "disassembler/limits.h"

enum { MAGIC = 0x4D564C4C, MOST_CODE = 256 << 20, MOST_NAME = 4096, TEXT_SIZE = 512 };
/* Seconds of processor time for one request: some, and one more for so many bytes. */
enum { LEAST_SECONDS = 5, BYTES_PER_SECOND = 20000 };
enum { OPTION_HEX = 2, OPTION_COMMENTS = 8 };         /* LLVMDisassembler_Option_... */
enum { IN_BRANCH = 1, IN_LOAD = 2 };                  /* LLVMDisassembler_ReferenceType_In_... */
enum { OK = 0, NO_TARGET = 1, COMPLAINT = 2 };

typedef struct {
    uint32_t magic, major, minor, patch, targets;
} greeting;

typedef struct {
    uint32_t triple_size, cpu_size, features_size, options, skip, code_size;
    uint64_t address;
} request;

/* Behind it: offsets (4 bytes each), sizes (1), whether it is no instruction (1), references, texts with a line feed each. */
typedef struct {
    uint32_t status, count, references, text_size;
} answer;

/* An address that an instruction refers to: where a branch goes, what it reads relative to its own address. */
typedef struct {
    uint32_t index, kind;
    uint64_t address;
} reference;

typedef struct {
    char *bytes;
    size_t used, room;
} column;

typedef const char *(*look_up)(void *, uint64_t value, uint64_t *kind, uint64_t address, const char **name);
typedef int (*operand_callback)(void *, uint64_t, uint64_t, uint64_t, int, void *);

static struct {
    void (*get_version)(unsigned *, unsigned *, unsigned *);
    void *(*create)(const char *triple, const char *cpu, const char *features, void *, int, operand_callback, look_up);
    int (*set_options)(void *, uint64_t);
    size_t (*disassemble)(void *, uint8_t *, uint64_t size, uint64_t address, char *text, size_t);
    void (*dispose)(void *);
} llvm;

static column offsets, sizes, unknown, references, texts;
static uint32_t current; /* the instruction that is being read */
static bool is_read;

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
    memcpy(to->bytes + to->used, bytes, size);
    to->used += size;
}

/* Notes addresses. Without a name LLVM prints the address of a branch as a number. */
static const char *note(void *nothing, uint64_t value, uint64_t *kind, uint64_t address, const char **name)
{
    (void)nothing;
    (void)address;
    if (is_read && (*kind == IN_BRANCH || *kind == IN_LOAD)) {
        reference seen = {current, (uint32_t)*kind, value};
        append(&references, &seen, sizeof seen);
    }
    *kind = 0;
    *name = NULL;
    return NULL;
}

static bool read_all(void *to, size_t size)
{
    return size == 0 || fread(to, size, 1, stdin) == 1;
}

/* Appends the text with one space for each run of white space, none at either end, and a line feed. */
static void append_text(const char *text)
{
    char line[TEXT_SIZE + 1];
    size_t length = 0;
    for (const char *next = text; *next != '\0'; next++) {
        bool is_space = *next == ' ' || *next == '\t' || *next == '\n' || *next == '\r';
        if (!is_space)
            line[length++] = *next;
        else if (length > 0 && line[length - 1] != ' ')
            line[length++] = ' ';
    }
    while (length > 0 && line[length - 1] == ' ')
        length--;
    line[length++] = '\n';
    append(&texts, line, length);
}

static void disassemble(void *context, uint8_t *code, uint32_t size, uint64_t address, uint32_t skip)
{
    char text[TEXT_SIZE];
    current = 0;
    for (uint32_t offset = 0; offset < size; current++) {
        size_t before = references.used;
        crash_offset = offset;
        is_read = true;
        size_t length = llvm.disassemble(context, code + offset, size - offset, address + offset, text, sizeof text);
        is_read = false;
        uint8_t is_unknown = length == 0 || length > size - offset || length > UINT8_MAX;
        if (is_unknown) {
            references.used = before;
            length = skip < size - offset ? skip : size - offset;
            text[0] = '\0';
        }
        uint8_t small = (uint8_t)length;
        append(&offsets, &offset, sizeof offset);
        append(&sizes, &small, 1);
        append(&unknown, &is_unknown, 1);
        append_text(text);
        offset += (uint32_t)length;
    }
}

static void *find(void *library, const char *name)
{
    return dlsym(library, name);
}

/* Sets up a target; false if the library was built without it. */
static bool initialize(void *library, const char *target)
{
    static const char *const parts[] = {"TargetInfo", "TargetMC", "Disassembler"};
    void (*functions[3])(void);
    for (size_t part = 0; part < 3; part++) {
        char name[64];
        snprintf(name, sizeof name, "LLVMInitialize%s%s", target, parts[part]);
        void *function = find(library, name);
        if (function == NULL)
            return false;
        memcpy(&functions[part], &function, sizeof function);
    }
    for (size_t part = 0; part < 3; part++)
        functions[part]();
    return true;
}

static bool open_library(const char *path, greeting *hello)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return false;
    }
#define RESOLVE(member, name)                                                                                        \
    {                                                                                                                \
        void *function = find(library, name);                                                                        \
        memcpy(&llvm.member, &function, sizeof function);                                                            \
    }
    RESOLVE(get_version, "LLVMGetVersion") /* since LLVM 16 */
    RESOLVE(create, "LLVMCreateDisasmCPUFeatures")
    RESOLVE(set_options, "LLVMSetDisasmOptions")
    RESOLVE(disassemble, "LLVMDisasmInstruction")
    RESOLVE(dispose, "LLVMDisasmDispose")
#undef RESOLVE
    if (llvm.create == NULL || llvm.set_options == NULL || llvm.disassemble == NULL || llvm.dispose == NULL) {
        fprintf(stderr, "%s has no disassembler\n", path);
        return false;
    }
    if (llvm.get_version != NULL)
        llvm.get_version(&hello->major, &hello->minor, &hello->patch);
    hello->targets = (initialize(library, "X86") ? 1U : 0U) | (initialize(library, "AMDGPU") ? 2U : 0U);
    return true;
}

static off_t complaints(void)
{
    struct stat status;
    return fstat(STDERR_FILENO, &status) == 0 ? status.st_size : 0;
}

static bool write_column(const column *from)
{
    return from->used == 0 || fwrite(from->bytes, from->used, 1, stdout) == 1;
}

static bool reply(uint32_t status)
{
    answer head = {status, status == OK ? current : 0, (uint32_t)(references.used / sizeof(reference)), (uint32_t)texts.used};
    return fwrite(&head, sizeof head, 1, stdout) == 1 && write_column(&offsets) && write_column(&sizes) &&
           write_column(&unknown) && write_column(&references) && write_column(&texts) && fflush(stdout) == 0;
}

int main(int count, char **arguments)
{
    close_range(STDERR_FILENO + 1, ~0U, 0); /* the files of an application that left them to its children */
    greeting hello = {.magic = MAGIC};
    if (count != 2 || !open_library(arguments[1], &hello))
        return EXIT_FAILURE;
    limit_process();
    confine_to_pipes();
    if (fwrite(&hello, sizeof hello, 1, stdout) != 1 || fflush(stdout) != 0)
        return EXIT_FAILURE;
    char names[3][MOST_NAME + 1] = {"", "", ""}, known[3][MOST_NAME + 1];
    void *context = NULL;
    uint32_t known_options = 0;
    uint8_t *code = NULL;
    for (request asked; fread(&asked, sizeof asked, 1, stdin) == 1;) {
        uint32_t lengths[3] = {asked.triple_size, asked.cpu_size, asked.features_size};
        for (size_t part = 0; part < 3; part++) {
            memcpy(known[part], names[part], sizeof known[part]);
            if (lengths[part] > MOST_NAME || !read_all(names[part], lengths[part]))
                return EXIT_FAILURE;
            names[part][lengths[part]] = '\0';
        }
        if (asked.code_size > MOST_CODE || asked.skip == 0)
            return EXIT_FAILURE;
        free(code);
        code = malloc(asked.code_size + 1);
        if (code == NULL || !read_all(code, asked.code_size))
            return EXIT_FAILURE;
        struct itimerval timer = {.it_value.tv_sec = LEAST_SECONDS + asked.code_size / BYTES_PER_SECOND};
        if (setitimer(ITIMER_PROF, &timer, NULL) != 0)
            return EXIT_FAILURE;
        offsets.used = sizes.used = unknown.used = references.used = texts.used = 0;
        current = 0;
        uint32_t status = OK;
        if (context == NULL || memcmp(known, names, sizeof names) != 0 || asked.options != known_options) {
            if (context != NULL)
                llvm.dispose(context);
            off_t before = complaints();
            context = llvm.create(names[0], names[1], names[2], NULL, 0, NULL, note);
            if (context != NULL)
                (void)llvm.set_options(context, asked.options & (OPTION_HEX | OPTION_COMMENTS));
            known_options = asked.options;
            /* A processor that LLVM does not know is passed over with a complaint. */
            status = context == NULL ? NO_TARGET : complaints() > before ? COMPLAINT : OK;
            if (status == COMPLAINT) {
                llvm.dispose(context);
                context = NULL;
            }
        }
        if (status == OK)
            disassemble(context, code, asked.code_size, asked.address, asked.skip);
        timer.it_value.tv_sec = 0;
        if (setitimer(ITIMER_PROF, &timer, NULL) != 0 || !reply(status))
            return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
