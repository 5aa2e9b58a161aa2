#include "io/http_head.h"

#include <string.h>
#include <strings.h>

static const char VERSION[] = "HTTP/";

void ik_http_head_init(ik_http_head_t *head, const void *ctx)
{
    *head = (ik_http_head_t){0};
    ik_buffer_init(&head->lines, ctx, IK_HTTP_HEAD_MAX);
}

static bool is_space(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n';
}

/* The status in "HTTP/1.1 200 OK"; libcurl has checked the form. */
static int parse_status(const char *line, size_t len)
{
    const char *end = line + len;
    const char *space = memchr(line, ' ', len);
    int status = 0;
    for (const char *at = space == NULL ? end : space + 1;
         at < end && *at >= '0' && *at <= '9' && status < 1000; at++) {
        status = status * 10 + (*at - '0');
    }
    return status;
}

ik_http_head_state_t ik_http_head_add(ik_http_head_t *head, const char *line, size_t len)
{
    head->total += len;
    if (head->total > IK_HTTP_HEAD_MAX) {
        return IK_HTTP_HEAD_TOO_LARGE;
    }
    while (len > 0 && is_space(line[len - 1])) {
        len--;
    }
    if (len >= strlen(VERSION) && memcmp(line, VERSION, strlen(VERSION)) == 0) {
        head->status = parse_status(line, len);
        head->lines.len = 0;
    } else if (len > 0) {
        ik_buffer_append(&head->lines, line, len);
        ik_buffer_append_byte(&head->lines, '\0');
    }
    return len == 0 && head->status >= 200 ? IK_HTTP_HEAD_COMPLETE : IK_HTTP_HEAD_MORE;
}

int ik_http_head_status(const ik_http_head_t *head)
{
    return head->status;
}

/* The next value from position *at; NULL: there is none. */
static const char *next_value(const ik_http_head_t *head, const char *name, size_t *at)
{
    size_t name_len = strlen(name);
    while (*at < head->lines.len) {
        const char *line = head->lines.data + *at;
        *at += strlen(line) + 1;
        if (strncasecmp(line, name, name_len) == 0 && line[name_len] == ':') {
            const char *value = line + name_len + 1;
            while (is_space(*value)) {
                value++;
            }
            return value;
        }
    }
    return NULL;
}

const char *ik_http_head_value(const ik_http_head_t *head, const char *name)
{
    const char *last = NULL;
    size_t at = 0;
    for (const char *each; (each = next_value(head, name, &at)) != NULL;) {
        last = each;
    }
    return last;
}

char *ik_http_head_list(const void *ctx, const ik_http_head_t *head, const char *name)
{
    ik_buffer_t list;
    size_t at = 0;
    ik_buffer_init(&list, ctx, IK_HTTP_HEAD_MAX);
    for (const char *each; (each = next_value(head, name, &at)) != NULL;) {
        ik_buffer_append_text(&list, list.len == 0 ? "" : ", ");
        ik_buffer_append_text(&list, each);
    }
    return list.len == 0 ? NULL : ik_buffer_finish(&list);
}
