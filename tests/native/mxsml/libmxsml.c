/* A stand-in for MetaX's management library: the same names, records and manners, over a world from a file.
 * It tells a null address from an unknown device in the same order, numbers slices with gaps, and refuses busy ones. */
#include "world.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { DONE, FAILURE, NO_DEVICE, UNSUPPORTED, SYSFS, SYSFS_WRITE, GONE, BAD_DIE, DENIED, BAD_INPUT, TOO_SMALL, BUSY = 23 };

static atomic_uint inside, most_inside, calls;

static int arrive(void) {
    unsigned now = atomic_fetch_add(&inside, 1) + 1, most = atomic_load(&most_inside);
    while (now > most && !atomic_compare_exchange_weak(&most_inside, &most, now)) {}
    atomic_fetch_add(&calls, 1);
    return 0;
}

static void leave(int *ignored) {
    (void)ignored;
    atomic_fetch_sub(&inside, 1);
}

u32 twin_most_inside(void) { return atomic_load(&most_inside); }
u32 twin_calls(void) { return atomic_load(&calls); }

#define ENTER(device)                                            \
    __attribute__((cleanup(leave))) int scope_ = arrive();       \
    (void)scope_;                                                \
    long rule_ = check(__func__, (int)(device));                 \
    if (rule_ >= 0) return (u32)rule_
#define NEED(address) \
    if (!(address)) return BAD_INPUT
#define CARD(id)              \
    Card *card = card_of(id); \
    if (!card || card->limited) return GONE
#define SLICE(id)                                                        \
    if ((id) >= MOST_SLICES || !card->kept->slices[id].present) return UNSUPPORTED; \
    Slice *slice = &card->kept->slices[id]

/* Hands a record over; a "grown" library's record is longer than ours. */
static void give(void *to, const void *from, size_t size) {
    memcpy(to, from, size);
    if (world.grown) memset((char *)to + size, 0xEE, 256);
}

static void put(char *to, size_t size, const char *text) {
    if (world.unterminated) memset(to, 'A', size);
    else snprintf(to, size, "%s", text);
}

static u32 say(char *to, u32 *size, const char *text) {
    if (*size < strlen(text) + 1) return TOO_SMALL;
    put(to, *size, text);
    *size = world.huge_counts ? 0xFFFFFFFFu : (u32)strlen(text) + 1;
    return DONE;
}

static u32 counted(u32 honest) { return world.huge_counts ? 0xFFFFFFFFu : honest; }

u32 mxSmlInitWithFlags(u32 flags) {
    ENTER(-1);
    (void)flags;
    return world.card_count ? DONE : NO_DEVICE;
}

u32 mxSmlInit(void) {
    ENTER(-1);
    return world.card_count ? DONE : NO_DEVICE;
}

const char *mxSmlGetErrorString(u32 code) {
    static const char *words[] = {
        "Done", "Twin failure", "Twin no device", "Twin not supported", "Twin sysfs error", "Twin sysfs write error",
        "Twin device gone", "Twin bad die", "Twin denied", "Twin bad input", "Twin too small"};
    return code < sizeof words / sizeof *words ? words[code] : code <= 26 ? "Twin error" : "Unknown error";
}

static u32 highest(u32 from, u32 below) {
    u32 count = 0;
    for (int at = 0; at < world.card_count; at++) {
        Card *card = &world.cards[at];
        if (!card->limited && card->id >= from && card->id < below && card->id - from + 1 > count) count = card->id - from + 1;
    }
    return count;
}

u32 mxSmlGetDeviceCount(void) { ENTER(-1); return highest(0, 100); }
u32 mxSmlGetPfDeviceCount(void) { ENTER(-1); return highest(100, 200); }

u32 mxSmlGetVirtualDevicesByPhysicalId(u32 pf, DeviceIds *out) {
    ENTER(pf);
    NEED(out);
    CARD(pf);
    DeviceIds ids = {0};
    for (int at = 0; at < world.card_count; at++)
        if (world.cards[at].parent == (int)pf) ids.ids[ids.number++] = (int)world.cards[at].id;
    if (world.huge_counts) ids.number = 0x7FFFFFFF;
    give(out, &ids, sizeof ids);
    (void)card;
    return DONE;
}

static void describe(const Card *card, DeviceInfo *out) {
    DeviceInfo info = *out; /* `kind` stays whatever it was, as in the original */
    info.device_id = card->id;
    put(info.bdf, sizeof info.bdf, card->bdf);
    info.gpu_id = 4000 + card->id;
    info.node_id = 2 + card->id;
    put(info.uuid, sizeof info.uuid, card->limited ? "" : card->uuid);
    info.brand = card->brand;
    info.mode = card->mode;
    put(info.name, sizeof info.name, card->name);
    give(out, &info, sizeof info);
}

u32 mxSmlGetDeviceInfo(u32 id, DeviceInfo *out) {
    ENTER(id);
    NEED(out);
    CARD(id);
    describe(card, out);
    return DONE;
}

u32 mxSmlGetAllLimitedDevices(DeviceIds *out) {
    ENTER(-1);
    NEED(out);
    DeviceIds ids = {0};
    for (int at = 0; at < world.card_count; at++)
        if (world.cards[at].limited) ids.ids[ids.number++] = (int)world.cards[at].id;
    if (world.huge_counts) ids.number = 0x7FFFFFFF;
    give(out, &ids, sizeof ids);
    return DONE;
}

u32 mxSmlGetLimitedDeviceInfo(u32 id, DeviceInfo *out) {
    ENTER(id);
    NEED(out);
    Card *card = card_of(id);
    if (!card || !card->limited) return GONE;
    describe(card, out);
    return DONE;
}

u32 mxSmlGetDeviceState(u32 id, int *out) { ENTER(id); NEED(out); CARD(id); *out = card->state; return DONE; }

u32 mxSmlGetDeviceUnavailableReason(u32 id, UnavailableReason *out) {
    ENTER(id);
    NEED(out);
    Card *card = card_of(id);
    if (!card) return GONE;
    if (!card->reason[0] && !card->reason_code) return UNSUPPORTED;
    UnavailableReason reason = {.code = card->reason_code};
    put(reason.text, sizeof reason.text, card->reason);
    give(out, &reason, sizeof reason);
    return DONE;
}

u32 mxSmlGetDeviceVersion(u32 id, u32 unit, char *text, u32 *size) {
    ENTER(id);
    NEED(text && size);
    CARD(id);
    return unit > 1 ? UNSUPPORTED : say(text, size, unit ? card->driver : card->bios);
}

u32 mxSmlGetBoardSerial(u32 id, char *text, u32 *size) { ENTER(id); NEED(text && size); CARD(id); return say(text, size, card->serial); }
u32 mxSmlGetChipSerial(u32 id, char *text, u32 *size) { ENTER(id); NEED(text && size); CARD(id); return say(text, size, card->chip); }
u32 mxSmlGetSriovState(u32 id, u32 *out) { ENTER(id); NEED(out); CARD(id); *out = card->sriov; return DONE; }

u32 mxSmlGetNodeAffinity(u32 id, u32 count, u32 *words) {
    ENTER(id);
    NEED(words);
    CARD(id);
    memset(words, 0, count * sizeof *words);
    if (card->numa >= 0 && (u32)card->numa < 32 * count) words[card->numa / 32] = 1u << card->numa % 32;
    return DONE;
}

u32 mxSmlGetMemoryInfo(u32 id, MemoryInfo *out) {
    ENTER(id);
    NEED(out);
    CARD(id);
    MemoryInfo info = {card->total, card->used, card->total, card->used, 1024, 0};
    give(out, &info, sizeof info);
    return DONE;
}

u32 mxSmlGetDeviceIpUsage(u32 id, u32 unit, int *out) {
    ENTER(id);
    NEED(out);
    CARD(id);
    *out = unit == 4 ? card->usage : 0;
    return DONE;
}

u32 mxSmlGetTemperatureInfo(u32 id, u32 sensor, int *out) {
    ENTER(id);
    NEED(out);
    CARD(id);
    *out = sensor ? 2500 : card->temperature;
    return DONE;
}

u32 mxSmlGetBoardPowerInfo(u32 id, u32 *count, BoardWay *out) {
    ENTER(id);
    NEED(count && out);
    CARD(id);
    if (*count < 3) { *count = 3; return TOO_SMALL; }
    for (int at = 0; at < 3; at++) {
        BoardWay way = {12000, card->ways[at] / 12, card->ways[at]};
        memcpy(&out[at], &way, sizeof way);
    }
    *count = counted(3);
    return DONE;
}

u32 mxSmlGetBoardPowerLimit(u32 id, u32 *out) { ENTER(id); NEED(out); CARD(id); *out = card->cap; return DONE; }

u32 mxSmlGetClocks(u32 id, u32 unit, u32 *count, u32 *mhz) {
    ENTER(id);
    NEED(count && mhz);
    CARD(id);
    if (*count < 1) { *count = 1; return TOO_SMALL; }
    mhz[0] = card->clock + unit;
    *count = counted(1);
    return DONE;
}

u32 mxSmlGetCurrentClocksThrottleReason(u32 id, uint64_t *bits) { ENTER(id); NEED(bits); CARD(id); *bits = card->throttle; return DONE; }

u32 mxSmlGetTotalEccErrors(u32 id, EccErrors *out) {
    ENTER(id);
    NEED(out);
    CARD(id);
    EccErrors errors = {card->ecc[0], card->ecc[1], card->ecc[2], card->ecc[3], card->ecc[4]};
    give(out, &errors, sizeof errors);
    return DONE;
}

static u32 running_on(u32 id) {
    u32 found = 0;
    for (int at = 0; at < world.running_count; at++) found += world.running[at].card == id;
    return found;
}

#define PROCESSES(EXTRA)                                                            \
    NEED(count && out);                                                             \
    CARD(id);                                                                       \
    u32 found = running_on(id), at = 0;                                             \
    if (*count < found) { *count = found; return TOO_SMALL; }                       \
    for (int each = 0; each < world.running_count; each++) {                        \
        Running *running = &world.running[each];                                    \
        if (running->card != id) continue;                                          \
        out[at].pid = running->pid;                                                 \
        put(out[at].name, sizeof out[at].name, running->name);                      \
        put(out[at].cards[0].bdf, sizeof out[at].cards[0].bdf, card->bdf);          \
        out[at].cards[0].gpu_id = 4000 + id;                                        \
        out[at].cards[0].memory = running->memory;                                  \
        EXTRA;                                                                      \
        out[at].count = world.huge_counts ? 0xFFFFFFFFu : 1;                        \
        at++;                                                                       \
    }                                                                               \
    *count = counted(found);                                                        \
    return DONE

u32 mxSmlGetSingleGpuProcess(u32 id, u32 *count, ProcessRecord1 *out) { ENTER(id); PROCESSES((void)0); }
u32 mxSmlGetSingleGpuProcess_v2(u32 id, u32 *count, ProcessRecord2 *out) { ENTER(id); PROCESSES(out[at].cards[0].die = 0); }
u32 mxSmlGetSingleGpuProcess_v3(u32 id, u32 *count, ProcessRecord3 *out) {
    ENTER(id);
    PROCESSES(out[at].cards[0].die = 0; out[at].cards[0].slice_id = running->slice);
}

u32 mxSmlGetDeviceTopology(u32 a, u32 b, u32 *level) {
    ENTER(a);
    NEED(level);
    if (!card_of(a) || !card_of(b)) return GONE;
    u32 set = a < MOST_CARDS && b < MOST_CARDS ? world.levels[a][b] : 0;
    *level = set ? set - 1 : 8;
    return DONE;
}

u32 mxSmlGetMetaXLinkInfo(u32 id, LinkSpeeds *out) {
    ENTER(id);
    NEED(out);
    CARD(id);
    if (!card->has_links) return UNSUPPORTED;
    LinkSpeeds speeds = {0};
    for (int port = 0; port < 7; port++)
        if (card->peers[port] >= 0) speeds.speed[port] = 31.5f, speeds.width[port] = 8;
    give(out, &speeds, sizeof speeds);
    return DONE;
}

u32 mxSmlGetMetaXLinkInfo_v2(u32 id, u32 *count, LinkSpeed *out) {
    ENTER(id);
    NEED(count && out);
    CARD(id);
    if (!card->has_links) return UNSUPPORTED;
    if (*count < 7) { *count = 7; return TOO_SMALL; }
    for (int port = 0; port < 7; port++) {
        LinkSpeed speed = {card->peers[port] >= 0 ? 32.0f : 0, card->peers[port] >= 0 ? 16 : 0};
        memcpy(&out[port], &speed, sizeof speed);
    }
    *count = counted(7);
    return DONE;
}

u32 mxSmlGetMetaXLinkRemoteInfo(u32 id, u32 port, RemoteEnd *out) {
    ENTER(id);
    NEED(out);
    CARD(id);
    RemoteEnd end = {.device_id = -1};
    if (!card->has_links) { *out = end; return UNSUPPORTED; }
    if (world.ports_from_one && port-- == 0) return BAD_INPUT;
    if (port >= MOST_PORTS) return BAD_INPUT;
    Card *peer = card->peers[port] < 0 ? NULL : card_of((u32)card->peers[port]);
    if (!peer) { *out = end; return NO_DEVICE; }
    end.device_id = (int)peer->id;
    put(end.bdf, sizeof end.bdf, peer->bdf);
    give(out, &end, sizeof end);
    return DONE;
}

u32 mxSmlGetMetaXLinkState(u32 id, u32 *state, char *text, u32 *size) {
    ENTER(id);
    NEED(state && text && size);
    CARD(id);
    *state = card->link_state;
    return say(text, size, card->link_text);
}

u32 mxSmlGetMetaXLinkPortState(u32 id, u32 *states, u32 *count) {
    ENTER(id);
    NEED(states && count);
    CARD(id);
    if (!card->has_links) return UNSUPPORTED;
    if (*count < 7) { *count = 7; return TOO_SMALL; }
    memcpy(states, card->port_states, 7 * sizeof *states);
    *count = counted(7);
    return DONE;
}

u32 mxSmlGetSgpuToggle(u32 id, u32 *out) { ENTER(id); NEED(out); CARD(id); *out = card->kept->toggle; return DONE; }

static u32 slices_of(const Card *card) {
    u32 found = 0;
    for (int at = 0; at < MOST_SLICES; at++) found += (u32)card->kept->slices[at].present;
    return found;
}

static void taken(const Card *card, u32 *megabytes, u32 *compute) {
    *megabytes = *compute = 0;
    for (int at = 0; at < MOST_SLICES; at++) {
        const Slice *slice = &card->kept->slices[at];
        if (slice->present) *megabytes += slice->megabytes, *compute += slice->compute;
    }
}

u32 mxSmlSetSgpuToggle(u32 id, u32 on) {
    ENTER(id);
    CARD(id);
    if (!on && slices_of(card)) return BUSY;
    card->kept->toggle = on;
    return DONE;
}

u32 mxSmlCreateSgpu(u32 id, u32 megabytes, u32 compute, u32 *made) {
    ENTER(id);
    NEED(made);
    CARD(id);
    u32 used, share;
    taken(card, &used, &share);
    if (!card->kept->toggle) return UNSUPPORTED;
    if (used + megabytes > card->total / 1024 || compute < 1 || compute > 100) return SYSFS_WRITE;
    for (u32 at = 0; at < MOST_SLICES; at++) {
        Slice *slice = &card->kept->slices[at];
        if (slice->present) continue;
        *slice = (Slice){.present = 1, .compute = compute, .minor = id * MOST_SLICES + at};
        slice->megabytes = world.rounds_memory ? megabytes + 128 : megabytes;
        snprintf(slice->uuid, sizeof slice->uuid, "GPU-slice-%u-%u", id, at);
        *made = at;
        return DONE;
    }
    return SYSFS_WRITE;
}

u32 mxSmlRemoveSgpu(u32 id, u32 number) {
    ENTER(id);
    CARD(id);
    SLICE(number);
    for (int at = 0; at < world.running_count; at++)
        if (world.running[at].card == id && world.running[at].slice == (int)number) return SYSFS_WRITE;
    slice->present = 0;
    return DONE;
}

u32 mxSmlGetSgpuCount(u32 id) {
    ENTER(id);
    Card *card = card_of(id);
    return card && !card->limited ? slices_of(card) : 0;
}

u32 mxSmlGetSgpuInfo(u32 id, u32 number, SliceInfo *out) {
    ENTER(id);
    NEED(out);
    CARD(id);
    SLICE(number);
    SliceInfo info = {id, number, slice->megabytes, 1, slice->compute, slice->minor, slice->online, ""};
    put(info.uuid, sizeof info.uuid, slice->uuid);
    give(out, &info, sizeof info);
    return DONE;
}

u32 mxSmlGetSgpuUsage(u32 id, u32 number, int *out) { ENTER(id); NEED(out); CARD(id); SLICE(number); *out = (int)slice->usage; return DONE; }

u32 mxSmlGetSgpuMemory(u32 id, u32 number, SliceMemory *out) {
    ENTER(id);
    NEED(out);
    CARD(id);
    SLICE(number);
    long total = (long)slice->megabytes << 20;
    SliceMemory memory = {total, slice->used, total - slice->used};
    give(out, &memory, sizeof memory);
    return DONE;
}

u32 mxSmlGetSgpuAvailableQuota(u32 id, SliceQuota *out) {
    ENTER(id);
    NEED(out);
    CARD(id);
    u32 used, share;
    taken(card, &used, &share);
    SliceQuota quota = {(u32)(card->total / 1024), (u32)(card->total / 1024) - used, share > 100 ? 0 : 100 - share};
    give(out, &quota, sizeof quota);
    return DONE;
}

u32 mxSmlSetSgpuVramQuota(u32 id, u32 number, u32 megabytes) { ENTER(id); CARD(id); SLICE(number); slice->megabytes = megabytes; return DONE; }
u32 mxSmlSetSgpuComputeQuota(u32 id, u32 number, u32 compute) { ENTER(id); CARD(id); SLICE(number); slice->compute = compute; return DONE; }
u32 mxSmlSetSgpuDeviceQueuePriority(u32 id, u32 number, u32 online) { ENTER(id); CARD(id); SLICE(number); slice->online = online && !world.stays_offline; return DONE; }
u32 mxSmlGetDeviceSchedClass(u32 id, u32 *out) { ENTER(id); NEED(out); CARD(id); *out = card->kept->policy; return DONE; }
u32 mxSmlSetDeviceSchedClass(u32 id, u32 policy) { ENTER(id); CARD(id); card->kept->policy = policy; return DONE; }

u32 mxSmlGetSgpuAlias(u32 id, u32 number, char *text) { ENTER(id); NEED(text); CARD(id); SLICE(number); put(text, 32, slice->alias); return DONE; }

u32 mxSmlSetSgpuAlias(u32 id, u32 number, const char *text) {
    ENTER(id);
    NEED(text);
    CARD(id);
    SLICE(number);
    snprintf(slice->alias, sizeof slice->alias, "%s", text);
    return DONE;
}
