#include "opencl_layer/vendor/from_type.h"

#include "recording/spool.h"

#include <errno.h>
#include <stdatomic.h>

/* One function for each driver's. */
#define EACH_PLACE(PLACE)                                                                                            \
    PLACE(0) PLACE(1) PLACE(2) PLACE(3) PLACE(4) PLACE(5) PLACE(6) PLACE(7)                                          \
    PLACE(8) PLACE(9) PLACE(10) PLACE(11) PLACE(12) PLACE(13) PLACE(14) PLACE(15)

typedef void(CL_CALLBACK *notification)(const char *error, const void *private_info, size_t size, void *user_data);

#define COUNTED(number) +1
enum { PLACES = EACH_PLACE(COUNTED) };

static struct {
    cl_api_clCreateContextFromType function;
    const struct owner *owner;
    void (*see)(const struct owner *owner, cl_context context);
} places[PLACES]; /* read up to the count */
static atomic_uint place_count;

static cl_context create(unsigned place, const cl_context_properties *properties, cl_device_type type, notification notify,
                         void *user_data, cl_int *error_ret)
{
    cl_context context = places[place].function(properties, type, notify, user_data, error_ret);
    if (context != NULL)
        places[place].see(places[place].owner, context);
    return context;
}

#define DEFINE(number)                                                                                               \
    static cl_context CL_API_CALL create_##number(const cl_context_properties *properties, cl_device_type type,      \
                                                  notification notify, void *user_data, cl_int *error_ret)           \
    {                                                                                                                \
        return create(number, properties, type, notify, user_data, error_ret);                                       \
    }
EACH_PLACE(DEFINE)

cl_api_clCreateContextFromType from_type_in_front(cl_api_clCreateContextFromType function, const struct owner *owner,
                                                  void (*see)(const struct owner *owner, cl_context context))
{
#define NAME(number) create_##number,
    static const cl_api_clCreateContextFromType IN_FRONT[] = {EACH_PLACE(NAME)};
    unsigned count = place_count;
    for (unsigned place = 0; place < count; ++place)
        if (places[place].function == function)
            return IN_FRONT[place];
    if (count == PLACES) {
        spool_missing("contexts of a further driver that were made for a type of device", ENOMEM);
        return NULL;
    }
    places[count].function = function;
    places[count].owner = owner;
    places[count].see = see;
    atomic_store(&place_count, count + 1);
    return IN_FRONT[count];
}
