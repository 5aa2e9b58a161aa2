#include "workspace/project_review.h"

#include <sys/stat.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "mcp/mcp.h"
#include "tool/tool_review_contents.h"

static bool is_pending(const ik_project_review_part_t *part)
{
    return part->status->state == IK_TRUST_NEVER || part->status->state == IK_TRUST_CHANGED;
}

static void add(ik_project_review_t *review, const ik_paths_t *paths, ik_extension_kind_t kind,
                bool servers, const char *folder)
{
    ik_trust_status_t *status = ik_trust_check(review, paths, folder);
    if (status->state == IK_TRUST_ABSENT) {
        talloc_free(status);
        return;
    }
    review->parts =
        ik_resize_array(review, review->parts, ik_project_review_part_t, review->count + 1);
    ik_project_review_part_t *part = &review->parts[review->count++];
    *part = (ik_project_review_part_t){
        .kind = kind, .servers = servers, .folder = ik_strdup(review, folder), .status = status};
    review->pending += is_pending(part);
}

ik_project_review_t *ik_project_review_create(const void *ctx, const ik_paths_t *paths)
{
    /* Tools first: they were the first that a project could add. */
    static const ik_extension_kind_t order[IK_EXTENSION_KINDS] = {
        IK_EXTENSION_TOOL, IK_EXTENSION_HOOK, IK_EXTENSION_COMMAND, IK_EXTENSION_SKILL,
        IK_EXTENSION_AGENT};
    ik_project_review_t *review = ik_new(ctx, ik_project_review_t);
    for (size_t i = 0; i < IK_EXTENSION_KINDS; i++) {
        ik_extension_folders_t *found = ik_extension_folders_find(review, paths, order[i]);
        for (size_t j = 0; j < found->count; j++) {
            if (found->folders[j].of_project) {
                add(review, paths, order[i], false, found->folders[j].path);
            }
        }
        talloc_free(found);
    }
    char *servers = ik_mcp_project_file(review, paths);
    add(review, paths, (ik_extension_kind_t)IK_EXTENSION_KINDS, true, servers);
    talloc_free(servers);
    if (review->count > 0 && review->parts[0].kind == IK_EXTENSION_TOOL) {
        review->tools = &review->parts[0];
    }
    return review;
}

char *ik_project_review_own(const void *ctx, const ik_paths_t *paths)
{
    struct stat own;
    struct stat tools;
    bool is_own = paths->project_tools == NULL ||
                  (stat(paths->user_tools, &own) == 0 && stat(paths->project_tools, &tools) == 0 &&
                   own.st_dev == tools.st_dev && own.st_ino == tools.st_ino);
    return is_own
               ? ik_sprintf(ctx, "%s holds your own tools, which need no trust.", paths->user_tools)
               : NULL;
}

char *ik_project_review_obstacle(const void *ctx, const ik_paths_t *paths,
                                 const ik_project_review_t *review, bool *refused)
{
    *refused = false;
    if (review->pending > 0) {
        return NULL;
    }
    for (size_t i = 0; i < review->count; i++) {
        const ik_project_review_part_t *part = &review->parts[i];
        if (part->status->state == IK_TRUST_REFUSED) {
            *refused = true;
            return ik_tool_review_obstacle(ctx, part->folder, part->status);
        }
    }
    if (review->count > 0) {
        return ik_strdup(ctx, "Already trusted.");
    }
    char *own = ik_project_review_own(ctx, paths);
    return own != NULL ? own
                       : ik_sprintf(ctx,
                                    "There are no tools in %s, and no hooks, commands, skills, "
                                    "agents or servers of this project.",
                                    paths->project_tools);
}

static char *format_servers(const void *ctx, const ik_project_review_part_t *part)
{
    char *servers = ik_mcp_format_review(ctx, part->folder);
    char *text = ik_sprintf(ctx, "%s starts or contacts these servers:\n%s", part->folder, servers);
    talloc_free(servers);
    return text;
}

char *ik_project_review_format(const void *ctx, const ik_project_review_t *review,
                               const ik_tool_registry_t *registry)
{
    ik_buffer_t out;
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED); /* bounded by the snapshots */
    for (size_t i = 0; i < review->count; i++) {
        const ik_project_review_part_t *part = &review->parts[i];
        if (is_pending(part)) {
            bool tools = part->kind == IK_EXTENSION_TOOL;
            char *text = tools ? ik_tool_review_format(ctx, part->status, registry)
                         : part->servers
                             ? format_servers(ctx, part)
                             : ik_tool_review_format_files(ctx, part->status,
                                                           ik_extension_kind_name(part->kind));
            ik_buffer_append_text(&out, text);
            talloc_free(text);
        } else if (part->status->state == IK_TRUST_REFUSED) {
            char *text = ik_tool_review_obstacle(ctx, part->folder, part->status);
            ik_buffer_append_format(&out, "%s\n", text);
            talloc_free(text);
        }
    }
    return ik_buffer_finish(&out);
}

char *ik_project_review_contents(const void *ctx, const ik_paths_t *paths,
                                 const ik_project_review_t *review)
{
    ik_buffer_t out;
    ik_buffer_init(&out, ctx, IK_BUFFER_UNLIMITED); /* each part has a limit */
    ik_buffer_append_text(&out, "");
    for (size_t i = 0; i < review->count; i++) {
        const ik_project_review_part_t *part = &review->parts[i];
        if (!is_pending(part)) {
            continue;
        }
        if (part->kind != IK_EXTENSION_TOOL || review->pending > 1) {
            char *folder = ik_tool_review_show_name(ctx, part->folder);
            ik_buffer_append_format(&out, "%s##### %s\n", out.len == 0 ? "" : "\n", folder);
            talloc_free(folder);
        }
        char *text = ik_tool_review_contents(ctx, paths, part->status);
        ik_buffer_append_text(&out, text);
        talloc_free(text);
    }
    return ik_buffer_finish(&out);
}

res_t ik_project_review_grant(const ik_paths_t *paths, const ik_project_review_t *review)
{
    for (size_t i = 0; i < review->count; i++) {
        if (is_pending(&review->parts[i])) {
            TRY(ik_trust_grant(paths, review->parts[i].status->snapshot));
        }
    }
    return OK;
}

res_t ik_project_review_revoke(const ik_paths_t *paths, bool *known)
{
    void *scratch = talloc_new(NULL);
    res_t revoked = ik_trust_revoke(paths, ik_mcp_project_file(scratch, paths), known);
    for (size_t kind = 0; kind < IK_EXTENSION_KINDS; kind++) {
        ik_extension_folders_t *places =
            ik_extension_folders_list_project(scratch, paths, (ik_extension_kind_t)kind);
        for (size_t i = 0; is_ok(&revoked) && i < places->count; i++) {
            bool one;
            revoked = ik_trust_revoke(paths, places->folders[i].path, &one);
            *known = *known || (is_ok(&revoked) && one);
        }
    }
    talloc_free(scratch);
    return revoked;
}
