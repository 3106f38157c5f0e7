/* Files of sysfs, read and written as text. Every path is a format, as printf takes it. */
#ifndef TANGRAM_MXSML_TREE_H
#define TANGRAM_MXSML_TREE_H

#include <stddef.h>

#define PATH_SIZE 1024
#define TEXT_SIZE 4096

/* Where sysfs is: TANGRAM_MXSML_SYSFS, or /sys. Asked each time, for a test may name another one. */
const char *sysfs(void);

int is_there(const char *path, ...) __attribute__((format(printf, 1, 2)));
/* The length, -1 for a file that cannot be read. What is read ends in a zero. */
int read_text(char *to, size_t size, const char *path, ...) __attribute__((format(printf, 3, 4)));
/* The first number of a file behind any label, 0 where there is a file without one; `otherwise` where there is none. */
long read_number(long otherwise, const char *path, ...) __attribute__((format(printf, 2, 3)));
/* 0, or an errno. */
int write_text(const char *text, const char *path, ...) __attribute__((format(printf, 2, 3)));

/* The number behind the last colon of a line, or at its beginning. Whether there is one. */
int number_in(const char *line, int base, long *found);
/* Line number `at` of a text, without its end; whether there is such a line. */
int line_of(const char *text, int at, char *to, size_t size);
/* The value of `key` in lines of "key value" or "key: value". */
int value_of(const char *text, const char *key, char *to, size_t size);

#endif
