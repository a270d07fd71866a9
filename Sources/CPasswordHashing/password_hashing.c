#define _GNU_SOURCE
#include "password_hashing.h"

#include <stdlib.h>
#include <string.h>

#ifdef __linux__
#include <argon2.h>
#include <crypt.h>

int functions_bcrypt(const char *password, const char *setting, char *hash, size_t capacity) {
    if (strncmp(setting, "$2", 2) != 0) return -1;
    struct crypt_data *data = calloc(1, sizeof *data);
    if (data == NULL) return -1;
    const char *result = crypt_r(password, setting, data);
    int status = -1;
    /* An output that begins with an asterisk tells of a failure. */
    if (result != NULL && result[0] != '*' && strlen(result) < capacity) {
        strcpy(hash, result);
        status = 0;
    }
    memset(data, 0, sizeof *data);
    free(data);
    return status;
}

int functions_argon2(functions_argon2_parameters parameters, functions_bytes password, functions_bytes salt,
                     functions_bytes associated_data, uint8_t *hash, size_t count) {
    argon2_context context = {
        .out = hash,
        .outlen = (uint32_t)count,
        /* The library only reads them, as its flags say. */
        .pwd = (uint8_t *)password.bytes,
        .pwdlen = (uint32_t)password.count,
        .salt = (uint8_t *)salt.bytes,
        .saltlen = (uint32_t)salt.count,
        .ad = associated_data.count == 0 ? NULL : (uint8_t *)associated_data.bytes,
        .adlen = (uint32_t)associated_data.count,
        .t_cost = parameters.iterations,
        .m_cost = parameters.memory_kib,
        .lanes = parameters.parallelism,
        .threads = 1,
        .version = parameters.version,
        .flags = ARGON2_DEFAULT_FLAGS,
    };
    return argon2_ctx(&context, (argon2_type)parameters.type) == ARGON2_OK ? 0 : -1;
}
#else
int functions_bcrypt(const char *password, const char *setting, char *hash, size_t capacity) {
    (void)password;
    (void)setting;
    (void)hash;
    (void)capacity;
    return -1;
}

int functions_argon2(functions_argon2_parameters parameters, functions_bytes password, functions_bytes salt,
                     functions_bytes associated_data, uint8_t *hash, size_t count) {
    (void)parameters;
    (void)password;
    (void)salt;
    (void)associated_data;
    (void)hash;
    (void)count;
    return -1;
}
#endif
