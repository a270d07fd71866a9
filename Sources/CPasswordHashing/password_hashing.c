#define _GNU_SOURCE
#include "password_hashing.h"

#include <stdlib.h>
#include <string.h>

#ifdef __linux__
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
#else
int functions_bcrypt(const char *password, const char *setting, char *hash, size_t capacity) {
    (void)password;
    (void)setting;
    (void)hash;
    (void)capacity;
    return -1;
}
#endif
