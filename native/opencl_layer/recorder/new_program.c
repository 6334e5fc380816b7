/* Handles of programs: a driver may give a new program that of an earlier one, which nothing more may be known of. */
#include "opencl_layer/recorder/parts.h"

void new_program(cl_program program)
{
    counters_new_program(program);
    constants_forget(program);
    own_answers_forget(program);
}
