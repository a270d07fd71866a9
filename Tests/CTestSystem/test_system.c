#define _GNU_SOURCE
#include "test_system.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int test_open_terminal(char *path, size_t size) {
    int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK);
    if (terminal < 0) return -1;
    char *name = grantpt(terminal) == 0 && unlockpt(terminal) == 0 ? ptsname(terminal) : NULL;
    if (name == NULL || strlen(name) >= size) {
        close(terminal);
        return -1;
    }
    strcpy(path, name);
    return terminal;
}

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
