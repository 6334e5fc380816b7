/* What the checks of the OpenCL layer share: one device, its stages, and what a callback received. */
#ifndef SUPPORT_H
#define SUPPORT_H

#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <CL/cl_codeplay_program_snapshot.h>

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Counts a check, and tells if it failed; the program's exit status says whether any did. */
#define CHECK(condition) check((condition), #condition, __FILE__, __LINE__)
#define CHECK_EQUAL(left, right) check_equal((long long)(left), (long long)(right), #left " == " #right, __FILE__, __LINE__)
void check(bool passed, const char *condition, const char *file, int line);
void check_equal(long long left, long long right, const char *condition, const char *file, int line);
/* Named in front of failed checks. */
void checking(const char *format, ...) __attribute__((format(printf, 1, 2)));
int checks_failed(void);
int checks_done(void);

extern const char SOURCE[]; /* two kernels, "vadd" and "vmul" */

struct expected_stage {
    const char *name;
    const char *text;   /* ending in the text form, of what comes when text is asked for */
    const char *binary; /* likewise */
    const char *other;  /* also right in either form, in place of the above, or NULL */
    bool text_first;
    int snapshots; /* how many for SOURCE; 0: none without debug data; -1: one or two */
};

extern cl_platform_id platform;
extern cl_device_id device;
extern cl_context context;
extern const struct expected_stage *expected;
extern cl_uint expected_count;
extern clRequestProgramSnapshotListCODEPLAY_fn request_list;
extern clRequestProgramSnapshotCODEPLAY_fn request;

void set_up(void);
void tear_down(void);
cl_program program_with(const char *source);
cl_program program_from(const void *module, size_t size);
/* The binary of the only device; free it. */
unsigned char *binary_of(cl_program program, size_t *size);
void *file_contents(const char *path, size_t *size);

/* What came: `before_return` must be cleared when the build returned. */
struct received {
    int calls;
    size_t size;          /* of the last snapshot */
    char ending[16];      /* likewise */
    char kernels[8][32];  /* of each */
    char endings[8][16];
    unsigned char start[64];
    bool complete;        /* a zero byte followed each snapshot, and no size was 0 */
    bool on_thread;       /* each call was on the thread that built */
    pthread_t thread;
    char *last; /* a copy of the last snapshot, of `size` bytes */
};
struct received expecting(void);
void forget(struct received *received);
void CL_CALLBACK receive(size_t size, const char *bytes, void *callback_data, void *user_data);

#endif
