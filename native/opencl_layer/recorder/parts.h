/* What the parts of the recorder share; each is told of in the file that bears its name. */
#ifndef KERNLENS_RECORDER_PARTS_H
#define KERNLENS_RECORDER_PARTS_H

#include "recording/counters.h"
#include "recording/event.h"
#include "recording/kernel_names.h"

#include <CL/cl.h>
#include <CL/cl_icd.h>

#include <stdbool.h>
#include <stddef.h>

/* build_event.c: one call of a function that builds, described as it begins, written down when it has ended. */
struct build_event;

/* Begins one: a call of clBuildProgram ("build"), clCompileProgram ("compile") or clLinkProgram ("link"), or the creation of
 * "built-in kernels", whose names are the options. It is for these devices (NULL: all that the program has). `added` is what
 * the driver gets behind the application's options, NULL if nothing, and `sent` then both. Returns NULL if there is no memory; the
 * others take that. */
struct build_event *build_event_begin(const char *operation, cl_uint count, const cl_device_id *devices,
                                      const char *options, const char *added, const char *sent);
/* Notes a linked program, or a header under its name. */
void build_event_input(struct build_event *event, cl_program program);
void build_event_header(struct build_event *event, cl_program program, const char *name);
/* Notes the number by which the interpreter's plugin calls the build, before it is started. */
void build_event_observed(struct build_event *event, const char *number);
/* Notes what is to be built, and for what, before the driver does it: NULL is the program of a link. */
void build_event_start(struct build_event *event, cl_program program);
/* Writes it and frees it. `program` is what was built, NULL if there is none. */
void build_event_end(struct build_event *event, cl_program program, cl_int status);
/* Writes one that the driver notifies of: what became of it, each device's status says. Once its function has returned, this status is
 * written in place of that, and the event freed. */
void build_event_notified(struct build_event *event, cl_program program);
void build_event_settle(struct build_event *event, cl_int status);
/* Frees it: there was none. */
void build_event_drop(struct build_event *event);

/* binary_elsewhere.c: binaries of drivers that may end the process that asks for them (program_binary_may_abort). */
/* What a build is made from that cannot be asked for when it has ended. */
struct elsewhere {
    char *options; /* as the driver got them; NULL: none */
    struct writer inputs;
    uint64_t input_count;
    cl_device_id device; /* of the inputs' binaries */
};

/* Keeps what the driver makes a link from, if such a driver does. */
void elsewhere_input(struct elsewhere *elsewhere, cl_program program, cl_device_id device);
/* Returns the binary that a second build yields in a process of its own; NULL if none, and the reason. Free both. */
char *binary_elsewhere(const struct elsewhere *elsewhere, cl_program program, cl_device_id device, size_t *size, char **reason);
void elsewhere_free(struct elsewhere *elsewhere);

/* build_call.c: calls of functions that build, and their notifications. */
typedef void(CL_CALLBACK *notification)(cl_program program, void *user_data);

struct build_call {
    struct build_event *event;       /* NULL: it ends with the notification */
    struct notified_build *notified; /* NULL if there is none */
    notification notify;             /* both for the driver */
    void *user_data;
};

/* Begins one. If there is no memory to stand in for the application's notification, that stays, and the build is not recorded. */
struct build_call build_call_begin(struct build_event *event, bool links, notification notify, void *user_data);
/* Ends it, with what the function returned. */
void build_call_end(struct build_call *call, cl_program program, cl_int status);

/* new_program.c: the handle belongs to a new program. */
void new_program(cl_program program);

/* constants.c: specialization constants of programs from IL. */
/* Has forks looked after. For a loading layer. */
void constants_watch(void);
/* Keeps a value that was set; in place of an earlier one. */
void constant_set(cl_program program, cl_uint number, size_t size, const void *value);
/* Adds those of the program to an event of its. */
void constants_add(struct event *event, cl_program program);
/* Writes the program with them for a second build. */
struct job_program;
void constants_write_program(struct writer *job, struct job_program *of, cl_program program);
/* The handle is a new program's. */
void constants_forget(cl_program program);

/* added_options.c: options that a capture adds to what the application builds. */
/* Takes them from the environment. For a loading layer. */
void added_options_open(void);
/* Return what is added to a build's options, which lasts; NULL if nothing is. Without devices all that the program has are meant. */
const char *added_to_build(cl_program program, cl_uint count, const cl_device_id *devices);
const char *added_to_link(cl_uint program_count, const cl_program *programs, cl_uint count, const cl_device_id *devices,
                          const char *options);
/* Makes the options with what is added to them, as the driver gets them, in memory of their own; NULL if nothing is. The program is
 * that of a build, or NULL. */
char *with_added(const char *options, const char *added, cl_program program, cl_uint count, const cl_device_id *devices);
/* Tells whether anything is added to any build. */
bool options_are_added(void);
/* Takes out of the options that a driver answers with what was added to them, also if they come from a binary. */
void added_take_out(char *options);

/* observed_programs.c: programs that an interpreter runs and a plugin counts. */
/* Takes from the environment whether there are, and puts its function into the table then. For a loading layer, before the others. */
void observed_programs_hook(cl_icd_dispatch *dispatch, const cl_icd_dispatch *behind);
bool programs_are_observed(void);
bool context_is_interpreted(cl_context context);
/* observed_modules.c: SPIR-V that the interpreter gets as bitcode. */
bool modules_are_translated(void);
/* Returns the bitcode of a module, which is to be freed; NULL if it is refused. */
char *observed_module(const void *il, size_t length, size_t *size);

/* Returns the options of a build as the interpreter gets them, in place of the `extended` ones (NULL: the application's `options`),
 * which it frees then, and notes the build's number; those themselves for others. */
char *with_observed(char *extended, const char *options, struct build_event *event, cl_program program);
/* Returns the local size of a launch for the interpreter, in `chosen` where the application leaves it to the driver. */
const size_t *observed_local(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *global, const size_t *local,
                             size_t chosen[3]);

/* Notes a kernel that the interpreter did not make, though the program has it: it misses something that the kernel calls. */
void observed_kernel_refused(cl_program program, const char *name);
/* The value of an expression that calls the interpreter, while no other thread of the application does: it stands for one at a time. */
void observed_build_begin(void);
void observed_build_end(void);
void observed_turn_begin(void);
void observed_turn_end(void);
#define IN_TURN(expression)                                                                                          \
    __extension__({                                                                                                  \
        observed_turn_begin();                                                                                       \
        __typeof__(expression) in_turn = (expression);                                                               \
        observed_turn_end();                                                                                         \
        in_turn;                                                                                                     \
    })

/* own_answers.c: what programs answer, where a capture changed what the driver got, is what the application gave. */
/* Puts its functions into the table, in front of those `behind`; `options_change` tells whether options of builds do. For a loading
 * layer. */
void own_answers_hook(cl_icd_dispatch *dispatch, const cl_icd_dispatch *behind, bool options_change);
/* Notes what the application made a program from that something else stands in for. */
void own_answers_made_from(cl_program program, enum made_from form, const struct view *bytes);
/* Returns the IL that the application made such a program from, which is to be freed; NULL if none. */
char *own_answers_il(cl_program program, size_t *size);
/* The handle is a new program's. */
void own_answers_forget(cl_program program);

/* extension_launches.c: launches through functions that platforms give out by their names. */
/* Has forks looked after. For a loading layer. */
void extension_launches_watch(void);
/* Returns the recorder's function in front of the platform's, if it has one of that name, else the platform's. */
void *extension_launch_function(cl_platform_id platform, const char *name, void *of_platform);
/* Returns the sizes of a launch, as they are counted. */
struct shape shape_of(cl_uint dimensions, const size_t *global, const size_t *local);

/* queues.c: the devices of queues, which the driver is not asked for at each launch. */
/* Puts its function into the table, in front of those `behind`. For a loading layer. */
void queues_hook(cl_icd_dispatch *dispatch, const cl_icd_dispatch *behind);
/* Returns the device of a queue; NULL if the driver does not tell. */
cl_device_id known_queue_device(cl_command_queue queue);

/* timed_queues.c: queues with profiling events that the application does not see. */
/* Puts its functions into the table, in front of those `behind`. For a loading layer. */
void timed_queues_hook(cl_icd_dispatch *dispatch, const cl_icd_dispatch *behind);
/* Tells whether an event is of such a queue. */
bool queue_is_timed_of(cl_event event);
/* The application is about to give back a reference to the queue. */
void timed_queue_forget(cl_command_queue queue);

/* timed_launches.c: the device's time of launches. */
/* Puts its functions into the table, in front of those `behind`, if it is asked for. For a loading layer. */
void timed_launches_hook(cl_icd_dispatch *dispatch, const cl_icd_dispatch *behind);
/* Returns where the driver is to put a launch's event: where the application `asked`, or into `own`, which is NULL, if it did not. */
cl_event *timed_event(cl_event *asked, cl_event *own);
/* Has a launch timed that the driver accepted with this event; `is_own` tells that the application does not have it. */
void timed_launch(cl_kernel kernel, cl_device_id device, cl_event event, bool is_own);
/* The application is about to release the queue. */
void timed_queue_releases(cl_command_queue queue);

/* held_events.c: the application's events that a capture holds. */
/* Puts its function into the table, in front of those `behind`, if it is not there yet. For a loading layer. */
void held_events_hook(cl_icd_dispatch *dispatch, const cl_icd_dispatch *behind);
/* Holds an event until it is given back; false if that cannot be. The application does not see it. */
bool event_hold_for_capture(cl_event event);
void event_give_back(cl_event event);

/* simulated_memory.c: what an application reads back from simulated devices is zero. */
/* Whether the device is one that is simulated. */
bool is_simulated(cl_device_id device);
/* Puts its functions into the table, in front of those `behind`, if devices are simulated and it is asked for. */
void simulated_memory_hook(cl_icd_dispatch *dispatch, const cl_icd_dispatch *behind);
/* Returns its function in front of the platform's, if it has one of that name and is there, else the platform's. */
void *simulated_memory_function(const char *name, void *of_platform);

/* replaced_programs.c: programs that something else stands in for (recording/replacements.h). */
/* Puts its functions into the table, in front of those `behind`, if there is something to replace. */
void replaced_programs_hook(cl_icd_dispatch *dispatch, const cl_icd_dispatch *behind);
/* Makes a program from what stands in for one made from this IL, or for the interpreter, for functions that are in no table; NULL if
 * nothing does, with an error where that was tried. */
cl_program replaced_program_from_il(cl_context context, const void *il, size_t length, cl_int *error_ret);

/* current_calls.c: the calls that the application is in. */
/* Puts its functions into the table, in front of all others. For a loading layer. */
void current_calls_hook(cl_icd_dispatch *dispatch);

#endif
