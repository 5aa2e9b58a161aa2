/*
 * libpq, loaded at run time: only a shared history needs it, and it brings a dozen libraries. Its
 * header is not needed to build; the part of the stable libpq.so.5 interface that we use is
 * declared here.
 */
#pragma once

#include "base/error.h"

/* PGconn and PGresult. */
typedef struct ik_pq_conn ik_pq_conn_t;
typedef struct ik_pq_result ik_pq_result_t;

/* PQconninfoOption: one parameter of a connection URL. */
typedef struct {
    char *keyword;
    char *envvar;
    char *compiled;
    char *val; /* NULL: not in the URL */
    char *label;
    char *dispchar;
    int dispsize;
} ik_pq_option_t;

typedef void (*ik_pq_notice_fn)(void *data, const ik_pq_result_t *notice);

/* The values are libpq's. */
enum { IK_PQ_CONNECTION_OK = 0, IK_PQ_CONNECTION_BAD = 1 };
enum { IK_PQ_POLLING_FAILED = 0, IK_PQ_POLLING_READING = 1, IK_PQ_POLLING_OK = 3 };
enum { IK_PQ_COMMAND_OK = 1, IK_PQ_TUPLES_OK = 2 };
enum { IK_PQ_ERRORS_VERBOSE = 2 };
enum { IK_PQ_FORMAT_TEXT = 0, IK_PQ_FORMAT_BINARY = 1 };
enum { IK_PQ_FIELD_SEVERITY = 'V', IK_PQ_FIELD_STATE = 'C', IK_PQ_FIELD_MESSAGE = 'M' };

/* Result, name without PQ, and parameters of each function. */
#define IK_PQ_LIBRARY_CALLS(X)                                                                     \
    X(void, clear, ik_pq_result_t *result)                                                         \
    X(int, connectPoll, ik_pq_conn_t *conn)                                                        \
    X(ik_pq_conn_t *, connectStartParams, const char *const *keywords, const char *const *values,  \
      int expand_dbname)                                                                           \
    X(int, connectionNeedsPassword, const ik_pq_conn_t *conn)                                      \
    X(void, conninfoFree, ik_pq_option_t *options)                                                 \
    X(ik_pq_option_t *, conninfoParse, const char *url, char **problem)                            \
    X(int, consumeInput, ik_pq_conn_t *conn)                                                       \
    X(char *, db, const ik_pq_conn_t *conn)                                                        \
    X(char *, errorMessage, const ik_pq_conn_t *conn)                                              \
    X(void, finish, ik_pq_conn_t *conn)                                                            \
    X(int, flush, ik_pq_conn_t *conn)                                                              \
    X(void, freemem, void *memory)                                                                 \
    X(int, getisnull, const ik_pq_result_t *result, int row, int column)                           \
    X(ik_pq_result_t *, getResult, ik_pq_conn_t *conn)                                             \
    X(char *, getvalue, const ik_pq_result_t *result, int row, int column)                         \
    X(int, isBusy, ik_pq_conn_t *conn)                                                             \
    X(int, libVersion, void)                                                                       \
    X(int, ntuples, const ik_pq_result_t *result)                                                  \
    X(const char *, parameterStatus, const ik_pq_conn_t *conn, const char *name)                   \
    X(char *, resultErrorField, const ik_pq_result_t *result, int field)                           \
    X(int, resultStatus, const ik_pq_result_t *result)                                             \
    X(int, sendPrepare, ik_pq_conn_t *conn, const char *name, const char *sql, int count,          \
      const unsigned *types)                                                                       \
    X(int, sendQueryParams, ik_pq_conn_t *conn, const char *sql, int count, const unsigned *types, \
      const char *const *values, const int *lengths, const int *formats, int result_format)        \
    X(int, sendQueryPrepared, ik_pq_conn_t *conn, const char *name, int count,                     \
      const char *const *values, const int *lengths, const int *formats, int result_format)        \
    X(int, setErrorVerbosity, ik_pq_conn_t *conn, int verbosity)                                   \
    X(int, setnonblocking, ik_pq_conn_t *conn, int on)                                             \
    X(ik_pq_notice_fn, setNoticeReceiver, ik_pq_conn_t *conn, ik_pq_notice_fn on_notice,           \
      void *data)                                                                                  \
    X(int, socket, const ik_pq_conn_t *conn)                                                       \
    X(int, status, const ik_pq_conn_t *conn)                                                       \
    X(char *, user, const ik_pq_conn_t *conn)

/* library->connectPoll is PQconnectPoll. */
typedef struct {
#define IK_PQ_LIBRARY_MEMBER(result_, name_, ...) result_ (*(name_))(__VA_ARGS__);
    IK_PQ_LIBRARY_CALLS(IK_PQ_LIBRARY_MEMBER)
#undef IK_PQ_LIBRARY_MEMBER
} ik_pq_library_t;

/* The first call loads the library, which stays loaded. Can be called from any thread.
 * IK_ERR_NOT_FOUND, also from later calls, when there is no usable libpq. */
res_t ik_pq_library_load(const ik_pq_library_t **out);
