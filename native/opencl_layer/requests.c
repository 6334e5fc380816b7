#include "requests.h"

#include "replay.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct request *requests;
static size_t room;
static atomic_size_t count; /* written under the lock; read without, so that a process with no request pays nothing */

static struct request *find(cl_program program)
{
    for (size_t index = 0; index < count; ++index)
        if (requests[index].program == program)
            return &requests[index];
    return NULL;
}

static struct request *add(void)
{
    if (count == room) {
        size_t more = room ? room * 2 : 16;
        struct request *grown = realloc(requests, more * sizeof *grown);
        if (grown == NULL)
            return NULL;
        requests = grown;
        room = more;
    }
    return &requests[count++];
}

bool request_put(const struct request *request)
{
    pthread_mutex_lock(&lock);
    struct request *place = find(request->program);
    struct replay *earlier = place != NULL ? place->replay : NULL;
    if (place == NULL)
        place = add();
    if (place != NULL)
        *place = *request;
    pthread_mutex_unlock(&lock);
    replay_free(earlier);
    return place != NULL;
}

static bool copy(cl_program program, struct request *request, bool take)
{
    if (count == 0)
        return false;
    pthread_mutex_lock(&lock);
    struct request *place = find(program);
    if (place != NULL) {
        *request = *place;
        if (take)
            place->replay = NULL;
        else
            request->replay = NULL;
    }
    pthread_mutex_unlock(&lock);
    return place != NULL;
}

bool request_take(cl_program program, struct request *request)
{
    return copy(program, request, true);
}

bool request_find(cl_program program, struct request *request)
{
    return copy(program, request, false);
}

void request_delivered(cl_program program)
{
    struct replay *replay = NULL;
    pthread_mutex_lock(&lock);
    struct request *place = find(program);
    if (place != NULL) {
        place->delivered = true;
        replay = place->replay;
        place->replay = NULL;
    }
    pthread_mutex_unlock(&lock);
    replay_free(replay);
}

void request_forget(cl_program program)
{
    if (count == 0)
        return;
    struct replay *replay = NULL;
    pthread_mutex_lock(&lock);
    struct request *place = find(program);
    if (place != NULL) {
        replay = place->replay;
        *place = requests[count - 1];
        --count;
    }
    pthread_mutex_unlock(&lock);
    replay_free(replay);
}

unsigned requests_waiting(void)
{
    unsigned waiting = 0;
    pthread_mutex_lock(&lock);
    for (size_t index = 0; index < count; ++index)
        waiting += requests[index].replay != NULL;
    pthread_mutex_unlock(&lock);
    return waiting;
}
