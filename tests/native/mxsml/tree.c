#define _GNU_SOURCE
#include "tree.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PATH_OF(name)                            \
    char name[PATH_SIZE];                        \
    va_list words_;                              \
    va_start(words_, path);                      \
    vsnprintf(name, sizeof name, path, words_);  \
    va_end(words_)

const char *sysfs(void) {
    const char *named = getenv("TANGRAM_MXSML_SYSFS");
    return named && *named ? named : "/sys";
}

int is_there(const char *path, ...) {
    PATH_OF(full);
    return access(full, F_OK) == 0;
}

static int slurp(char *to, size_t size, const char *path) {
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return -1;
    size_t length = 0;
    ssize_t more;
    while (length < size - 1 && (more = read(file, to + length, size - 1 - length)) > 0) length += (size_t)more;
    close(file);
    to[length] = 0;
    return (int)length;
}

int read_text(char *to, size_t size, const char *path, ...) {
    PATH_OF(full);
    return slurp(to, size, full);
}

long read_number(long otherwise, const char *path, ...) {
    PATH_OF(full);
    char text[TEXT_SIZE];
    long found;
    if (slurp(text, sizeof text, full) < 0) return otherwise;
    text[strcspn(text, "\n")] = 0;
    return number_in(text, 10, &found) ? found : 0;
}

int write_text(const char *text, const char *path, ...) {
    PATH_OF(full);
    int file = open(full, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (file < 0) return errno;
    size_t length = strlen(text);
    /* Past any `write` put before this one: what the kernel writes is no message to the kernel. */
    int failure = syscall(SYS_write, file, text, length) == (long)length ? 0 : errno;
    close(file);
    return failure;
}

int number_in(const char *line, int base, long *found) {
    const char *label = strrchr(line, ':');
    const char *at = label ? label + 1 : line;
    char *end;
    while (isspace((unsigned char)*at)) at++;
    errno = 0;
    long number = strtol(at, &end, base);
    if (end == at) return 0;
    *found = number;
    return 1;
}

int line_of(const char *text, int at, char *to, size_t size) {
    for (; *text; text += strcspn(text, "\n"), text += *text == '\n')
        if (at-- == 0) {
            snprintf(to, size, "%.*s", (int)strcspn(text, "\n"), text);
            return 1;
        }
    return 0;
}

int value_of(const char *text, const char *key, char *to, size_t size) {
    char line[512];
    size_t length = strlen(key);
    for (int at = 0; line_of(text, at, line, sizeof line); at++) {
        if (strncmp(line, key, length) != 0 || (line[length] != ' ' && line[length] != ':')) continue;
        const char *value = line + length;
        while (*value == ' ' || *value == ':') value++;
        snprintf(to, size, "%s", value);
        return 1;
    }
    return 0;
}
