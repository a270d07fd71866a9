#define _GNU_SOURCE
#include "test_system.h"

#include <errno.h>
#include <unistd.h>

#if defined(__linux__)
#include <sys/syscall.h>

/* The C library's function would change all threads. */
int test_act_as_user(unsigned int user) { return (int)syscall(SYS_setresuid, user, user, 0); }
#else
int test_act_as_user(unsigned int user) {
    (void)user;
    errno = ENOSYS;
    return -1;
}
#endif
