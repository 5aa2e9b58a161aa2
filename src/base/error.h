/*
 * Results by value. An error is a code and a bounded message; it needs no freeing and can be
 * returned through any number of layers. Low layers return errors and never print them.
 */
#pragma once

#include <stdbool.h>

typedef enum {
    IK_ERR_NONE = 0,
    IK_ERR_INVALID,   /* the input is wrong: syntax, type, range */
    IK_ERR_NOT_FOUND, /* the thing named does not exist */
    IK_ERR_DENIED,    /* permission, ownership or trust forbids it */
    IK_ERR_LIMIT,     /* a stated bound would be exceeded */
    IK_ERR_CONFLICT,  /* the thing changed meanwhile, or exists already */
    IK_ERR_SYSTEM,    /* a system call failed; the message contains strerror */
    IK_ERR_GONE,      /* the other side does not answer, or no longer */
    IK_ERR_DAMAGED,   /* stored data cannot be read */
} ik_error_code_t;

typedef struct {
    ik_error_code_t code;
    char message[508];
} res_t;

#define OK ((res_t){.code = IK_ERR_NONE})
#define ERR(code_, ...) ik_error_make(IK_ERR_##code_, __VA_ARGS__)

/* Returns from the calling function when expr failed. */
#define TRY(expr)                                                                                  \
    do {                                                                                           \
        res_t try_result_ = (expr);                                                                \
        if (is_err(&try_result_)) {                                                                \
            return try_result_;                                                                    \
        }                                                                                          \
    } while (0)

/* Formats the message, truncated to its maximum. */
res_t ik_error_make(ik_error_code_t code, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static inline bool is_ok(const res_t *result)
{
    return result->code == IK_ERR_NONE;
}

static inline bool is_err(const res_t *result)
{
    return result->code != IK_ERR_NONE;
}

/* For broken invariants: prints the place and the message to stderr and aborts. */
#define PANIC(...) ik_error_panic(__FILE__, __LINE__, __VA_ARGS__)
_Noreturn void ik_error_panic(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
