#define _GNU_SOURCE
#include "rules.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_RULES 64

typedef struct { char call[64], fifo[256]; long code; int device, times, after; } Rule;

Quirks quirks;

static Rule rules[MOST_RULES];
static int rule_count, fixed;
static struct stat last;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static const char *word(const char *line, const char *key) {
    static char found[256];
    size_t length = strlen(key);
    for (const char *at = line; (at = strstr(at, key)); at += length)
        if (at > line && at[-1] == ' ' && at[length] == '=') {
            snprintf(found, sizeof found, "%.*s", (int)strcspn(at + length + 1, " \n"), at + length + 1);
            return found;
        }
    return NULL;
}

static long number(const char *line, const char *key, long otherwise) {
    const char *found = word(line, key);
    return found ? strtol(found, NULL, 0) : otherwise;
}

static void read_quirk(const char *name) {
    quirks.huge_counts |= strcmp(name, "huge-counts") == 0;
    quirks.unterminated |= strcmp(name, "unterminated") == 0;
    quirks.grown |= strcmp(name, "grown") == 0;
    quirks.rounds_memory |= strcmp(name, "rounds-memory") == 0;
    quirks.stays_offline |= strcmp(name, "stays-offline") == 0;
}

static void read_rule(const char *line) {
    const char *name;
    if (strncmp(line, "fixed", 5) == 0) fixed = 1;
    if (strncmp(line, "quirk ", 6) == 0 && (name = word(line, "name"))) read_quirk(name);
    if ((strncmp(line, "fault ", 6) != 0 && strncmp(line, "block ", 6) != 0) || rule_count == MOST_RULES) return;
    Rule *rule = &rules[rule_count++];
    memset(rule, 0, sizeof *rule);
    if ((name = word(line, "call"))) snprintf(rule->call, sizeof rule->call, "%s", name);
    if ((name = word(line, "fifo"))) snprintf(rule->fifo, sizeof rule->fifo, "%s", name);
    rule->code = number(line, "code", 0);
    rule->device = (int)number(line, "device", -1);
    rule->times = (int)number(line, "times", -1);
    rule->after = (int)number(line, "after", 0);
}

static void refresh(void) {
    struct stat now;
    char line[1024];
    const char *path = getenv("TANGRAM_MXSML_RULES");
    if (fixed || !path || stat(path, &now) != 0) return;
    if (now.st_ino == last.st_ino && now.st_mtim.tv_nsec == last.st_mtim.tv_nsec && now.st_size == last.st_size) return;
    FILE *file = fopen(path, "r");
    if (!file) return;
    last = now;
    rule_count = 0;
    memset(&quirks, 0, sizeof quirks);
    while (fgets(line, sizeof line, file)) read_rule(line);
    fclose(file);
}

static void wait_at(const char *fifo) {
    char ignored;
    int descriptor = open(fifo, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return;
    while (read(descriptor, &ignored, 1) > 0) {}
    close(descriptor);
}

long check(const char *call, int device) {
    char fifo[256] = "";
    long code = -1;
    pthread_mutex_lock(&lock);
    refresh();
    for (int at = 0; at < rule_count; at++) {
        Rule *rule = &rules[at];
        if (strcmp(rule->call, call) != 0 || rule->times == 0) continue;
        if (rule->device >= 0 && rule->device != device) continue;
        if (rule->after > 0) {
            rule->after--;
            continue;
        }
        if (rule->times > 0) rule->times--;
        if (rule->fifo[0]) snprintf(fifo, sizeof fifo, "%s", rule->fifo);
        else code = rule->code;
        break;
    }
    pthread_mutex_unlock(&lock);
    if (fifo[0]) wait_at(fifo);
    return code;
}
