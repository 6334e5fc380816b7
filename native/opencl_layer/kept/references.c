/* What is read of a launch's memory holds the queue, the memory and the context until it is written. Whoever asks for their references
 * gets them once that is over, if it is soon. */
#include "opencl_layer/kept/parts.h"

#define ASKS(type, name, question, references)                                                                       \
    static cl_int CL_API_CALL name##_settled(type object, question what, size_t room, void *value, size_t *size_ret) \
    {                                                                                                                \
        if (what == (references) && value != NULL)                                                                   \
            launches_settle();                                                                                       \
        return next->name(object, what, room, value, size_ret);                                                      \
    }

static const cl_icd_dispatch *next;

ASKS(cl_context, clGetContextInfo, cl_context_info, CL_CONTEXT_REFERENCE_COUNT)
ASKS(cl_command_queue, clGetCommandQueueInfo, cl_command_queue_info, CL_QUEUE_REFERENCE_COUNT)
ASKS(cl_mem, clGetMemObjectInfo, cl_mem_info, CL_MEM_REFERENCE_COUNT)
ASKS(cl_event, clGetEventInfo, cl_event_info, CL_EVENT_REFERENCE_COUNT)

void references_hook(cl_icd_dispatch *dispatch, const cl_icd_dispatch *behind)
{
    next = behind;
    dispatch->clGetContextInfo = clGetContextInfo_settled;
    dispatch->clGetCommandQueueInfo = clGetCommandQueueInfo_settled;
    dispatch->clGetMemObjectInfo = clGetMemObjectInfo_settled;
    dispatch->clGetEventInfo = clGetEventInfo_settled;
}
