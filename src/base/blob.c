#include "base/blob.h"

#include <fcntl.h>
#include <sha2.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/file.h"

ik_blob_name_t ik_blob_name(const char *bytes, size_t len)
{
    SHA2_CTX state;
    uint8_t digest[SHA256_DIGEST_LENGTH];
    ik_blob_name_t name;
    SHA256Init(&state);
    SHA256Update(&state, (const uint8_t *)bytes, len);
    SHA256Final(digest, &state);
    for (size_t i = 0; i < sizeof(digest); i++) {
        snprintf(name.hex + 2 * i, 3, "%02x", digest[i]);
    }
    return name;
}

bool ik_blob_is_name(const char *text)
{
    return strspn(text, "0123456789abcdef") == IK_BLOB_NAME_LEN && text[IK_BLOB_NAME_LEN] == '\0';
}

char *ik_blob_path(const void *ctx, const char *folder, const char *name)
{
    return ik_sprintf(ctx, "%s/%.2s/%s", folder, name, name + 2);
}

/* A file of another length is the leftover of a damaged disk and is replaced. */
static bool is_stored(const char *path, size_t len)
{
    struct stat status;
    return lstat(path, &status) == 0 && S_ISREG(status.st_mode) && (size_t)status.st_size == len;
}

res_t ik_blob_put(const char *folder, const char *bytes, size_t len, ik_blob_name_t *name)
{
    *name = ik_blob_name(bytes, len);
    char *path = ik_blob_path(NULL, folder, name->hex);
    res_t result = OK;
    if (is_stored(path, len)) {
        (void)utimensat(AT_FDCWD, path, NULL, 0); /* young again: a sweep keeps what is in use */
    } else {
        char *parent = ik_file_folder(path, path);
        result = ik_file_make_private_folder(parent);
        if (is_ok(&result)) {
            result = ik_file_write_private(path, bytes, len);
        }
    }
    talloc_free(path);
    return result;
}

res_t ik_blob_get(const void *ctx, const char *folder, const char *name, size_t max, char **bytes,
                  size_t *len)
{
    if (!ik_blob_is_name(name)) {
        return ERR(INVALID, "'%.80s' is not the name of a blob", name);
    }
    char *path = ik_blob_path(NULL, folder, name);
    res_t result = ik_file_read(ctx, path, max, bytes, len);
    talloc_free(path);
    if (is_ok(&result) && strcmp(ik_blob_name(*bytes, *len).hex, name) != 0) {
        talloc_free(*bytes);
        result = ERR(DAMAGED, "Blob %s is damaged", name);
    }
    return result;
}
