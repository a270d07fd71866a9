#ifndef TEST_SYSTEM_H
#define TEST_SYSTEM_H

#include <stddef.h>

/* Makes the calling thread, and no other one, act as a user of the system until it is given back to root. Returns 0, or -1
   with errno. Only on Linux. */
int test_act_as_user(unsigned int user);

/* Opens a terminal of a program's own, whose reads don't wait. Returns a descriptor, and the terminal's path for the process
   that is to be at its other end; or -1 with errno. */
int test_open_terminal(char *path, size_t size);

#endif
