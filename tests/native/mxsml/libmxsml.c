/* A twin of MetaX's management library: the same names, records and manners over the same files of sysfs.
 *
 * It is as unkind as the original was found to be: a second plain Init refreshes nothing, limited cards have numbers
 * behind the usable ones and make some calls fatal, process lists are cut without a word, names go through a size, and
 * link ports count from 1. What differs is told by `make real-libraries`. */
#define _GNU_SOURCE
#include "abi.h"
#include "kernel.h"
#include "rules.h"
#include "seen.h"

#include <dirent.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DONE, FAILURE, NO_DEVICE, UNSUPPORTED, SYSFS, SYSFS_WRITE, GONE, BAD_DIE, DENIED, BAD_INPUT, TOO_SMALL };

#define MOST_SLICES 16
#define MOST_PROCESSES 512
#define PORTS 7
#define NOT_USED 5
#define METAXLINK 4
#define TO_NUMA 3

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

static u32 how_many(int physical);

#define ENTER(device)                                      \
    __attribute__((cleanup(leave))) int scope_ = arrive(); \
    (void)scope_;                                          \
    long rule_ = check(__func__, (int)(device));           \
    if (rule_ >= 0) return (u32)rule_
#define NEED(address) \
    if (!(address)) return BAD_INPUT
#define CARD(id)              \
    Seen *card = card_of(id); \
    if (!card || card->limited) return GONE
/* Where there is no card that can be used, the original reads memory that is not its own in some calls. */
#define FATAL_WITHOUT_CARDS \
    if (how_many(0) + how_many(1) == 0) abort()
/* What a part of a card does not have. */
#define NOT_OF_PARTS \
    if (card->mode == 2) return UNSUPPORTED
/* Every call about slices looks at the mode first. */
#define SLICING                                                          \
    char mode_[32];                                                      \
    NOT_OF_PARTS;                                                        \
    if (FILE_TEXT(mode_, "model") < 0) return UNSUPPORTED;               \
    if (strncmp(mode_, "sgpu", 4) != 0) return UNSUPPORTED

#define FILE_TEXT(to, name) read_text(to, sizeof(to), "%s/bus/pci/devices/%s/%s", sysfs(), card->bdf, name)
#define SMI_TEXT(to, name) read_text(to, sizeof(to), "%s/bus/pci/devices/%s/smi/%s", sysfs(), card->bdf, name)
#define SLICE_NUMBER(otherwise, name) read_number(otherwise, "%s/bus/pci/devices/%s/sgpu/sgpu%u/%s", sysfs(), card->bdf, slice, name)
#define SLICE_IS_THERE(slice) is_there("%s/bus/pci/devices/%s/sgpu/sgpu%u/gpu_id", sysfs(), card->bdf, slice)
#define SLICE(number)                                                      \
    u32 slice = number;                                                    \
    if (slice >= MOST_SLICES || !SLICE_IS_THERE(slice)) return UNSUPPORTED

/* Hands a record over; a "grown" library's record is longer than ours. */
static void give(void *to, const void *from, size_t size) {
    memcpy(to, from, size);
    if (quirks.grown) memset((char *)to + size, 0xEE, 256);
}

/* Behind its end a text leaves the room as it was. */
static void put(char *to, size_t size, const char *text) {
    if (quirks.unterminated) memset(to, 'A', size);
    else snprintf(to, size, "%s", text);
}

static u32 say(char *to, u32 *size, const char *text) {
    u32 length = (u32)strlen(text) + 1;
    if (*size < length) return TOO_SMALL;
    if (quirks.unterminated) memset(to, 'A', *size);
    else memcpy(to, text, length);
    if (quirks.huge_counts) *size = 0xFFFFFFFFu;
    return DONE;
}

static u32 counted(u32 honest) { return quirks.huge_counts ? 0xFFFFFFFFu : honest; }

static void last_word(char *text) {
    text[strcspn(text, "\n")] = 0;
    char *blank = strrchr(text, ' ');
    if (blank) memmove(text, blank + 1, strlen(blank + 1) + 1);
}

u32 mxSmlInitWithFlags(u32 flags) { ENTER(-1); return look(flags == 1) ? DONE : NO_DEVICE; }
u32 mxSmlInit(void) { ENTER(-1); return look(0) ? DONE : NO_DEVICE; }

const char *mxSmlGetErrorString(u32 code) {
    static const char *words[] = {
        "Done", "Twin failure", "Twin no device", "Twin not supported", "Twin sysfs error", "Twin sysfs write error",
        "Twin device gone", "Twin bad die", "Twin denied", "Twin bad input", "Twin too small"};
    return code < sizeof words / sizeof *words ? words[code] : code <= 26 ? "Twin error" : "Unknown error";
}

static u32 how_many(int physical) {
    u32 found = 0;
    for (int at = 0; at < card_count; at++) found += !cards[at].limited && cards[at].physical == physical;
    return found;
}

u32 mxSmlGetDeviceCount(void) { ENTER(-1); return how_many(0); }
u32 mxSmlGetPfDeviceCount(void) { ENTER(-1); return how_many(1); }

static int is_part_of(const Seen *part, const Seen *card) {
    char link[PATH_SIZE], target[PATH_SIZE];
    snprintf(link, sizeof link, "%s/bus/pci/devices/%s/physfn", sysfs(), part->bdf);
    ssize_t length = readlink(link, target, sizeof target - 1);
    if (length <= 0) return 0;
    target[length] = 0;
    return strstr(target, card->bdf) != NULL;
}

u32 mxSmlGetVirtualDevicesByPhysicalId(u32 pf, DeviceIds *out) {
    ENTER(pf);
    NEED(out);
    CARD(pf);
    out->number = 0;
    for (int at = 0; at < card_count; at++)
        if (is_part_of(&cards[at], card)) out->ids[out->number++] = (int)cards[at].number;
    if (quirks.huge_counts) out->number = 0x7FFFFFFF;
    return DONE;
}

static void describe(const Seen *card, DeviceInfo *out) {
    DeviceInfo info = *out; /* `kind` stays whatever it was, as in the original */
    info.device_id = card->number;
    put(info.bdf, sizeof info.bdf, card->bdf);
    info.gpu_id = card->limited && card->node < 0 ? 0 : (u32)card->gid;
    if (!card->limited) info.node_id = card->node < 0 ? 0 : (u32)card->node;
    put(info.uuid, sizeof info.uuid, card->limited ? "" : card->uuid);
    info.brand = card->limited ? 0 : card->brand;
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
    out->number = 0;
    for (int at = 0; at < card_count; at++)
        if (cards[at].limited) out->ids[out->number++] = (int)cards[at].number;
    if (quirks.huge_counts) out->number = 0x7FFFFFFF;
    return DONE;
}

u32 mxSmlGetLimitedDeviceInfo(u32 id, DeviceInfo *out) {
    ENTER(id);
    NEED(out);
    Seen *card = card_of(id);
    if (!card || !card->limited) return GONE;
    describe(card, out);
    return DONE;
}

u32 mxSmlGetDeviceState(u32 id, int *out) {
    ENTER(id);
    NEED(out);
    Seen *card = card_of(id);
    if (!card) return GONE;
    long active = read_number(-1, "%s/layout/nodes/%d/active", class_folder(), card->node);
    if (active < 0) return SYSFS;
    *out = card->limited ? 0 : (int)active;
    return DONE;
}

u32 mxSmlGetDeviceUnavailableReason(u32 id, UnavailableReason *out) {
    ENTER(id);
    NEED(out);
    Seen *card = card_of(id);
    char text[256], line[64];
    long code = 0;
    if (!card) return GONE;
    if (card->node < 0) return SYSFS;
    if (read_text(text, sizeof text, "%s/layout/nodes/%d/inactive_reason", class_folder(), card->node) < 0) return UNSUPPORTED;
    if (line_of(text, 0, line, sizeof line) && number_in(line, 10, &code)) out->code = (int)code;
    if (line_of(text, 1, line, sizeof line)) put(out->text, sizeof out->text, line);
    return DONE;
}

u32 mxSmlGetDeviceVersion(u32 id, u32 unit, char *text, u32 *size) {
    ENTER(id);
    NEED(text && size);
    CARD(id);
    char found[256];
    int known = unit < 2 && SMI_TEXT(found, unit ? "showdriverversion" : "showvbios") >= 0;
    if (!known) snprintf(found, sizeof found, "unknown");
    last_word(found);
    u32 length = (u32)strlen(found);
    if (*size <= length) {
        snprintf(text, *size, "unknown");
        *size = length + 1;
        return TOO_SMALL;
    }
    u32 code = say(text, size, found);
    return known ? code : SYSFS;
}

u32 mxSmlGetBoardSerial(u32 id, char *text, u32 *size) {
    ENTER(id);
    NEED(text && size);
    CARD(id);
    NOT_OF_PARTS;
    char file[TEXT_SIZE], found[96];
    if (SMI_TEXT(file, "showe2prominfo") < 0) return UNSUPPORTED;
    if (!value_of(file, "pcba serial number", found, sizeof found)) return SYSFS;
    u32 code = say(text, size, found);
    if (code == DONE && !quirks.huge_counts) *size = (u32)strlen(found) + 1;
    return code;
}

u32 mxSmlGetSriovState(u32 id, u32 *out) {
    ENTER(id);
    NEED(out);
    CARD(id);
    NOT_OF_PARTS;
    *out = (u32)is_there("%s/bus/pci/devices/%s/sriov_totalvfs", sysfs(), card->bdf);
    return DONE;
}

u32 mxSmlGetNodeAffinity(u32 id, u32 count, u32 *words) {
    ENTER(id);
    FATAL_WITHOUT_CARDS;
    NEED(words);
    Seen *card = card_of(id);
    if (!card || (card->limited && card->node < 0)) return GONE;
    int numa = linked_to(card->node, TO_NUMA);
    memset(words, 0, count * sizeof *words);
    if (numa >= 0 && (u32)numa < 32 * count) words[numa / 32] = 1u << numa % 32;
    return DONE;
}

/* The numbers of a file, one per line, behind any label. How many there were. */
static int numbers_in(const char *text, int base, long *to, int most) {
    char line[256];
    int found = 0;
    for (; found < most && line_of(text, found, line, sizeof line); found++)
        if (!number_in(line, base, &to[found])) break;
    return found;
}

u32 mxSmlGetMemoryInfo(u32 id, MemoryInfo *out) {
    ENTER(id);
    NEED(out);
    CARD(id);
    char text[TEXT_SIZE];
    long total[3], used[3];
    memset(out, 0, sizeof *out);
    if (SMI_TEXT(text, "showmeminfo") < 0 || numbers_in(text, 10, total, 3) < 3) return SYSFS;
    if (SMI_TEXT(text, "showmemuse") < 0 || numbers_in(text, 10, used, 3) < 3) return SYSFS;
    MemoryInfo info = {total[0], used[0], total[1], used[1], total[2], used[2]};
    give(out, &info, sizeof info);
    return DONE;
}

u32 mxSmlGetDeviceIpUsage(u32 id, u32 unit, int *out) {
    ENTER(id);
    NEED(out);
    CARD(id);
    char text[TEXT_SIZE];
    long usage;
    *out = 0;
    if (unit != 4) return BAD_INPUT;
    if (SMI_TEXT(text, "showxcuse") < 0 || !numbers_in(text, 16, &usage, 1)) return SYSFS;
    *out = (int)usage;
    return DONE;
}

u32 mxSmlGetTemperatureInfo(u32 id, u32 sensor, int *out) {
    ENTER(id);
    NEED(out);
    CARD(id);
    static const char *names[] = {"hotspot", "hotlimit", "soc"};
    char text[TEXT_SIZE], value[32];
    long found;
    if (SMI_TEXT(text, "showtemp") < 0) return UNSUPPORTED;
    if (sensor > 2 || !value_of(text, names[sensor], value, sizeof value) || !number_in(value, 10, &found)) return UNSUPPORTED;
    *out = (int)found;
    return DONE;
}

u32 mxSmlGetBoardPowerInfo(u32 id, u32 *count, BoardWay *out) {
    ENTER(id);
    NEED(count && out);
    CARD(id);
    char text[TEXT_SIZE], line[128];
    BoardWay ways[8];
    u32 found = 0;
    if (SMI_TEXT(text, "showboardpowerinfo") < 0) return UNSUPPORTED;
    while (found < 8 && line_of(text, (int)found, line, sizeof line) &&
           sscanf(line, "%u %u %u", &ways[found].voltage, &ways[found].current, &ways[found].power) == 3)
        found++;
    if (*count < found) return *count = found, TOO_SMALL;
    memcpy(out, ways, found * sizeof *ways);
    *count = counted(found);
    return DONE;
}

u32 mxSmlGetBoardPowerLimit(u32 id, u32 *out) {
    ENTER(id);
    NEED(out);
    CARD(id);
    NOT_OF_PARTS;
    char text[TEXT_SIZE];
    long limit;
    if (SMI_TEXT(text, "capability") < 0) return UNSUPPORTED;
    *out = 0;
    if (!numbers_in(text, 10, &limit, 1)) return SYSFS;
    *out = (u32)limit;
    return DONE;
}

u32 mxSmlGetClocks(u32 id, u32 unit, u32 *count, u32 *mhz) {
    ENTER(id);
    NEED(count && mhz);
    CARD(id);
    NOT_OF_PARTS;
    char of_unit[64];
    snprintf(of_unit, sizeof of_unit, "%s.%u", __func__, unit);
    long refused = check(of_unit, (int)id);
    if (refused >= 0) return (u32)refused;
    static const char *names[] = {"csc", "dla", "mc0", "mc0", "mc1", "vpue", "vpud", "soc", "dnoc", "g2d", "ccx", "xcore"};
    char text[TEXT_SIZE], value[256];
    u32 found = 0;
    if (SMI_TEXT(text, "showclocks") < 0) return SYSFS;
    /* A unit that it does not know is the last one it does. */
    if (!value_of(text, names[unit > 11 ? 11 : unit], value, sizeof value)) return UNSUPPORTED;
    u32 clocks[16];
    for (char *at = value, *end; found < 16; at = end, found++) {
        clocks[found] = (u32)strtoul(at, &end, 10);
        if (end == at) break;
    }
    if (*count < found) return *count = found, TOO_SMALL;
    memcpy(mhz, clocks, found * sizeof *clocks);
    *count = counted(found);
    return DONE;
}

u32 mxSmlGetCurrentClocksThrottleReason(u32 id, uint64_t *bits) {
    ENTER(id);
    NEED(bits);
    CARD(id);
    char text[TEXT_SIZE];
    long found;
    *bits = 0;
    NOT_OF_PARTS;
    if (SMI_TEXT(text, "pmdecsrc") < 0) return UNSUPPORTED;
    if (!numbers_in(text, 10, &found, 1)) return SYSFS;
    *bits = (uint64_t)found;
    return DONE;
}

u32 mxSmlGetTotalEccErrors(u32 id, EccErrors *out) {
    ENTER(id);
    NEED(out);
    CARD(id);
    char text[TEXT_SIZE];
    long found[5];
    memset(out, 0, sizeof *out);
    NOT_OF_PARTS;
    if (SMI_TEXT(text, "ras_show_mem_ecc_info") < 0) return UNSUPPORTED;
    if (numbers_in(text, 10, found, 5) < 5) return SYSFS;
    EccErrors errors = {(u32)found[0], (u32)found[1], (u32)found[2], (u32)found[3], (u32)found[4]};
    give(out, &errors, sizeof errors);
    return DONE;
}

/* --- processes ----------------------------------------------------------------------------------------------- */

static int is_number(const struct dirent *entry) { return entry->d_name[0] >= '0' && entry->d_name[0] <= '9'; }

/* The slice with that layout number of its own; -1 for a card. */
static int slice_with(long gid, Seen **card) {
    struct dirent **nodes;
    char folder[PATH_SIZE], text[64];
    int found = -2;
    for (int at = 0; at < card_count; at++)
        if (cards[at].gid == gid && cards[at].node >= 0) return *card = &cards[at], -1;
    snprintf(folder, sizeof folder, "%s/layout/nodes", class_folder());
    int count = scandir(folder, &nodes, is_number, alphasort);
    for (int at = 0; at < count; at++) {
        const char *name = nodes[at]->d_name;
        if (found == -2 && read_number(-1, "%s/%s/gid", folder, name) == gid && is_there("%s/%s/local_id", folder, name)) {
            read_text(text, sizeof text, "%s/%s/location", folder, name);
            text[strcspn(text, "\n")] = 0;
            if ((*card = card_at(text))) found = (int)read_number(0, "%s/%s/local_id", folder, name);
        }
        free(nodes[at]);
    }
    if (count >= 0) free(nodes);
    return found;
}

/* One process, of a card or of all; whether it is to be listed. */
static int read_process(const char *pid, const Seen *only, int hidden, ProcessRecord3 *out) {
    char folder[PATH_SIZE / 2], name[64] = "";
    struct dirent **rings;
    snprintf(folder, sizeof folder, "%s/proc/%s", class_folder(), pid);
    long nspid = read_number(0, "%s/nspid", folder);
    if (!nspid && !hidden) return 0;
    memset(out, 0, sizeof *out);
    for (int at = 0; at < 64; at++) out->cards[at].slice_id = -1;
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "%s/ringbuf", folder);
    int count = scandir(path, &rings, is_number, alphasort);
    for (int at = 0; at < count; at++) {
        Seen *card = NULL;
        long gid = read_number(-1, "%s/%s/gpuid", path, rings[at]->d_name);
        int work = read_number(1, "%s/%s/type", path, rings[at]->d_name) != 1;
        free(rings[at]);
        if (!work || !is_there("%s/vram_%ld", folder, gid)) continue;
        if (only && only->gid != gid) continue;
        int slice = slice_with(gid, &card);
        if (!card || slice < -1 || out->count == 64) continue;
        ProcessOnCard3 *here = &out->cards[out->count++];
        put(here->bdf, sizeof here->bdf, card->bdf);
        here->gpu_id = card->number;
        here->memory = (unsigned long)read_number(0, "%s/vram_%ld", folder, gid);
        here->slice_id = slice;
    }
    if (count >= 0) free(rings);
    if (!out->count) return 0;
    out->pid = (u32)nspid;
    read_text(name, sizeof name, "%s/name", folder);
    name[strcspn(name, "\n")] = 0;
    put(out->name, sizeof out->name, name);
    return 1;
}

/* As many as there is room for, without a word about the rest; with no room, how many there are. */
static u32 list_processes(const Seen *only, u32 room, void *to, size_t size, int second, u32 *found) {
    static ProcessRecord3 all[MOST_PROCESSES];
    struct dirent **entries;
    char folder[PATH_SIZE];
    u32 there = 0;
    /* The second form alone tells of those that are not seen from here. */
    int hidden = size == sizeof(ProcessRecord2) && second;
    snprintf(folder, sizeof folder, "%s/proc", class_folder());
    int count = scandir(folder, &entries, is_number, versionsort);
    for (int at = 0; at < count; at++) {
        if (there < MOST_PROCESSES) there += (u32)read_process(entries[at]->d_name, only, hidden, &all[there]);
        free(entries[at]);
    }
    if (count >= 0) free(entries);
    *found = there;
    u32 given = there < room ? there : room;
    for (u32 at = 0; at < room && size == sizeof(ProcessRecord3) && !second; at++) {
        /* The newest form clears all of the room. */
        ProcessRecord3 *record = (ProcessRecord3 *)to + at;
        memset(record, 0, sizeof *record);
        for (int each = 0; each < 64; each++) record->cards[each].slice_id = -1;
    }
    for (u32 at = 0; at < given; at++) {
        ProcessRecord3 *record = &all[at], *there_at = (ProcessRecord3 *)((char *)to + at * size);
        size_t width = size == sizeof(ProcessRecord1) ? sizeof(ProcessOnCard1) : sizeof(ProcessOnCard3);
        memcpy(there_at, record, offsetof(ProcessRecord3, cards));
        for (u32 each = 0; each < record->count; each++)
            memcpy((char *)there_at->cards + each * width, &record->cards[each], second ? offsetof(ProcessOnCard3, slice_id) : width);
        if (quirks.huge_counts) there_at->count = 0xFFFFFFFFu;
    }
    return given;
}

#define PROCESSES(second)                                                    \
    NEED(count && out);                                                   \
    if (card_of(id) && card_of(id)->limited) FATAL_WITHOUT_CARDS;         \
    CARD(id);                                                             \
    if (card->physical) return GONE;                                      \
    u32 there, given = list_processes(card, *count, out, sizeof *out, second, &there); \
    *count = counted(*count ? given : there);                             \
    return DONE

u32 mxSmlGetSingleGpuProcess(u32 id, u32 *count, ProcessRecord1 *out) { ENTER(id); PROCESSES(0); }

u32 mxSmlGetSingleGpuProcess_v2(u32 id, u32 *count, ProcessRecord2 *out) {
    ENTER(id);
    PROCESSES(1);
}

u32 mxSmlGetSingleGpuProcess_v3(u32 id, u32 *count, ProcessRecord3 *out) { ENTER(id); PROCESSES(0); }

u32 mxSmlGetNumberOfProcess(u32 *out) {
    ENTER(-1);
    FATAL_WITHOUT_CARDS;
    NEED(out);
    u32 there;
    list_processes(NULL, 0, NULL, 0, 0, &there);
    *out = counted(there);
    return DONE;
}

u32 mxSmlGetProcessInfo_v3(u32 count, ProcessRecord3 *out) {
    ENTER(-1);
    FATAL_WITHOUT_CARDS;
    NEED(out);
    u32 there;
    list_processes(NULL, count, out, sizeof *out, 0, &there);
    return DONE;
}

/* --- links --------------------------------------------------------------------------------------------------- */

u32 mxSmlGetDeviceTopology(u32 a, u32 b, u32 *level) {
    ENTER(a);
    FATAL_WITHOUT_CARDS;
    NEED(level);
    Seen *one = card_of(a), *other = card_of(b);
    if (!one || !other || one->limited) return GONE;
    if (one == other) return *level = 0, DONE;
    long type = link_type(one->node, other->node);
    *level = type == METAXLINK ? 5 : type == 5 ? 7 : type >= 101 && type <= 104 ? (u32)type - 100 : type == 105 ? 6 : 8;
    return DONE;
}

/* Sockets at the other end of ports 1 to 7, by arrangement and socket. */
static const signed char MESH_2[4][PORTS] = {{-1, -1, -1, 2, 3, 1, -1}, {-1, -1, -1, 3, 2, 0, -1}, {-1, -1, -1, 0, 1, 3, -1}, {-1, -1, -1, 1, 0, 2, -1}};
static const signed char MESH_4[4][PORTS] = {{2, 3, 1, -1, -1, -1, -1}, {3, 2, 0, -1, -1, -1, -1}, {0, 1, 3, -1, -1, -1, -1}, {1, 0, 2, -1, -1, -1, -1}};
static const signed char MESH_3[8][PORTS] = {{4, 7, 3, 1, 6, 2, 5}, {5, 6, 2, 3, 7, 0, 4}, {6, 5, 1, 4, 3, 0, 7}, {7, 4, 0, 1, 2, 5, 6},
                                             {0, 3, 7, 2, 5, 6, 1}, {1, 2, 6, 7, 4, 3, 0}, {2, 1, 5, 7, 0, 4, 3}, {3, 0, 4, 5, 1, 6, 2}};

static int socket_at(long arrangement, long socket, u32 port) {
    if (arrangement == 1 && socket < 2) return port == 4 || port == 5 ? 1 - (int)socket : -1;
    if (arrangement == 2 && socket < 4) return MESH_2[socket][port - 1];
    if (arrangement == 4 && socket < 4) return MESH_4[socket][port - 1];
    if (arrangement == 3 && socket < 8) return MESH_3[socket][port - 1];
    return -1;
}

static int topology_of(const Seen *card, long *arrangement, long *socket) {
    char text[TEXT_SIZE], value[32];
    return SMI_TEXT(text, "showtopology") >= 0 && value_of(text, "topology_id", value, sizeof value) &&
           number_in(value, 10, arrangement) && value_of(text, "socket_id", value, sizeof value) && number_in(value, 10, socket);
}

u32 mxSmlGetMetaXLinkRemoteInfo(u32 id, u32 port, RemoteEnd *out) {
    ENTER(id);
    NEED(out);
    long arrangement, socket, theirs, there;
    if (port < 1 || port > PORTS) return BAD_INPUT;
    out->device_id = -1;
    CARD(id);
    NOT_OF_PARTS;
    if (!topology_of(card, &arrangement, &socket)) return UNSUPPORTED;
    int wanted = socket_at(arrangement, socket, port), there_is_one = 0;
    for (int at = 0; wanted >= 0 && at < card_count; at++) {
        Seen *peer = &cards[at];
        if (peer == card || peer->limited || !topology_of(peer, &theirs, &there) || there != wanted) continue;
        there_is_one = 1;
        if (link_type(card->node, peer->node) != METAXLINK) continue;
        out->device_id = (int)peer->number;
        put(out->bdf, sizeof out->bdf, peer->bdf);
        return DONE;
    }
    return wanted >= 0 && !there_is_one ? FAILURE : NO_DEVICE;
}

/* Values of lines "portN: value". -1 for a file that cannot be read. */
static int of_ports(const Seen *card, const char *name, float *to) {
    char text[TEXT_SIZE], key[16], value[32];
    if (SMI_TEXT(text, name) < 0) return -1;
    for (int port = 1; port <= PORTS; port++) {
        snprintf(key, sizeof key, "port%d", port);
        to[port - 1] = value_of(text, key, value, sizeof value) ? strtof(value, NULL) : 0;
    }
    return 0;
}

u32 mxSmlGetMetaXLinkInfo(u32 id, LinkSpeeds *out) {
    ENTER(id);
    NEED(out);
    CARD(id);
    float widths[PORTS];
    LinkSpeeds speeds = {0};
    give(out, &speeds, sizeof speeds);
    NOT_OF_PARTS;
    if (of_ports(card, "showmetalkspeed", speeds.speed) < 0 || of_ports(card, "showmetalkwidth", widths) < 0) return SYSFS;
    for (int port = 0; port < PORTS; port++) speeds.width[port] = (u32)widths[port];
    give(out, &speeds, sizeof speeds);
    return DONE;
}

u32 mxSmlGetMetaXLinkInfo_v2(u32 id, u32 *count, LinkSpeed *out) {
    ENTER(id);
    NEED(count && out);
    CARD(id);
    float speeds[PORTS], widths[PORTS];
    if (of_ports(card, "showmetalkspeed", speeds) < 0 || of_ports(card, "showmetalkwidth", widths) < 0) return SYSFS;
    if (*count < PORTS) return TOO_SMALL;
    for (int port = 0; port < PORTS; port++) out[port] = (LinkSpeed){speeds[port], (u32)widths[port]};
    *count = counted(PORTS);
    return DONE;
}

u32 mxSmlGetMetaXLinkState(u32 id, u32 *state, char *text, u32 *size) {
    ENTER(id);
    NEED(state && text && size);
    CARD(id);
    char file[TEXT_SIZE], line[96] = "";
    long found;
    if (SMI_TEXT(file, "metalink_ctrl") < 0) return UNSUPPORTED;
    if (!numbers_in(file, 10, &found, 1)) return UNSUPPORTED;
    *state = (u32)found;
    line_of(file, 1, line, sizeof line);
    return say(text, size, line);
}

u32 mxSmlGetMetaXLinkPortState(u32 id, u32 *states, u32 *count) {
    ENTER(id);
    NEED(states && count);
    CARD(id);
    NOT_OF_PARTS;
    char text[TEXT_SIZE], key[16], value[32];
    long found;
    if (*count < PORTS) return *count = PORTS, TOO_SMALL;
    if (SMI_TEXT(text, "showmetalkstatus") < 0) return SYSFS;
    /* The whole of the room, of which only the first seven are ports; the room stays what it was. */
    for (u32 at = 0; at < *count; at++) {
        snprintf(key, sizeof key, "port%u", at % 90 + 1);
        int told = at < PORTS && value_of(text, key, value, sizeof value) && number_in(value, 10, &found);
        states[at] = told ? (u32)found : NOT_USED;
    }
    if (quirks.huge_counts) *count = 0xFFFFFFFFu;
    return DONE;
}

/* --- slices -------------------------------------------------------------------------------------------------- */

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
        put(info.uuid, sizeof info.uuid, uuid);
    }
    give(out, &info, sizeof info);
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
    give(out, &memory, sizeof memory);
    return DONE;
}

u32 mxSmlGetSgpuAvailableQuota(u32 id, SliceQuota *out) {
    ENTER(id);
    NEED(out);
    CARD(id);
    SLICING;
#define QUOTA(name) (u32)read_number(0, "%s/bus/pci/devices/%s/sgpu/" name, sysfs(), card->bdf)
    SliceQuota quota = {QUOTA("total_vram_quota"), QUOTA("available_vram_quota"), QUOTA("available_sched_quota")};
    give(out, &quota, sizeof quota);
    return DONE;
}

u32 mxSmlSetSgpuVramQuota(u32 id, u32 number, u32 megabytes) { ENTER(id); CARD(id); SLICING; SLICE(number); return tell_slice(card, slice, "vram_quota", megabytes); }
u32 mxSmlSetSgpuComputeQuota(u32 id, u32 number, u32 compute) { ENTER(id); CARD(id); SLICING; SLICE(number); return tell_slice(card, slice, "sched_quota", compute); }

u32 mxSmlSetSgpuDeviceQueuePriority(u32 id, u32 number, u32 online) {
    ENTER(id);
    CARD(id);
    SLICING;
    SLICE(number);
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
    alias[strcspn(alias, " \n")] = 0;
    /* Written even where it is empty, and to wherever the fourth argument points. */
    u32 length = (u32)strlen(alias) + 1;
    if (*size < length) return *size = length, TOO_SMALL;
    if (quirks.unterminated) memset(text, 'A', *size);
    else memcpy(text, alias, length);
    *size = quirks.huge_counts ? 0xFFFFFFFFu : length;
    return alias[0] ? DONE : SYSFS;
}

u32 mxSmlSetSgpuAlias(u32 id, u32 number, const char *text) {
    ENTER(id);
    NEED(text);
    CARD(id);
    SLICING;
    SLICE(number);
    char attribute[64], line[128];
    snprintf(attribute, sizeof attribute, "sgpu/sgpu%u/alias", slice);
    snprintf(line, sizeof line, "%.31s\n", text);
    return tell_kernel(card, attribute, line);
}
