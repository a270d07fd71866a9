#ifndef FUNCTIONS_PASSWORD_HASHING_H
#define FUNCTIONS_PASSWORD_HASHING_H

#include <stddef.h>

/* Hashes a password with bcrypt, by the system's libcrypt. The setting is an earlier hash, of which version, cost and salt are
   used. Writes the hash with its end. Returns 0, or -1 if the setting isn't bcrypt's, or the system has no bcrypt. */
int functions_bcrypt(const char *password, const char *setting, char *hash, size_t capacity);

#endif
