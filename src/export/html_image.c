#include "export/html_image.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/base64.h"
#include "base/image.h"
#include "export/html_escape.h"

/* A browser shows these kinds without running anything in them. */
static void append_picture(ik_buffer_t *out, const ik_msg_image_t *image, const char *folder)
{
    char *bytes;
    size_t len;
    res_t read = ik_blob_get(NULL, folder, image->sha256.hex, IK_IMAGE_BYTES_MAX, &bytes, &len);
    if (is_err(&read)) {
        return;
    }
    ik_buffer_append_format(out, "<img src=\"data:%s;base64,", image->media_type);
    ik_base64_append(out, bytes, len);
    ik_buffer_append_format(out, "\" width=\"%" PRIu32 "\" height=\"%" PRIu32 "\" alt=\"",
                            image->width, image->height);
    ik_html_escape_attribute(out, image->name, strlen(image->name));
    ik_buffer_append_text(out, "\">\n");
    talloc_free(bytes);
}

void ik_html_image_append(ik_buffer_t *out, const ik_transcript_entry_t *entry, const char *folder)
{
    for (size_t i = 0; i < entry->image_count; i++) {
        char *caption = ik_msg_image_describe(NULL, &entry->images[i]);
        ik_buffer_append_text(out, "<figure>\n");
        if (folder != NULL) {
            append_picture(out, &entry->images[i], folder);
        }
        ik_buffer_append_text(out, "<figcaption>");
        ik_html_escape_text(out, caption);
        ik_buffer_append_text(out, "</figcaption>\n</figure>\n");
        talloc_free(caption);
    }
}
