#include "recording/replacements.h"

#include "base/bytes.h"
#include "base/files.h"
#include "base/owned.h"
#include "base/sha256.h"
#include "recording/spool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Of the file, into which the replacements point: nothing reads it, but who looks for leaks finds it. */
__attribute__((used)) static char *content;
static struct replacement *replacements;
static size_t replacement_count;

static void read_all(struct reader *reader)
{
    uint64_t count = read_number(reader);
    if (reader->failed || count > reader->size || (replacements = calloc(count, sizeof *replacements)) == NULL)
        return;
    for (; replacement_count < count; ++replacement_count) {
        struct replacement *added = &replacements[replacement_count];
        added->program = read_text(reader);
        added->hash = read_text(reader);
        added->kernel = read_text(reader);
        added->form = (enum made_from)read_number(reader);
        added->bytes.bytes = read_block(reader, &added->bytes.size);
        if (reader->failed)
            return;
    }
}

void replacements_open(void)
{
    const char *path = getenv("KERNLENS_CAPTURE_REPLACE");
    size_t size = 0;
    content = path != NULL && path[0] == '/' ? file_read(path, &size) : NULL;
    if (content != NULL)
        read_all(&(struct reader){.bytes = (const unsigned char *)content, .size = size});
    else if (path != NULL)
        spool_missing("what is to be replaced", errno);
}

bool replacements_are_there(void)
{
    return replacement_count > 0;
}

const struct replacement *replacement_for(enum made_from form, const struct view *bytes)
{
    char hash[SHA256_TEXT] = "";
    const struct replacement *first = NULL;
    for (size_t index = 0; index < replacement_count; ++index) {
        const struct replacement *candidate = &replacements[index];
        if (candidate->hash[0] != '\0' && hash[0] == '\0')
            sha256_text(bytes, hash);
        if (candidate->hash[0] != '\0' ? !text_starts_with(hash, candidate->hash)
                                       : !defines_kernel(form, bytes, candidate->kernel))
            continue;
        if (first == NULL)
            first = candidate;
        else
            replacement_note(candidate, bytes, (struct program_identity){0, 0}, ANOTHER_STANDS_IN, NULL);
    }
    return first;
}

void replacement_note(const struct replacement *replacement, const struct view *bytes, struct program_identity program, int error,
                      const char *log)
{
    RELEASED_BY(writer_free) struct writer fields = {0};
    char hash[SHA256_TEXT];
    sha256_text(bytes, hash);
    field_text(&fields, "replaced", replacement->program);
    field_text(&fields, "hash", hash);
    sha256_text(&replacement->bytes, hash);
    field_text(&fields, "replacement's hash", hash);
    field_bytes(&fields, "program", &program, sizeof program);
    field_number(&fields, "error", (uint64_t)(int64_t)error);
    if (log != NULL)
        field_text(&fields, "log", log);
    spool_file("replacement", &fields, "what was replaced");
}
