/* A twin of MetaX's management library: the same names, records and manners over the same files of sysfs.
 *
 * It is as unkind as the original was found to be: a second plain Init refreshes nothing, limited cards have numbers
 * behind the usable ones and make some calls fatal, process lists are cut without a word, names go through a size, and
 * link ports count from 1. What differs is told by `make real-libraries`. */
#define _GNU_SOURCE
#include "inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TO_NUMA 3

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

u32 mxSmlGetDeviceCount(void) { ENTER(-1); return usable_cards(0); }
u32 mxSmlGetPfDeviceCount(void) { ENTER(-1); return usable_cards(1); }

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
    put_text(info.bdf, sizeof info.bdf, card->bdf);
    info.gpu_id = card->limited && card->node < 0 ? 0 : (u32)card->gid;
    if (!card->limited) info.node_id = card->node < 0 ? 0 : (u32)card->node;
    put_text(info.uuid, sizeof info.uuid, card->limited ? "" : card->uuid);
    info.brand = card->limited ? 0 : card->brand;
    info.mode = card->mode;
    put_text(info.name, sizeof info.name, card->name);
    hand_over(out, &info, sizeof info);
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
    if (line_of(text, 1, line, sizeof line)) put_text(out->text, sizeof out->text, line);
    return DONE;
}

u32 mxSmlGetDeviceVersion(u32 id, u32 unit, char *text, u32 *size) {
    ENTER(id);
    NEED(text && size);
    Seen *card = card_of(id);
    /* The version of its BIOS is the one thing that is read of a card that cannot be used. */
    if (!card || (card->limited && unit)) return GONE;
    char found[256];
    int known = unit < 2 && SMI_TEXT(found, unit ? "showdriverversion" : "showvbios") >= 0;
    if (!known) return snprintf(text, *size, "unknown"), SYSFS;
    last_word(found);
    u32 length = (u32)strlen(found);
    if (*size <= length) {
        snprintf(text, *size, "unknown");
        *size = length + 1;
        return TOO_SMALL;
    }
    return answer_text(text, size, found);
}

u32 mxSmlGetBoardSerial(u32 id, char *text, u32 *size) {
    ENTER(id);
    NEED(text && size);
    CARD(id);
    NOT_OF_PARTS;
    char file[TEXT_SIZE], found[96];
    if (SMI_TEXT(file, "showe2prominfo") < 0) return UNSUPPORTED;
    if (!value_of(file, "pcba serial number", found, sizeof found)) return SYSFS;
    u32 code = answer_text(text, size, found);
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

/* --- figures of which each die has its own -------------------------------------------------------------------- */

/* What was read before a file that cannot be read is written all the same. */
static u32 memory_of(const Seen *card, int die, MemoryInfo *to) {
    char text[TEXT_SIZE];
    long found[3];
    if (DIE_TEXT(text, die, "showmeminfo") < 0 || numbers_in(text, 10, found, 3) < 3) return SYSFS;
    to->visible_total = found[0], to->total = found[1], to->xtt_total = found[2];
    if (DIE_TEXT(text, die, "showmemuse") < 0 || numbers_in(text, 10, found, 3) < 3) return SYSFS;
    to->visible_used = found[0], to->used = found[1], to->xtt_used = found[2];
    return DONE;
}

/* Together; but the host's memory is that of the first die. */
u32 mxSmlGetMemoryInfo(u32 id, MemoryInfo *out) {
    ENTER(id);
    NEED(out);
    CARD(id);
    MemoryInfo info = {0}, second = {0};
    u32 code = memory_of(card, 0, &info);
    memcpy(out, &info, sizeof info);
    if (code != DONE) return code;
    if (card->dies == 2) {
        if ((code = memory_of(card, 1, &second)) != DONE) return code;
        info.visible_total += second.visible_total, info.visible_used += second.visible_used;
        info.total += second.total, info.used += second.used;
    }
    hand_over(out, &info, sizeof info);
    return DONE;
}

/* The mean, without its fraction. */
u32 mxSmlGetDeviceIpUsage(u32 id, u32 unit, int *out) {
    ENTER(id);
    NEED(out);
    CARD(id);
    char text[TEXT_SIZE];
    long usage, sum = 0;
    *out = 0;
    if (unit != 4) return BAD_INPUT;
    for (int die = 0; die < card->dies; die++) {
        if (DIE_TEXT(text, die, "showxcuse") < 0 || !numbers_in(text, 16, &usage, 1)) return SYSFS;
        sum += usage;
        *out = (int)(sum / (die + 1));
    }
    return DONE;
}

/* The hotter one; but limits, and other places, are those of the first die. */
u32 mxSmlGetTemperatureInfo(u32 id, u32 sensor, int *out) {
    ENTER(id);
    NEED(out);
    CARD(id);
    static const char *names[] = {"hotspot", "hotlimit", "soc"};
    char text[TEXT_SIZE], value[32];
    long found;
    if (sensor > 2) return UNSUPPORTED;
    for (int die = 0; die < (sensor ? 1 : card->dies); die++) {
        if (DIE_TEXT(text, die, "showtemp") < 0) return UNSUPPORTED;
        if (!value_of(text, names[sensor], value, sizeof value) || !number_in(value, 10, &found)) return UNSUPPORTED;
        if (!die || found > *out) *out = (int)found;
    }
    return DONE;
}

/* The reasons of both. */
u32 mxSmlGetCurrentClocksThrottleReason(u32 id, uint64_t *bits) {
    ENTER(id);
    NEED(bits);
    CARD(id);
    char text[TEXT_SIZE];
    long found;
    *bits = 0;
    NOT_OF_PARTS;
    for (int die = 0; die < card->dies; die++) {
        if (DIE_TEXT(text, die, "pmdecsrc") < 0) return UNSUPPORTED;
        if (!numbers_in(text, 10, &found, 1)) return SYSFS;
        *bits |= (uint64_t)found;
    }
    return DONE;
}

/* Together. */
u32 mxSmlGetTotalEccErrors(u32 id, EccErrors *out) {
    ENTER(id);
    NEED(out);
    CARD(id);
    char text[TEXT_SIZE];
    long found[5];
    EccErrors errors = {0};
    memset(out, 0, sizeof *out);
    NOT_OF_PARTS;
    for (int die = 0; die < card->dies; die++) {
        if (DIE_TEXT(text, die, "ras_show_mem_ecc_info") < 0) return UNSUPPORTED;
        if (numbers_in(text, 10, found, 5) < 5) return SYSFS;
        errors.sram_corrected += (u32)found[0], errors.sram_uncorrected += (u32)found[1];
        errors.dram_corrected += (u32)found[2], errors.dram_uncorrected += (u32)found[3];
        errors.retired_pages += (u32)found[4];
        memcpy(out, &errors, sizeof errors);
    }
    hand_over(out, &errors, sizeof errors);
    return DONE;
}

/* --- figures of the board, which the first die has ------------------------------------------------------------- */

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
    if (SMI_TEXT(text, "showclocks") < 0) return UNSUPPORTED;
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
