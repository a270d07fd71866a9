#ifndef TEST_SYSTEM_H
#define TEST_SYSTEM_H

/* Makes the calling thread, and no other one, act as a user of the system until it is given back to root. Returns 0, or -1
   with errno. Only on Linux. */
int test_act_as_user(unsigned int user);

#endif
