/* What the parts of the Level Zero application for the tests of capture share. */
#ifndef LEVEL_ZERO_APPLICATION_H
#define LEVEL_ZERO_APPLICATION_H

#include <level_zero/ze_api.h>

extern ze_context_handle_t context;
extern ze_device_handle_t device;
extern ze_driver_handle_t driver;

/* Ends the program, with the call's name, if it failed. */
void check(ze_result_t result, const char *what);
/* Makes a module of a file of the folder, and prints the result. */
ze_module_handle_t from_spirv(const char *name, const char *flags, const ze_module_constants_t *constants);

ze_kernel_handle_t kernel_of(ze_module_handle_t module, const char *name);
ze_event_handle_t event_of(void);
/* Gives both kernels of "plain" their arguments, and returns their memory. */
void *memory_for(ze_kernel_handle_t scale, ze_kernel_handle_t clear);
/* Executes a list `times` times that launches "scale" and "clear", and launches "clear" twice through an immediate list. */
void launch(int times);
void launch_in_newer_ways(void);
/* Launches through a graph; with `of_driver`, by functions that the driver gives by their names. */
void launch_graphs(int of_driver);
/* Prints what stands in new memory, and in memory that the device's was copied to. */
void read_memory(void);

#endif
