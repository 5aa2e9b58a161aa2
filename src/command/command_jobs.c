/* /jobs: lists the commands that run in the background, and ends one of them. */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "command/command_list.h"
#include "conversation/figure.h"

static const char *format_state(const void *ctx, const ik_workspace_job_t *job)
{
    return job->running          ? "running"
           : job->exit_code >= 0 ? ik_sprintf(ctx, "ended, exit code %d", job->exit_code)
                                 : "ended";
}

static void end(ik_command_host_t *host, const char *id)
{
    char *line;
    if (ik_workspace_end_job(host->workspace, id)) {
        line = ik_sprintf(NULL, "Ending job %s.", id);
        host->screen->print_line(host, line);
    } else {
        line = ik_sprintf(NULL, "No job '%s' is running. /jobs lists them.", id);
        host->screen->fail(host, line);
    }
    talloc_free(line);
}

static void on_taken(void *data, const char *id, bool second)
{
    (void)second;
    if (id != NULL) {
        end(data, id);
    }
}

/* Rows: id, state, time, command. Those that have ended are printed: there is nothing to do with
 * them. */
static void list(ik_command_host_t *host, const void *ctx)
{
    ik_workspace_job_t job;
    size_t running = 0;
    ik_choice_row_t *rows =
        ik_new_array(ctx, ik_choice_row_t, ik_workspace_jobs_running(host->workspace) + 1);
    size_t count = 0;
    for (; ik_workspace_job_at(host->workspace, count, &job); count++) {
        const char *time = ik_figure_of_duration(job.seconds * 1000).text;
        if (job.running) {
            rows[running++] = (ik_choice_row_t){
                .text = ik_strdup(rows, job.id),
                .note = ik_sprintf(rows, "running\t%s\t%s", time, job.command),
                .also = ik_strdup(rows, job.command),
            };
        } else {
            host->screen->print_line(host, ik_sprintf(ctx, "%s  %s  %s  %s", job.id,
                                                      format_state(ctx, &job), time, job.command));
        }
    }
    if (count == 0) {
        host->screen->print_line(host, "No jobs. bash starts one with background: true.");
    } else if (running > 0) {
        host->screen->open_list(host, &(ik_view_list_options_t){.title = "Jobs",
                                                                .hint = "Enter ends the job",
                                                                .rows = rows,
                                                                .count = running,
                                                                .on_taken = on_taken,
                                                                .data = host});
    }
}

static void run(ik_command_host_t *host, const ik_command_args_t *args)
{
    if (args->count == 0) {
        list(host, args);
    } else if (args->count == 2 && strcmp(args->words[0], "end") == 0) {
        end(host, args->words[1]);
    } else {
        ik_command_misuse(host, &ik_command_jobs, NULL);
    }
}

static void complete(ik_command_host_t *host, int word, ik_command_words_t *out)
{
    ik_workspace_job_t job;
    if (word == 1) {
        ik_command_words_add(out, "end", "ends a job");
    }
    for (size_t i = 0; word == 2 && ik_workspace_job_at(host->workspace, i, &job); i++) {
        if (job.running) {
            ik_command_words_add(out, job.id, job.command);
        }
    }
}

const ik_command_t ik_command_jobs = {
    .name = "jobs",
    .usage = "[end JOB]",
    .help = "Lists the commands in the background, and ends one of them.",
    .max_args = 2,
    .run = run,
    .complete = complete,
};
