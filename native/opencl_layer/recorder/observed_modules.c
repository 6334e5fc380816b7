/* SPIR-V that the application hands over, for the interpreter, which makes no programs of that: LLVM's translator makes bitcode of it,
 * which is a program's binary there. KERNLENS_OBSERVE_TRANSLATOR names a script: script MODULE writes the bitcode to its standard
 * output, and what is wrong to MODULE.log. */
#include "base/bytes.h"
#include "base/files.h"
#include "base/folders.h"
#include "base/children.h"
#include "base/owned.h"
#include "opencl_layer/recorder/parts.h"
#include "recording/spool.h"

#include <stdlib.h>
#include <string.h>

static void note_refusal(const char *reason)
{
    RELEASED_BY(writer_free) struct writer fields = {0};
    field_text(&fields, "reason", reason);
    spool_file("untranslated", &fields, "a module that was refused");
}

/* Returns the bitcode of a module, in a folder; NULL if the translator refuses it, which is noted. */
static char *translated(const char *script, const char *folder, const void *il, size_t length, size_t *size)
{
    const char *const arguments[] = {script, NULL};
    FREED char *module = text_format("%s/module.spv", folder), *log = text_format("%s/module.spv.log", folder);
    FREED char *output = text_format("%s/program.bc", folder);
    if (module == NULL || log == NULL || output == NULL || !file_write(module, il, length)) {
        note_refusal("it cannot be written to a temporary folder");
        return NULL;
    }
    if (tool_run("/bin/sh", arguments, module, output))
        return file_read(output, size);
    size_t told = 0;
    FREED char *reason = file_read(log, &told);
    if (reason != NULL)
        reason[strcspn(reason, "\n")] = '\0';
    note_refusal(reason != NULL && reason[0] != '\0' ? reason : "llvm-spirv does not say why");
    return NULL;
}

bool modules_are_translated(void)
{
    const char *script = getenv("KERNLENS_OBSERVE_TRANSLATOR");
    return script != NULL && script[0] != '\0';
}

char *observed_module(const void *il, size_t length, size_t *size)
{
    *size = 0;
    RELEASED_BY(folder_release) char *folder = il != NULL && length > 0 ? folder_make() : NULL;
    return folder != NULL ? translated(getenv("KERNLENS_OBSERVE_TRANSLATOR"), folder, il, length, size) : NULL;
}
