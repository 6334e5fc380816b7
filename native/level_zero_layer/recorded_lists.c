/* Which immediate lists are recorded in graphs. */
#include "level_zero_layer/driver.h"
#include "level_zero_layer/layer.h"

#include <stdatomic.h>

static atomic_bool are_used; /* a process without graphs asks nothing */

void recording_begins(void)
{
    are_used = true;
}

/* A list that waits for an event of one that is recorded is recorded too: the driver knows which ones are. */
const void *graph_of(ze_command_list_handle_t list)
{
    void *graph = NULL;
    bool is_recorded = are_used && driver.get_graph != NULL && driver.get_graph(list, &graph) == ZE_RESULT_SUCCESS;
    return is_recorded ? graph : NULL;
}
