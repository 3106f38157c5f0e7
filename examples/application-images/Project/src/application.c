/* Stands for an application: says what of MetaX's a container sees. It is linked with nothing of MXMACA, so that it can
 * be built and started anywhere; a real one would be, and would find the libraries in /opt/maca/lib either way. */
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void told(const char *what, const char *path)
{
    char target[4096];
    ssize_t length = readlink(path, target, sizeof target - 1);

    if (length >= 0) {
        target[length] = '\0';
        printf("%s: %s -> %s\n", what, path, target);
    } else {
        printf("%s: %s\n", what, access(path, F_OK) == 0 ? path : "none");
    }
}

static int cards(void)
{
    int count = 0;
    DIR *folder = opendir("/dev/dri");

    if (folder == NULL)
        return 0;
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder))
        count += strncmp(entry->d_name, "renderD", strlen("renderD")) == 0;
    closedir(folder);
    return count;
}

int main(void)
{
    told("MXMACA", "/opt/maca");
    told("driver's programs", "/opt/mxdriver");
    told("control device", "/dev/mxcd");
    printf("render nodes: %d\n", cards());
    return 0;
}
