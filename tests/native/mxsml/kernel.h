/* The kernel's half of sGPU over a tree of files: what a write to one of its attributes does to the others.
 *
 * The vendor's library, its twin and the sysfs driver all write text into files; a real kernel answers each write at
 * once, with new files or with an errno. Here the process that writes does the same: the twin calls
 * `kernel_write`, and a process with the real library preloads `preload.c`, which calls it for every `write`. */
#ifndef TANGRAM_MXSML_KERNEL_H
#define TANGRAM_MXSML_KERNEL_H

/* Whether the file at this path is an attribute that the kernel acts on. */
int kernel_has(const char *path);
/* 0, or an errno with nothing changed. */
int kernel_write(const char *path, const char *text);

#endif
