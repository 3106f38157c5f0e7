/* Put before the real library by LD_PRELOAD: its writes to sGPU's attributes reach the stand-in of the kernel.
 *
 * A file of sysfs is not emptied when it is opened, so it is opened here without that. */
#define _GNU_SOURCE
#include "kernel.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

static __thread int inside;

typedef FILE *(*Open)(const char *, const char *);

static FILE *opened(const char *name, const char *path, const char *mode) {
    Open next = (Open)dlsym(RTLD_NEXT, name);
    char full[4096];
    int ours = !inside && mode[0] == 'w' && realpath(path, full) && kernel_has(full);
    return next(path, ours ? "r+" : mode);
}

FILE *fopen(const char *path, const char *mode) { return opened("fopen", path, mode); }
FILE *fopen64(const char *path, const char *mode) { return opened("fopen64", path, mode); }

/* Whether the file behind this descriptor is the kernel's; then the answer is in `failure`. */
static int answered(int file, const char *text, size_t size, int *failure) {
    char link[64], path[4096], copy[512];
    if (inside || file <= 2) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length <= 0) return 0;
    path[length] = 0;
    inside = 1;
    int ours = kernel_has(path);
    if (ours) {
        snprintf(copy, sizeof copy, "%.*s", (int)(size < sizeof copy ? size : sizeof copy - 1), text);
        *failure = kernel_write(path, copy);
    }
    inside = 0;
    return ours;
}

ssize_t write(int file, const void *from, size_t size) {
    static ssize_t (*next)(int, const void *, size_t);
    int failure, before = errno;
    if (!next) next = (ssize_t(*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
    if (!answered(file, from, size, &failure)) {
        errno = before;
        return next(file, from, size);
    }
    errno = failure ? failure : before;
    return failure ? -1 : (ssize_t)size;
}

ssize_t writev(int file, const struct iovec *parts, int count) {
    static ssize_t (*next)(int, const struct iovec *, int);
    char text[512];
    size_t size = 0;
    int failure, before = errno;
    if (!next) next = (ssize_t(*)(int, const struct iovec *, int))dlsym(RTLD_NEXT, "writev");
    for (int at = 0; at < count && size + parts[at].iov_len < sizeof text; at++) {
        memcpy(text + size, parts[at].iov_base, parts[at].iov_len);
        size += parts[at].iov_len;
    }
    if (!answered(file, text, size, &failure)) {
        errno = before;
        return next(file, parts, count);
    }
    errno = failure ? failure : before;
    return failure ? -1 : (ssize_t)size;
}
