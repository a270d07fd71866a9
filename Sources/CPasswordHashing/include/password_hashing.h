#ifndef FUNCTIONS_PASSWORD_HASHING_H
#define FUNCTIONS_PASSWORD_HASHING_H

#include <stddef.h>
#include <stdint.h>

/* Hashes a password with bcrypt, by the system's libcrypt. The setting is an earlier hash, of which version, cost and salt are
   used. Writes the hash with its end. Returns 0, or -1 if the setting isn't bcrypt's, or the system has no bcrypt. */
int functions_bcrypt(const char *password, const char *setting, char *hash, size_t capacity);

typedef struct {
    const uint8_t *bytes;
    size_t count;
} functions_bytes;

typedef struct {
    /* 0 for Argon2d, 1 for Argon2i, 2 for Argon2id. */
    uint32_t type;
    /* 0x10 or 0x13. */
    uint32_t version;
    uint32_t iterations;
    uint32_t memory_kib;
    uint32_t parallelism;
} functions_argon2_parameters;

/* Hashes a password with Argon2, by libargon2, on the calling thread. Returns 0, or -1 if a parameter is invalid, memory is
   missing, or the system has no Argon2. */
int functions_argon2(functions_argon2_parameters parameters, functions_bytes password, functions_bytes salt,
                     functions_bytes associated_data, uint8_t *hash, size_t count);

#endif
