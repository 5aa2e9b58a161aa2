#include "io/http_certificates.h"

#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"

static const char *setting(const char *variable)
{
    const char *value = getenv(variable);
    return value == NULL || value[0] == '\0' ? NULL : value;
}

static void trust_file(const ik_curl_library_t *curl, CURL *easy, const char *file)
{
    curl->easy_setopt(easy, CURLOPT_CAINFO, file);
    curl->easy_setopt(easy, CURLOPT_PROXY_CAINFO, file);
}

/* "1f2e3d4c.0", the hash of a subject: OpenSSL looks up certificates by such names. */
static bool is_hashed_name(const char *name)
{
    size_t digits = 0;
    while (isxdigit((unsigned char)name[digits])) {
        digits++;
    }
    return digits == 8 && strcmp(name + digits, ".0") == 0;
}

static bool is_hashed_folder(const char *path)
{
    bool found = false;
    struct dirent *entry;
    DIR *dir = opendir(path);
    if (dir == NULL) {
        return false;
    }
    while (!found && (entry = readdir(dir)) != NULL) {
        found = is_hashed_name(entry->d_name);
    }
    closedir(dir);
    return found;
}

/* Whether libcurl was built to use a folder in which OpenSSL looks up certificates by hash. Other
 * TLS libraries read the whole folder, which takes longer than reading the file. */
static bool has_hashed_folder(const ik_curl_library_t *curl, CURL *easy)
{
    char *folder = NULL;
#if LIBCURL_VERSION_NUM >= 0x075400
    if (curl->easy_getinfo(easy, CURLINFO_CAPATH, &folder) != CURLE_OK) {
        return false;
    }
#endif
    bool openssl = strstr(curl->version(), " OpenSSL/") != NULL;
    return folder != NULL && openssl && is_hashed_folder(folder);
}

/* Where distributions keep the file of all certificates: Debian and Alpine, Fedora, openSUSE,
 * others. */
static const char *find_file(void)
{
    static const char *const places[] = {"/etc/ssl/certs/ca-certificates.crt",
                                         "/etc/pki/tls/certs/ca-bundle.crt",
                                         "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
                                         "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"};
    for (size_t i = 0; i < IK_LENGTH(places); i++) {
        if (access(places[i], R_OK) == 0) {
            return places[i];
        }
    }
    return NULL;
}

/* Whether libcurl was built to use a file that is not there. */
static bool lacks_file(const ik_curl_library_t *curl, CURL *easy)
{
    char *file = NULL;
#if LIBCURL_VERSION_NUM >= 0x075400
    if (curl->easy_getinfo(easy, CURLINFO_CAINFO, &file) != CURLE_OK) {
        return false;
    }
#endif
    return file != NULL && access(file, R_OK) != 0;
}

bool ik_http_certificates_apply(const ik_curl_library_t *curl, CURL *easy, bool everything)
{
    const char *bundle = setting("CURL_CA_BUNDLE");
    const char *file = bundle == NULL ? setting("SSL_CERT_FILE") : bundle;
    const char *folder = bundle == NULL ? setting("SSL_CERT_DIR") : NULL;
    if (file != NULL) {
        trust_file(curl, easy, file);
    }
    if (folder != NULL) {
        curl->easy_setopt(easy, CURLOPT_CAPATH, folder);
        curl->easy_setopt(easy, CURLOPT_PROXY_CAPATH, folder);
    }
    if (file != NULL || folder != NULL) {
        return false;
    }
    if (!everything && has_hashed_folder(curl, easy)) {
        trust_file(curl, easy, NULL);
        return true;
    }
    if (lacks_file(curl, easy)) { /* libcurl was built for another system */
        const char *found = find_file();
        if (found != NULL) {
            trust_file(curl, easy, found);
        }
    }
    return false;
}
