#include "tool/image_scale.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/image.h"

enum { MAX_MS = 20000, ARGS_MAX = 20 };

/* A program and its arguments for two attempts: a png within the limit of pixels, then a smaller
 * jpeg, for photographs that are too many bytes as png. */
typedef struct {
    const char *name;
    const char *args[2][ARGS_MAX];
} program_t;

#define MAGICK(size_, format_)                                                                     \
    {                                                                                              \
        "-[0]", "-auto-orient", "-resize", size_ "x" size_ ">", "-strip", format_ ":-"             \
    }
#define VIPS(size_, format_)                                                                       \
    {                                                                                              \
        "thumbnail_source", "[descriptor=0]", format_, size_, "--height", size_, "--size", "down"  \
    }
#define FFMPEG(size_, codec_)                                                                      \
    {                                                                                              \
        "-v", "error", "-i", "pipe:0", "-vf",                                                      \
            "scale=w='min(iw," size_ ")':h='min(ih," size_                                         \
            ")':force_original_aspect_ratio=decrease",                                             \
            "-frames:v", "1", "-f", "image2pipe", "-c:v", codec_, "pipe:1"                         \
    }

static const program_t programs[] = {
    {"magick", {MAGICK("2000", "png"), MAGICK("1568", "jpg")}},
    {"convert", {MAGICK("2000", "png"), MAGICK("1568", "jpg")}},
    {"vips", {VIPS("2000", ".png"), VIPS("1568", ".jpg")}},
    {"ffmpeg", {FFMPEG("2000", "png"), FFMPEG("1568", "mjpeg")}},
};

struct ik_image_scale {
    ik_process_host_t *host;
    const char *bytes;
    size_t len;
    size_t attempt; /* each program has two */
    ik_process_t *process;
    ik_timer_t *deliver; /* reports from the loop that no program is left */
    ik_image_scale_fn on_end;
    void *data;
};

/* The path of a program in PATH, on ctx; NULL: it is not installed. */
static char *find_program(const void *ctx, const char *name)
{
    const char *folders = getenv("PATH");
    while (folders != NULL && *folders != '\0') {
        size_t len = strcspn(folders, ":");
        char *path = ik_sprintf(ctx, "%.*s/%s", (int)len, folders, name);
        if (folders[0] == '/' && access(path, X_OK) == 0) {
            return path;
        }
        talloc_free(path);
        folders += len + (folders[len] == ':');
    }
    return NULL;
}

bool ik_image_scale_is_possible(void)
{
    void *scratch = talloc_new(NULL);
    bool possible = false;
    for (size_t i = 0; !possible && i < IK_LENGTH(programs); i++) {
        possible = find_program(scratch, programs[i].name) != NULL;
    }
    talloc_free(scratch);
    return possible;
}

static void attempt(ik_image_scale_t *scale);

static void on_process_end(void *data, ik_process_result_t *result)
{
    ik_image_scale_t *scale = data;
    ik_image_t image;
    scale->process = NULL; /* it frees itself */
    bool done = result->end == IK_PROCESS_EXITED && result->exit_code == 0 && result->out.len > 0 &&
                result->out.dropped == 0;
    if (done) {
        res_t checked = ik_image_check(result->out.data, result->out.len, result->out.len, &image);
        done = is_ok(&checked);
    }
    if (done) {
        scale->on_end(scale->data, result->out.data, result->out.len);
    } else {
        attempt(scale);
    }
}

static bool start(ik_image_scale_t *scale, const program_t *program, const char *const *args)
{
    void *scratch = talloc_new(NULL);
    const char *argv[ARGS_MAX + 2] = {find_program(scratch, program->name)};
    for (size_t i = 0; args[i] != NULL; i++) {
        argv[i + 1] = args[i];
    }
    ik_process_options_t options = {
        .argv = argv,
        .folder = "/",
        .input = scale->bytes,
        .input_len = scale->len,
        .max_out = IK_IMAGE_BYTES_MAX,
        .stop_when_full = true,
        .idle_ms = MAX_MS,
        .max_ms = MAX_MS,
        .on_end = on_process_end,
        .data = scale,
    };
    res_t started = argv[0] == NULL
                        ? ERR(NOT_FOUND, "not installed")
                        : ik_process_start(scale, scale->host, &options, &scale->process);
    talloc_free(scratch);
    return is_ok(&started);
}

static void attempt(ik_image_scale_t *scale)
{
    while (scale->attempt < 2 * IK_LENGTH(programs)) {
        const program_t *program = &programs[scale->attempt / 2];
        const char *const *args = program->args[scale->attempt % 2];
        scale->attempt++;
        if (start(scale, program, args)) {
            return;
        }
    }
    ik_timer_start(scale->deliver, 0);
}

static void on_deliver(void *data)
{
    ik_image_scale_t *scale = data;
    scale->on_end(scale->data, NULL, 0);
}

static void on_room(void *data, ik_process_host_t *room)
{
    ik_image_scale_t *scale = data;
    if (room != NULL) {
        scale->host = room;
    }
    attempt(scale);
}

ik_image_scale_t *ik_image_scale_start(const void *ctx, ik_process_host_t *host,
                                       ik_confinement_t *confinement, const char *bytes, size_t len,
                                       ik_image_scale_fn on_end, void *data)
{
    ik_image_scale_t *scale = ik_new(ctx, ik_image_scale_t);
    scale->host = host;
    scale->bytes = bytes;
    scale->len = len;
    scale->on_end = on_end;
    scale->data = data;
    scale->deliver = ik_timer_create(scale, ik_process_host_loop(host), on_deliver, scale);
    if (confinement == NULL) {
        attempt(scale);
    } else {
        ik_confinement_prepare(scale, confinement, (ik_effects_t){.write = IK_WRITE_NONE}, on_room,
                               scale);
    }
    return scale;
}
