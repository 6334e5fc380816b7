/* The variables that lead loaders to vendors lead to this library, so what they held stands in others (toolchain/loaders/vendor_file.py).
 *
 * Sources: loader/icd.c and loader/linux/icd_linux.c of Khronos's OpenCL-ICD-Loader, ocl_icd_loader.c of ocl-icd, as of August 2026. */
#define _GNU_SOURCE
#include "opencl_layer/vendor/listing.h"

#include "base/bytes.h"
#include "base/loader.h"
#include "base/owned.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char FOLDER[] = "/etc/OpenCL/vendors", ENDING[] = ".icd";
static const char OWN_VENDORS[] = "KERNLENS_OCL_ICD_VENDORS", OWN_NAMES[] = "KERNLENS_OCL_ICD_FILENAMES";

struct loader_rules rules_of(const void *loader)
{
    return (struct loader_rules){
        .loader = loader,
        .sorts = loader_says(loader, "OCL_ICD_PLATFORM_SORT"),
        .joins = loader_says(loader, "/etc/OpenCL/vendors/"),
        .reads_names = loader_says(loader, "OCL_ICD_FILENAMES"),
        .reads_path = loader_says(loader, "OPENCL_VENDOR_PATH"),
        .reads_home = loader_says(loader, "PYOPENCL_HOME"),
    };
}

static bool is_of_type(const char *path, mode_t type)
{
    struct stat status;
    return stat(path, &status) == 0 && (status.st_mode & S_IFMT) == type;
}

/* Adds the library that a vendor's file names: its first line for ocl-icd, for the others all of it. */
static void add_named(const struct loader_rules *rules, const char *path, struct file_names *libraries)
{
    size_t size = 0;
    FREED char *text = is_of_type(path, S_IFREG) ? file_read(path, &size) : NULL;
    if (text == NULL)
        return;
    char *end = rules->sorts ? strchr(text, '\n') : size > 0 && text[size - 1] == '\n' ? text + size - 1 : NULL;
    if (end != NULL)
        *end = '\0';
    if (text[0] != '\0')
        file_names_add(libraries, text);
}

static void add_folder(const struct loader_rules *rules, const char *folder, struct file_names *libraries)
{
    const char *between = rules->joins && strcmp(folder, FOLDER) != 0 ? "" : "/";
    DIR *entries = opendir(folder);
    const struct dirent *entry;
    while (entries != NULL && (entry = readdir(entries)) != NULL) {
        FREED char *path = text_ends_with(entry->d_name, ENDING) ? text_format("%s%s%s", folder, between, entry->d_name) : NULL;
        if (path != NULL)
            add_named(rules, path, libraries);
    }
    if (entries != NULL)
        closedir(entries);
}

static void add_list(const char *names, struct file_names *libraries)
{
    FREED char *copy = names != NULL ? strdup(names) : NULL;
    char *rest = NULL;
    for (char *name = copy != NULL ? strtok_r(copy, ":", &rest) : NULL; name != NULL; name = strtok_r(NULL, ":", &rest))
        file_names_add(libraries, name);
}

/* ocl-icd takes a vendor's file or a library for the folder, too. Tells whether it is one. */
static bool add_single(const struct loader_rules *rules, const char *vendors, const char *folder, struct file_names *libraries)
{
    if (is_of_type(vendors, S_IFDIR))
        return false;
    size_t before = libraries->count;
    FREED char *inside = strchr(vendors, '/') == NULL ? text_format("%s/%s", folder, vendors) : NULL;
    if (!text_ends_with(vendors, ENDING))
        file_names_add(libraries, vendors);
    else if (inside != NULL)
        add_named(rules, inside, libraries);
    if (text_ends_with(vendors, ENDING) && libraries->count == before)
        add_named(rules, vendors, libraries);
    return true;
}

void listing_read(const struct loader_rules *rules, struct file_names *libraries)
{
    const char *vendors = getenv(OWN_VENDORS);
    const char *path = rules->reads_path ? getenv("OPENCL_VENDOR_PATH") : NULL;
    const char *folder = path != NULL && path[0] != '\0' ? path : FOLDER;
    if (rules->reads_names)
        add_list(getenv(OWN_NAMES), libraries);
    if (!rules->sorts) {
        add_folder(rules, vendors != NULL ? vendors : folder, libraries);
        return;
    }
    if (vendors == NULL || vendors[0] == '\0')
        vendors = folder;
    if (!add_single(rules, vendors, folder, libraries))
        add_folder(rules, vendors, libraries);
}

void listing_read_others(const struct loader_rules *rules, struct file_names *libraries)
{
    const char *home = rules->reads_home ? getenv("PYOPENCL_HOME") : NULL;
    FREED char *folder = home != NULL ? text_format("%s/.libs", home) : NULL;
    if (rules->reads_names)
        add_list(getenv("OCL_ICD_FILENAMES"), libraries);
    if (folder != NULL)
        add_folder(rules, folder, libraries);
}
