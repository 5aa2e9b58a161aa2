#include <string.h>
#include <sys/utsname.h>

#include "base/alloc.h"
#include "base/config_secret.h"
#include "base/file.h"
#include "cli/cli_doctor.h"

/* --- what is missing --------------------------------------------------------------------- */

/* Whether a setting of the kernel exists and has this value. */
static bool setting_is(const char *path, const char *value)
{
    enum { SETTING_MAX = 64 };
    char *text;
    size_t len;
    void *scratch = talloc_new(NULL);
    res_t read = ik_file_read(scratch, path, SETTING_MAX, &text, &len);
    bool same = is_ok(&read) && strcspn(text, "\n") == strlen(value) &&
                strncmp(text, value, strlen(value)) == 0;
    talloc_free(scratch);
    return same;
}

/* What keeps namespaces from working, and how to change it. */
static const char *explain_namespaces(const void *ctx, const ik_confinement_facts_t *facts)
{
    if (setting_is("/proc/sys/user/max_user_namespaces", "0")) {
        return "user namespaces are switched off (user.max_user_namespaces is 0): as root, run "
               "sysctl -w user.max_user_namespaces=10000";
    }
    if (setting_is("/proc/sys/kernel/unprivileged_userns_clone", "0")) {
        return "user namespaces are for root only (kernel.unprivileged_userns_clone is 0): as "
               "root, run sysctl -w kernel.unprivileged_userns_clone=1";
    }
    if (setting_is("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1")) {
        return "AppArmor restricts user namespaces (kernel.apparmor_restrict_unprivileged_userns "
               "is 1): install the AppArmor profile of ikigai's package, or, as root, run sysctl "
               "-w kernel.apparmor_restrict_unprivileged_userns=0";
    }
    return ik_sprintf(ctx,
                      "%s: in a container, allow it with --security-opt seccomp=unconfined "
                      "--security-opt apparmor=unconfined --security-opt systempaths=unconfined "
                      "(podman: --security-opt unmask=ALL)",
                      facts->cause);
}

static void add_missing(json_t *missing, const char *text)
{
    json_array_append_new(missing, json_string(text));
}

static json_t *list_missing(const void *ctx, const ik_confinement_facts_t *facts)
{
    json_t *missing = json_array();
    if (facts->landlock_abi == 0) {
        add_missing(missing, "Landlock: it needs Linux 5.13 or later with "
                             "CONFIG_SECURITY_LANDLOCK, and landlock in the boot parameter lsm= if "
                             "there is one");
    }
    if (!facts->seccomp) {
        add_missing(missing, "seccomp: it needs a kernel with CONFIG_SECCOMP_FILTER");
    }
    bool explained = json_array_size(missing) > 0 && facts->user_namespaces;
    if (facts->level != IK_CONFINEMENT_FULL && !explained) {
        add_missing(missing, explain_namespaces(ctx, facts));
    }
    return missing;
}

/* --- the section ------------------------------------------------------------------------- */

typedef struct {
    ik_confinement_facts_t facts;
    bool known;
} detected_t;

static void on_known(void *data, const ik_confinement_facts_t *facts)
{
    detected_t *detected = data;
    detected->facts = *facts;
    detected->known = true;
}

static void report_held_back(ik_cli_doctor_t *doctor)
{
    const char **names = ik_config_secret_list_held_back(doctor->cli->ctx, doctor->cli->config);
    json_t *list = json_array();
    ik_cli_doctor_say("  held back from tools%s", *names == NULL ? ": no variable" : ":");
    for (; *names != NULL; names++) {
        json_t *name = json_string(*names); /* NULL when it is not UTF-8 */
        json_array_append_new(list, name == NULL ? json_string("?") : name);
        ik_cli_doctor_say("    %s", *names);
    }
    if (doctor->report != NULL) {
        json_object_set(doctor->report, "held_back", list);
    }
    json_decref(list);
}

void ik_cli_doctor_confinement(ik_cli_doctor_t *doctor)
{
    ik_cli_t *cli = doctor->cli;
    detected_t detected = {0};
    struct utsname system;
    uname(&system);
    ik_confinement_detect(cli->ctx, cli->confinement, on_known, &detected);
    ik_loop_run_until(cli->loop, &detected.known);
    const ik_confinement_facts_t *facts = &detected.facts;
    const char *level = ik_confinement_level_name(facts->level);
    json_t *missing = list_missing(cli->ctx, facts);
    ik_cli_doctor_begin(doctor, "Confinement");
    ik_cli_doctor_say("  level            %s", level);
    ik_cli_doctor_say("  kernel           %s %s", system.sysname, system.release);
    ik_cli_doctor_say(
        "  Landlock         %s",
        facts->landlock_abi == 0 ? "no" : ik_sprintf(cli->ctx, "yes, ABI %d", facts->landlock_abi));
    ik_cli_doctor_say("  user namespaces  %s", facts->user_namespaces ? "yes" : "no");
    ik_cli_doctor_say("  seccomp          %s", facts->seccomp ? "yes" : "no");
    for (size_t i = 0; i < json_array_size(missing); i++) {
        ik_cli_doctor_say("  missing          %s", json_string_value(json_array_get(missing, i)));
    }
    if (facts->level != IK_CONFINEMENT_FULL &&
        cli->config->confinement == IK_CONFIG_CONFINEMENT_REQUIRED) {
        ik_cli_doctor_complain(doctor,
                               "the configuration requires confinement, and its level is %s: no "
                               "agent and no tool can run",
                               level);
    }
    if (doctor->report != NULL) {
        json_object_set_new(doctor->report, "confinement",
                            json_pack("{s:s, s:s, s:i, s:b, s:b, s:O}", "level", level, "kernel",
                                      system.release, "landlock_abi", facts->landlock_abi,
                                      "user_namespaces", facts->user_namespaces, "seccomp",
                                      facts->seccomp, "missing", missing));
    }
    json_decref(missing);
    report_held_back(doctor);
}
