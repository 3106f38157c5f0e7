#define _GNU_SOURCE
#include "kernel.h"

#include "tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_SLICES 16
#define STEP_MB 128
#define ALL_COMPUTE 100
#define FIRST_SLICE_NODE 1000
#define NOT_A_SLICE -1

typedef struct {
    char root[PATH_SIZE / 4], card[PATH_SIZE / 2], attribute[32];
    int slice;
} Target;

/* A path taken apart: .../devices/.../<bdf>/model, .../<bdf>/sgpu/<attribute> or .../<bdf>/sgpu/sgpu<N>/<attribute>. */
static int target_of(const char *path, Target *to) {
    const char *below = strstr(path, "/devices/pci"), *bus = strstr(path, "/bus/pci/devices/");
    const char *begin = below ? below : bus;
    const char *sgpu = strstr(path, ":00.0/sgpu/"), *model = strstr(path, ":00.0/model");
    if (!begin || (!sgpu && !model)) return 0;
    const char *end = (sgpu ? sgpu : model) + strlen(":00.0");
    snprintf(to->root, sizeof to->root, "%.*s", (int)(begin - path), path);
    snprintf(to->card, sizeof to->card, "%.*s", (int)(end - path), path);
    to->slice = NOT_A_SLICE;
    if (!sgpu) {
        snprintf(to->attribute, sizeof to->attribute, "%s", end + 1);
    } else if (sscanf(end, "/sgpu/sgpu%d/%31s", &to->slice, to->attribute) != 2) {
        to->slice = NOT_A_SLICE;
        if (sscanf(end, "/sgpu/%31s", to->attribute) != 1) return 0;
    }
    return 1;
}

int kernel_has(const char *path) {
    static const char *of_card[] = {"create", "remove", "sched_class", "sched_timeslice", "model", NULL};
    static const char *of_slice[] = {"vram_quota", "sched_quota", "online", "alias", "annotations", NULL};
    Target target;
    if (!target_of(path, &target)) return 0;
    for (const char **name = target.slice == NOT_A_SLICE ? of_card : of_slice; *name; name++)
        if (strcmp(target.attribute, *name) == 0) return 1;
    return 0;
}

static const char *class_root(const Target *at) {
    static __thread char found[PATH_SIZE / 2];
    snprintf(found, sizeof found, "%s/class/metax/mxcd", at->root);
    if (!is_there("%s", found)) snprintf(found, sizeof found, "%s/class/mxcd/mxcd", at->root);
    return found;
}

static int slice_is_there(const Target *at, int slice) { return is_there("%s/sgpu/sgpu%d/gpu_id", at->card, slice); }

static int slices_there(const Target *at) {
    int found = 0;
    for (int slice = 0; slice < MOST_SLICES; slice++) found += slice_is_there(at, slice);
    return found;
}

static long taken(const Target *at, const char *quota, int but) {
    long sum = 0;
    for (int slice = 0; slice < MOST_SLICES; slice++)
        if (slice != but && slice_is_there(at, slice)) sum += read_number(0, "%s/sgpu/sgpu%d/%s", at->card, slice, quota);
    return sum;
}

static void put(const Target *at, long number, const char *name) {
    char text[32];
    snprintf(text, sizeof text, "%ld\n", number);
    write_text(text, "%s/%s", at->card, name);
}

static void put_slice(const Target *at, int slice, const char *name, long number) {
    char text[32];
    snprintf(text, sizeof text, "%ld\n", number);
    write_text(text, "%s/sgpu/sgpu%d/%s", at->card, slice, name);
}

static long total_memory(const Target *at) { return read_number(0, "%s/sgpu/total_vram_quota", at->card); }

static void count_again(const Target *at) {
    long compute = ALL_COMPUTE - taken(at, "sched_quota", NOT_A_SLICE);
    put(at, MOST_SLICES - slices_there(at), "sgpu/available_devcnt");
    put(at, total_memory(at) - taken(at, "vram_quota", NOT_A_SLICE), "sgpu/available_vram_quota");
    put(at, compute < 0 ? 0 : compute, "sgpu/available_sched_quota");
}

/* Whether a process has a ring on this gid. Rings of type 1 are no work. */
static int in_use(const Target *at, long gid) {
    char rings[PATH_SIZE];
    int used = 0;
    const char *class = class_root(at);
    snprintf(rings, sizeof rings, "%s/proc", class);
    DIR *processes = opendir(rings);
    for (struct dirent *process; processes && !used && (process = readdir(processes));) {
        for (int ring = 0; ring < 64 && !used; ring++) {
            if (!is_there("%s/proc/%s/ringbuf/%d", class, process->d_name, ring)) break;
            used = read_number(0, "%s/proc/%s/ringbuf/%d/type", class, process->d_name, ring) != 1 &&
                   read_number(-1, "%s/proc/%s/ringbuf/%d/gpuid", class, process->d_name, ring) == gid;
        }
    }
    if (processes) closedir(processes);
    return used;
}

static long card_gid(const Target *at) {
    const char *bdf = strrchr(at->card, '/') + 1, *class = class_root(at);
    char nodes[PATH_SIZE], location[64], kind[64];
    long found = -2;
    snprintf(nodes, sizeof nodes, "%s/layout/nodes", class);
    DIR *listed = opendir(nodes);
    for (struct dirent *node; listed && (node = readdir(listed));) {
        if (read_text(location, sizeof location, "%s/%s/location", nodes, node->d_name) < 0) continue;
        read_text(kind, sizeof kind, "%s/%s/type", nodes, node->d_name);
        if (strncmp(location, bdf, strlen(bdf)) == 0 && strncmp(kind, "sgpu-sub", 8) != 0)
            found = read_number(-2, "%s/%s/gid", nodes, node->d_name);
    }
    if (listed) closedir(listed);
    return found;
}

static void remove_folder(const char *path) {
    DIR *folder = opendir(path);
    char inside[PATH_SIZE * 2];
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        snprintf(inside, sizeof inside, "%s/%s", path, entry->d_name);
        if (entry->d_type == DT_DIR) remove_folder(inside);
        else unlink(inside);
    }
    if (folder) closedir(folder);
    rmdir(path);
}

static void show_memory(const Target *at, int slice, long megabytes) {
    char text[128];
    long used = 0, found;
    if (read_text(text, sizeof text, "%s/smi/sgpu%d/meminfo", at->card, slice) > 0) {
        char line[64];
        if (line_of(text, 1, line, sizeof line) && number_in(line, 10, &found)) used = found;
    }
    snprintf(text, sizeof text, "%ld\n%ld\n%ld\n", megabytes << 20, used, (megabytes << 20) - used);
    write_text(text, "%s/smi/sgpu%d/meminfo", at->card, slice);
}

/* Numbers by the card's bus: what a card has that is away for a while is still its own when it returns. */
static int first_node(const Target *at) {
    unsigned bus = 0;
    sscanf(strrchr(at->card, '/') + 1, "%*x:%x", &bus);
    return FIRST_SLICE_NODE + (int)bus * MOST_SLICES;
}

static int create(const Target *at, long megabytes) {
    int slice = 0;
    if (megabytes <= 0 || megabytes % STEP_MB) return EINVAL;
    if (megabytes + taken(at, "vram_quota", NOT_A_SLICE) > total_memory(at)) return ENOSPC;
    while (slice < MOST_SLICES && slice_is_there(at, slice)) slice++;
    if (slice == MOST_SLICES) return ENOSPC;
    const char *class = class_root(at);
    int node = first_node(at) + slice;
    while (is_there("%s/layout/nodes/%d", class, node)) node++;
    char path[PATH_SIZE], text[128];
    snprintf(path, sizeof path, "%s/layout/nodes/%d", class, node);
    mkdir(path, 0755);
    snprintf(text, sizeof text, "%d\n", node * 7);
    write_text(text, "%s/gid", path);
    write_text("sgpu-sub-dev\n", "%s/type", path);
    snprintf(text, sizeof text, "%s\n", strrchr(at->card, '/') + 1);
    write_text(text, "%s/location", path);
    snprintf(text, sizeof text, "5115e000-0000-0000-0000-%012d\n", node);
    write_text(text, "%s/unique_id", path);
    snprintf(text, sizeof text, "%d\n", slice);
    write_text(text, "%s/local_id", path);
    write_text("1\n", "%s/active", path);
    snprintf(text, sizeof text, "drm_render_minor %d\nis_vf 0\n", 128 + node);
    write_text(text, "%s/properties", path);
    snprintf(path, sizeof path, "%s/sgpu/sgpu%d", at->card, slice);
    mkdir(path, 0755);
    put_slice(at, slice, "node_id", node);
    put_slice(at, slice, "vram_quota", megabytes);
    put_slice(at, slice, "sched_quota", 0);
    put_slice(at, slice, "sched_priority", 1);
    put_slice(at, slice, "minor", node - FIRST_SLICE_NODE + 2);
    put_slice(at, slice, "online", 0);
    write_text("\n", "%s/alias", path);
    write_text("\n", "%s/annotations", path);
    snprintf(path, sizeof path, "%s/smi/sgpu%d", at->card, slice);
    mkdir(path, 0755);
    write_text("0\n", "%s/utilization", path);
    show_memory(at, slice, megabytes);
    /* Last, for a slice is there when its number is. */
    put_slice(at, slice, "gpu_id", node * 7);
    count_again(at);
    return 0;
}

static int removed(const Target *at, int slice) {
    char path[PATH_SIZE];
    if (slice < 0 || slice >= MOST_SLICES || !slice_is_there(at, slice)) return EINVAL;
    if (in_use(at, read_number(-1, "%s/sgpu/sgpu%d/gpu_id", at->card, slice))) return EBUSY;
    snprintf(path, sizeof path, "%s/layout/nodes/%ld", class_root(at), read_number(-1, "%s/sgpu/sgpu%d/node_id", at->card, slice));
    remove_folder(path);
    snprintf(path, sizeof path, "%s/sgpu/sgpu%d", at->card, slice);
    remove_folder(path);
    snprintf(path, sizeof path, "%s/smi/sgpu%d", at->card, slice);
    remove_folder(path);
    count_again(at);
    return 0;
}

static int switched(const Target *at, const char *word) {
    char before[32];
    int on = strcmp(word, "sgpu") == 0;
    if (!on && strcmp(word, "native") != 0) return EINVAL;
    read_text(before, sizeof before, "%s/model", at->card);
    if (strncmp(before, word, strlen(word)) == 0) return 0;
    if (slices_there(at) || in_use(at, card_gid(at))) return EBUSY;
    put(at, total_memory(at), "sgpu/available_vram_quota");
    return write_text(on ? "sgpu\n" : "native\n", "%s/model", at->card);
}

static int resized(const Target *at, long megabytes) {
    char text[128], line[64];
    long used = 0;
    if (megabytes <= 0 || megabytes % STEP_MB) return EINVAL;
    if (megabytes + taken(at, "vram_quota", at->slice) > total_memory(at)) return ENOSPC;
    if (read_text(text, sizeof text, "%s/smi/sgpu%d/meminfo", at->card, at->slice) > 0 && line_of(text, 1, line, sizeof line))
        number_in(line, 10, &used);
    if (megabytes << 20 < used) return EBUSY;
    put_slice(at, at->slice, "vram_quota", megabytes);
    show_memory(at, at->slice, megabytes);
    count_again(at);
    return 0;
}

static int shared(const Target *at, long compute) {
    if (compute < 0 || compute > ALL_COMPUTE) return EINVAL;
    if (compute + taken(at, "sched_quota", at->slice) > ALL_COMPUTE) return ENOSPC;
    put_slice(at, at->slice, "sched_quota", compute);
    count_again(at);
    return 0;
}

static int obey(const Target *at, const char *word) {
    long number = 0;
    int is_number = number_in(word, 10, &number);
    char model[32];
    if (strcmp(at->attribute, "model") == 0) return switched(at, word);
    if (read_text(model, sizeof model, "%s/model", at->card) < 0 || strncmp(model, "sgpu", 4) != 0) return EPERM;
    if (at->slice != NOT_A_SLICE && !slice_is_there(at, at->slice)) return ENOENT;
    if (strcmp(at->attribute, "alias") == 0 || strcmp(at->attribute, "annotations") == 0) {
        if (strlen(word) > 96) return EINVAL;
        char text[128];
        snprintf(text, sizeof text, "%.96s\n", word);
        return write_text(text, "%s/sgpu/sgpu%d/%s", at->card, at->slice, at->attribute);
    }
    if (!is_number) return EINVAL;
    if (strcmp(at->attribute, "create") == 0) return create(at, number);
    if (strcmp(at->attribute, "remove") == 0) return removed(at, (int)number);
    if (strcmp(at->attribute, "vram_quota") == 0) return resized(at, number);
    if (strcmp(at->attribute, "sched_quota") == 0) return shared(at, number);
    if (strcmp(at->attribute, "online") == 0) {
        put_slice(at, at->slice, "online", number != 0);
        return 0;
    }
    if (strcmp(at->attribute, "sched_class") == 0 && (number < 0 || number > 2)) return EINVAL;
    char name[64];
    snprintf(name, sizeof name, "sgpu/%s", at->attribute);
    put(at, number, name);
    return 0;
}

int kernel_write(const char *path, const char *text) {
    Target target;
    char word[256];
    snprintf(word, sizeof word, "%s", text);
    word[strcspn(word, "\n")] = 0;
    if (!target_of(path, &target)) return ENOENT;
    /* One at a time, whichever process writes. */
    int lock = open(target.root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (lock >= 0) flock(lock, LOCK_EX);
    int failure = obey(&target, word);
    if (lock >= 0) close(lock);
    return failure;
}
