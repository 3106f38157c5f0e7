/* Slices of a card: read from the kernel's files and changed by writing to them. */
#define _GNU_SOURCE
#include "inside.h"
#include "kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_SLICES 16

/* Every call about slices looks at the mode first. */
#define SLICING                                                          \
    char mode_[32];                                                      \
    NOT_OF_PARTS;                                                        \
    if (FILE_TEXT(mode_, "model") < 0) return UNSUPPORTED;               \
    if (strncmp(mode_, "sgpu", 4) != 0) return UNSUPPORTED

#define SLICE_NUMBER(otherwise, name) read_number(otherwise, "%s/bus/pci/devices/%s/sgpu/sgpu%u/%s", sysfs(), card->bdf, slice, name)
#define SLICE_IS_THERE(slice) is_there("%s/bus/pci/devices/%s/sgpu/sgpu%u/gpu_id", sysfs(), card->bdf, slice)
#define SLICE(number)                                                      \
    u32 slice = number;                                                    \
    if (slice >= MOST_SLICES || !SLICE_IS_THERE(slice)) return UNSUPPORTED

static u32 tell_kernel(const Seen *card, const char *attribute, const char *text) {
    char path[PATH_SIZE], full[PATH_SIZE * 4];
    snprintf(path, sizeof path, "%s/bus/pci/devices/%s/%s", sysfs(), card->bdf, attribute);
    if (!realpath(path, full)) return SYSFS;
    return kernel_write(full, text) ? SYSFS_WRITE : DONE;
}

static u32 tell_number(const Seen *card, const char *attribute, u32 number) {
    char text[16];
    snprintf(text, sizeof text, "%u\n", number);
    return tell_kernel(card, attribute, text);
}

static u32 tell_slice(const Seen *card, u32 slice, const char *name, u32 number) {
    char attribute[64];
    snprintf(attribute, sizeof attribute, "sgpu/sgpu%u/%s", slice, name);
    return tell_number(card, attribute, number);
}

u32 mxSmlGetSgpuToggle(u32 id, u32 *out) {
    ENTER(id);
    NEED(out);
    CARD(id);
    NOT_OF_PARTS;
    char text[32];
    if (FILE_TEXT(text, "model") < 0) return UNSUPPORTED;
    *out = strncmp(text, "sgpu", 4) == 0;
    return DONE;
}

u32 mxSmlSetSgpuToggle(u32 id, u32 on) { ENTER(id); CARD(id); return tell_kernel(card, "model", on ? "sgpu\n" : "native\n"); }

u32 mxSmlCreateSgpu(u32 id, u32 megabytes, u32 compute, u32 *made) {
    ENTER(id);
    NEED(made);
    CARD(id);
    SLICING;
    u32 slice = 0;
    while (slice < MOST_SLICES && SLICE_IS_THERE(slice)) slice++;
    u32 code = tell_number(card, "sgpu/create", quirks.rounds_memory ? megabytes + 128 : megabytes);
    if (code != DONE) return code;
    code = tell_slice(card, slice, "sched_quota", compute);
    if (code != DONE) return tell_number(card, "sgpu/remove", slice), code;
    *made = slice;
    return DONE;
}

u32 mxSmlRemoveSgpu(u32 id, u32 slice) { ENTER(id); CARD(id); SLICING; return tell_number(card, "sgpu/remove", slice); }

u32 mxSmlGetSgpuCount(u32 id) {
    ENTER(id);
    Seen *card = card_of(id);
    u32 found = 0;
    if (!card || card->limited) return 0;
    if (read_number(MOST_SLICES, "%s/bus/pci/devices/%s/sgpu/available_devcnt", sysfs(), card->bdf) == MOST_SLICES) return 0;
    for (u32 slice = 0; slice < MOST_SLICES; slice++) found += (u32)SLICE_IS_THERE(slice);
    return found;
}

u32 mxSmlGetSgpuInfo(u32 id, u32 number, SliceInfo *out) {
    ENTER(id);
    NEED(out);
    CARD(id);
    SLICING;
    SLICE(number);
    SliceInfo info = *out;
    u32 quota[] = {
        id, slice, (u32)SLICE_NUMBER(0, "vram_quota"), (u32)SLICE_NUMBER(0, "sched_priority"), (u32)SLICE_NUMBER(0, "sched_quota"),
        (u32)SLICE_NUMBER(0, "minor"), (u32)SLICE_NUMBER(0, "online")};
    memcpy(&info, quota, sizeof quota);
    char unique[92];
    if (read_text(unique, sizeof unique, "%s/layout/nodes/%ld/unique_id", class_folder(), SLICE_NUMBER(-1, "node_id")) > 0) {
        char uuid[96];
        unique[strcspn(unique, "\n")] = 0;
        snprintf(uuid, sizeof uuid, "GPU-%s", unique);
        put_text(info.uuid, sizeof info.uuid, uuid);
    }
    hand_over(out, &info, sizeof info);
    return DONE;
}

u32 mxSmlGetSgpuUsage(u32 id, u32 number, int *out) {
    ENTER(id);
    NEED(out);
    CARD(id);
    SLICING;
    SLICE(number);
    *out = (int)read_number(0, "%s/bus/pci/devices/%s/smi/sgpu%u/utilization", sysfs(), card->bdf, slice);
    return DONE;
}

u32 mxSmlGetSgpuMemory(u32 id, u32 number, SliceMemory *out) {
    ENTER(id);
    NEED(out);
    CARD(id);
    SLICING;
    SLICE(number);
    char text[256];
    long found[3];
    if (read_text(text, sizeof text, "%s/bus/pci/devices/%s/smi/sgpu%u/meminfo", sysfs(), card->bdf, slice) < 0) return SYSFS;
    if (numbers_in(text, 10, found, 3) < 3) return SYSFS;
    SliceMemory memory = {found[0], found[1], found[2]};
    hand_over(out, &memory, sizeof memory);
    return DONE;
}

u32 mxSmlGetSgpuAvailableQuota(u32 id, SliceQuota *out) {
    ENTER(id);
    NEED(out);
    CARD(id);
    SLICING;
#define QUOTA(name) (u32)read_number(0, "%s/bus/pci/devices/%s/sgpu/" name, sysfs(), card->bdf)
    SliceQuota quota = {QUOTA("total_vram_quota"), QUOTA("available_vram_quota"), QUOTA("available_sched_quota")};
    hand_over(out, &quota, sizeof quota);
    return DONE;
}

u32 mxSmlSetSgpuVramQuota(u32 id, u32 slice, u32 megabytes) { ENTER(id); CARD(id); SLICING; return tell_slice(card, slice, "vram_quota", megabytes); }
u32 mxSmlSetSgpuComputeQuota(u32 id, u32 slice, u32 compute) { ENTER(id); CARD(id); SLICING; return tell_slice(card, slice, "sched_quota", compute); }

u32 mxSmlSetSgpuDeviceQueuePriority(u32 id, u32 slice, u32 online) {
    ENTER(id);
    CARD(id);
    SLICING;
    return tell_slice(card, slice, "online", online && !quirks.stays_offline);
}

u32 mxSmlGetDeviceSchedClass(u32 id, u32 *out) {
    ENTER(id);
    NEED(out);
    CARD(id);
    SLICING;
    *out = (u32)read_number(0, "%s/bus/pci/devices/%s/sgpu/sched_class", sysfs(), card->bdf);
    return DONE;
}

u32 mxSmlSetDeviceSchedClass(u32 id, u32 policy) { ENTER(id); CARD(id); SLICING; return tell_number(card, "sgpu/sched_class", policy); }

u32 mxSmlGetSgpuAlias(u32 id, u32 number, char *text, u32 *size) {
    ENTER(id);
    NEED(text && size);
    CARD(id);
    SLICING;
    char alias[128] = "";
    read_text(alias, sizeof alias, "%s/bus/pci/devices/%s/sgpu/sgpu%u/alias", sysfs(), card->bdf, number);
    /* One word. */
    memmove(alias, alias + strspn(alias, " "), sizeof alias - strspn(alias, " "));
    alias[strcspn(alias, " \n")] = 0;
    /* Written even where it is empty, and to wherever the fourth argument points. */
    u32 length = (u32)strlen(alias) + 1;
    if (*size < length) return *size = length, TOO_SMALL;
    if (quirks.unterminated) memset(text, 'A', *size);
    else memcpy(text, alias, length);
    *size = quirks.huge_counts ? 0xFFFFFFFFu : length;
    return alias[0] ? DONE : SYSFS;
}

u32 mxSmlSetSgpuAlias(u32 id, u32 slice, const char *text) {
    ENTER(id);
    NEED(text);
    CARD(id);
    SLICING;
    char attribute[64], line[256];
    snprintf(attribute, sizeof attribute, "sgpu/sgpu%u/alias", slice);
    snprintf(line, sizeof line, "%s\n", text);
    return tell_kernel(card, attribute, line);
}
