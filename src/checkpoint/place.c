#include "checkpoint/place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "checkpoint/blake2b.h"

static int on_free(ik_place_t *place)
{
    if (place->root >= 0) {
        close(place->root);
    }
    if (place->slash >= 0) {
        close(place->slash);
    }
    return 0;
}

static void open_root(ik_place_t *place)
{
    place->root = open(place->folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    place->error = place->root < 0 ? errno : 0;
}

/* The path without symbolic links, except those that would lead to something that does not exist;
 * NULL when its folder does not exist. */
static char *resolve(const void *ctx, const char *path)
{
    char *real = realpath(path, NULL);
    char *above = real == NULL ? realpath(ik_file_folder(ctx, path), NULL) : NULL;
    const char *name = strrchr(path, '/');
    char *resolved = real != NULL ? ik_strdup(ctx, real)
                     : above == NULL || name == NULL
                         ? NULL
                         : ik_sprintf(ctx, "%s%s", above[1] == '\0' ? "" : above, name);
    free(above);
    free(real);
    return resolved;
}

res_t ik_place_open(const void *ctx, const char *folder, const char *blobs, const char *database,
                    ik_place_t **out)
{
    ik_place_t *place = ik_new(ctx, ik_place_t);
    place->root = -1;
    place->slash = -1;
    talloc_set_destructor(place, on_free);
    place->blobs = ik_strdup(place, blobs);
    char *parent = ik_file_folder(place, place->blobs);
    char *home = realpath(parent, NULL);
    place->own.home = home == NULL ? NULL : ik_strdup(place, home);
    free(home);
    place->own.database = database == NULL ? NULL : resolve(place, database);
    place->folder = resolve(place, folder);
    place->folder = place->folder == NULL ? ik_strdup(place, folder) : place->folder;
    open_root(place);
    place->slash = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (place->slash < 0) {
        return ERR(SYSTEM, "Cannot open /: %s", strerror(errno));
    }
    place->states = ik_states_create(place, blobs);
    place->contents = ik_contents_create(place, blobs);
    place->objects = ik_git_objects_create(place, blobs);
    *out = place;
    return OK;
}

void ik_place_make_folder(ik_place_t *place)
{
    if (mkdir(place->folder, 0777) == 0) {
        open_root(place);
    }
}

ik_git_source_t ik_place_source(const ik_entry_t *entry, const ik_state_t *owner)
{
    const ik_state_repository_t *repository = &owner->repositories[entry->repository];
    return (ik_git_source_t){.path = repository->objects,
                             .key = repository->key,
                             .object_size = ik_naming_size(entry->naming)};
}

bool ik_place_content(ik_place_t *place, const ik_entry_t *entry, const ik_state_t *owner,
                      ik_buffer_t *out)
{
    if (entry->naming == IK_NAMED_BLAKE2B) {
        return ik_contents_get(place->contents, entry->name, entry->size, out) == 0;
    }
    if (entry->naming == IK_NAMED_NOT) {
        return false;
    }
    ik_git_source_t source = ik_place_source(entry, owner);
    return ik_git_objects_read(place->objects, &source, entry->name, entry->size, out);
}

/* The name that the content would have in the store; false when it is not available. */
static bool name_content(ik_place_t *place, const ik_entry_t *entry, const ik_state_t *owner,
                         unsigned char name[IK_BLAKE2B_SIZE])
{
    if (entry->naming == IK_NAMED_BLAKE2B) {
        memcpy(name, entry->name, IK_BLAKE2B_SIZE);
        return true;
    }
    ik_buffer_t content;
    ik_buffer_init(&content, NULL, IK_BUFFER_UNLIMITED); /* bounded by the size in the state */
    bool found = ik_place_content(place, entry, owner, &content);
    if (found) {
        ik_blake2b_t hash;
        ik_blake2b_init(&hash);
        ik_blake2b_update(&hash, content.data, content.len);
        ik_blake2b_finish(&hash, name);
    }
    ik_buffer_reset(&content);
    return found;
}

bool ik_place_same(ik_place_t *place, const ik_entry_t *a, const ik_state_t *a_owner,
                   const ik_entry_t *b, const ik_state_t *b_owner)
{
    if (a->kind == IK_ENTRY_UNKEPT || b->kind == IK_ENTRY_UNKEPT) {
        return ik_entry_same_stat(a, b);
    }
    bool none = a->kind != IK_ENTRY_FILE && a->kind != IK_ENTRY_LINK;
    if (a->kind != b->kind || none) {
        return a->kind == b->kind;
    }
    if (a->kind == IK_ENTRY_FILE && ((a->mode ^ b->mode) & 07777) != 0) {
        return false;
    }
    if (a->size != b->size) {
        return false;
    }
    if (a->naming == b->naming) {
        return memcmp(a->name, b->name, ik_naming_size(a->naming)) == 0;
    }
    unsigned char a_name[IK_BLAKE2B_SIZE];
    unsigned char b_name[IK_BLAKE2B_SIZE];
    return name_content(place, a, a_owner, a_name) && name_content(place, b, b_owner, b_name) &&
           memcmp(a_name, b_name, IK_BLAKE2B_SIZE) == 0;
}
