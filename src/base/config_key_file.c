#include "base/config_key_file.h"

#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/config_provider.h"
#include "base/config_secret.h"
#include "base/file.h"
#include "base/ownership.h"
#include "base/utf8.h"

res_t ik_config_key_file_check(const char *path)
{
    struct stat status;
    if (stat(path, &status) < 0 || !S_ISREG(status.st_mode)) {
        return OK; /* reading it tells why, unless it is missing */
    }
    if ((status.st_mode & 077) != 0) {
        return ERR(DENIED, "other users can access this file, which holds keys: run chmod 600 %s",
                   path);
    }
    return ik_ownership_check_file(path);
}

static void read_entry(ik_config_loader_t *loader, ik_json_span_t name, ik_json_span_t entry)
{
    ik_json_span_t value;
    if (ik_json_kind(entry) != IK_JSON_OBJECT) {
        ik_config_loader_fail(loader, IK_ERR_INVALID, entry.text,
                              "the entry of a provider must be an object: {\"api_key\": \"...\"}");
        return;
    }
    if (!ik_json_find(entry, "api_key", &value)) {
        return;
    }
    if (ik_json_kind(value) != IK_JSON_STRING) {
        ik_config_loader_fail(loader, IK_ERR_INVALID, value.text, "api_key must be a string");
        return;
    }
    size_t len;
    char *written = ik_json_decode(loader->scratch, value, &len);
    char *key = strlen(written) == len ? ik_config_secret_clean(loader->scratch, written) : NULL;
    explicit_bzero(written, len);
    if (key == NULL) {
        ik_config_loader_fail(loader, IK_ERR_INVALID, value.text,
                              "the key contains characters that no key can have");
        return;
    }
    char *provider_name = ik_json_decode(loader->scratch, name, NULL);
    ik_config_provider_t *provider = ik_config_provider_find(loader->config, provider_name);
    if (provider != NULL && provider->type != IK_CONFIG_TYPE_OFFLINE && key[0] != '\0') {
        ik_config_secret_destroy(provider->api_key); /* of an earlier entry with this name */
        provider->api_key = ik_strdup(provider, key);
        provider->key_from_file = true;
    }
    ik_config_secret_destroy(key);
}

static void parse(ik_config_loader_t *loader, const char *text, size_t len)
{
    ik_json_span_t root;
    ik_json_fault_t fault;
    if (!ik_utf8_valid(text, len)) {
        ik_config_loader_fail(loader, IK_ERR_INVALID, NULL, "the file is not UTF-8");
        return;
    }
    if (!ik_json_scan(text, len, &root, &fault)) {
        ik_config_loader_fail(loader, IK_ERR_INVALID, text + fault.offset, "broken JSON: %s",
                              fault.reason);
        return;
    }
    if (ik_json_kind(root) != IK_JSON_OBJECT) {
        ik_config_loader_fail(loader, IK_ERR_INVALID, root.text,
                              "the file must be an object: {\"PROVIDER\": {\"api_key\": \"...\"}}");
        return;
    }
    size_t position = 0;
    ik_json_span_t name;
    ik_json_span_t entry;
    while (ik_json_next_member(root, &position, &name, &entry)) {
        read_entry(loader, name, entry);
    }
}

void ik_config_key_file_load(ik_config_loader_t *loader, const char *path)
{
    char *text = NULL;
    size_t len = 0;
    if (path == NULL) {
        return;
    }
    res_t result = ik_config_key_file_check(path);
    if (is_ok(&result)) {
        result = ik_file_read(loader->scratch, path, IK_CONFIG_FILE_MAX, &text, &len);
    }
    if (is_ok(&result)) {
        loader->origin = path;
        loader->text = text;
        parse(loader, text, len);
        loader->text = NULL;
        explicit_bzero(text, len);
    } else if (result.code != IK_ERR_NOT_FOUND) {
        ik_config_loader_fail_file(loader, path, &result);
    }
}
