#define _GNU_SOURCE
#include "seen.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

Seen cards[MOST_CARDS];
SeenSlice slices[MOST_CARDS * SLICES_OF_A_CARD];
int card_count, slice_count;

static int looked, usable;

static const struct { long device; const char *name; unsigned brand; } PRODUCTS[] = {
    {0x4000, "MXC550", 2}, {0x4001, "MXC500", 2}, {0x4018, "MXC550 VF", 2}, {0x4019, "MXC500 VF", 2},
    {0x4083, "MXN260", 2}, {0x4100, "MXC600", 0}, {0x0a01, "MXN100", 1}, {0x0a18, "MXN100 VF", 1}};

const char *class_folder(void) {
    static __thread char found[PATH_SIZE / 2];
    snprintf(found, sizeof found, "%s/class/metax/mxcd", sysfs());
    if (!is_there("%s/", found)) snprintf(found, sizeof found, "%s/class/mxcd/mxcd", sysfs());
    return found;
}

static void trimmed(char *text) {
    size_t length = strlen(text);
    while (length && isspace((unsigned char)text[length - 1])) text[--length] = 0;
}

static long property(int node, const char *key) {
    char text[TEXT_SIZE], value[64];
    long found = 0;
    if (read_text(text, sizeof text, "%s/layout/nodes/%d/properties", class_folder(), node) < 0) return 0;
    if (value_of(text, key, value, sizeof value)) number_in(value, 10, &found);
    return found;
}

/* The layout node of a card; -1 for none. Nodes of processors and of slices are no cards. */
static int node_at(const char *bdf) {
    char folder[PATH_SIZE], text[96];
    int found = -1;
    snprintf(folder, sizeof folder, "%s/layout/nodes", class_folder());
    DIR *nodes = opendir(folder);
    for (struct dirent *entry; nodes && found < 0 && (entry = readdir(nodes));) {
        if (!isdigit((unsigned char)entry->d_name[0])) continue;
        if (read_text(text, sizeof text, "%s/%s/location", folder, entry->d_name) < 0) continue;
        trimmed(text);
        if (strcmp(text, bdf) != 0) continue;
        if (read_text(text, sizeof text, "%s/%s/type", folder, entry->d_name) > 0 && strncmp(text, "sgpu-sub", 8) == 0) continue;
        found = atoi(entry->d_name);
    }
    if (nodes) closedir(nodes);
    return found;
}

static void name_card(Seen *card, const char *folder) {
    char text[64] = "";
    read_text(text, sizeof text, "%s/device", folder);
    long device = strtol(text, NULL, 16);
    snprintf(card->name, sizeof card->name, "0x%lx", device);
    for (size_t at = 0; at < sizeof PRODUCTS / sizeof *PRODUCTS; at++)
        if (PRODUCTS[at].device == device) {
            snprintf(card->name, sizeof card->name, "%s", PRODUCTS[at].name);
            card->brand = PRODUCTS[at].brand;
        }
    if (read_text(text, sizeof text, "%s/smi/showcardname", folder) > 0) {
        trimmed(text);
        snprintf(card->name, sizeof card->name, "%.31s", text);
    }
}

static int is_driven_by(const char *folder, const char *driver) {
    char link[PATH_SIZE], target[PATH_SIZE];
    snprintf(link, sizeof link, "%s/driver", folder);
    ssize_t length = readlink(link, target, sizeof target - 1);
    if (length <= 0) return 0;
    target[length] = 0;
    const char *name = strrchr(target, '/');
    return strcmp(name ? name + 1 : target, driver) == 0;
}

static void see(Seen *card, const char *bdf) {
    char folder[PATH_SIZE / 2], text[128];
    memset(card, 0, sizeof *card);
    snprintf(card->bdf, sizeof card->bdf, "%.31s", bdf);
    snprintf(folder, sizeof folder, "%s/bus/pci/devices/%s", sysfs(), bdf);
    card->node = node_at(bdf);
    card->physical = is_driven_by(folder, "MXGVM");
    name_card(card, folder);
    card->dies = is_there("%s/smi1", folder) ? 2 : 1;
    int readable = is_there("%s/smi/pcipowerstate", folder) && is_there("%s/smi/showvendorid", folder);
    card->limited = !card->physical && (card->node < 0 || !readable);
    if (card->node >= 0) {
        card->gid = read_number(0, "%s/layout/nodes/%d/gid", class_folder(), card->node);
        if (read_text(text, sizeof text, "%s/layout/nodes/%d/unique_id", class_folder(), card->node) > 0) {
            trimmed(text);
            snprintf(card->uuid, sizeof card->uuid, "GPU-%.91s", text);
        }
    }
    card->mode = card->node >= 0 && property(card->node, "is_vf") ? 2 : card->physical && card->node < 0 ? 1 : 0;
}

static int by_address(const void *one, const void *other) {
    return strcmp(((const Seen *)one)->bdf, ((const Seen *)other)->bdf);
}

/* The slices that there are now, from their layout nodes. */
static void see_slices(void) {
    char folder[PATH_SIZE / 2], bdf[64];
    snprintf(folder, sizeof folder, "%s/layout/nodes", class_folder());
    DIR *nodes = opendir(folder);
    slice_count = 0;
    for (struct dirent *entry; nodes && slice_count < MOST_CARDS * SLICES_OF_A_CARD && (entry = readdir(nodes));) {
        if (!isdigit((unsigned char)entry->d_name[0]) || !is_there("%s/%s/local_id", folder, entry->d_name)) continue;
        if (read_text(bdf, sizeof bdf, "%s/%s/location", folder, entry->d_name) < 0) continue;
        trimmed(bdf);
        Seen *card = card_at(bdf);
        if (!card) continue;
        slices[slice_count].gid = read_number(-1, "%s/%s/gid", folder, entry->d_name);
        slices[slice_count].number = (int)read_number(0, "%s/%s/local_id", folder, entry->d_name);
        slices[slice_count++].card = (int)(card - cards);
    }
    if (nodes) closedir(nodes);
}

int look(int again) {
    char folder[PATH_SIZE], vendor[32];
    if (looked && !again) return usable;
    looked = 1;
    card_count = usable = 0;
    snprintf(folder, sizeof folder, "%s/bus/pci/devices", sysfs());
    DIR *devices = opendir(folder);
    for (struct dirent *entry; devices && card_count < MOST_CARDS && (entry = readdir(devices));) {
        if (read_text(vendor, sizeof vendor, "%s/%s/vendor", folder, entry->d_name) < 0) continue;
        if (strncmp(vendor, "0x9999", 6) == 0) see(&cards[card_count++], entry->d_name);
    }
    if (devices) closedir(devices);
    qsort(cards, (size_t)card_count, sizeof *cards, by_address);
    unsigned ordinary = 0, physical = FIRST_PHYSICAL;
    for (int at = 0; at < card_count; at++)
        if (!cards[at].limited) cards[at].number = cards[at].physical ? physical++ : ordinary++;
    usable = (int)ordinary + (int)(physical - FIRST_PHYSICAL);
    for (int at = 0; at < card_count; at++)
        if (cards[at].limited) cards[at].number = ordinary++;
    see_slices();
    return usable;
}

Seen *card_of(unsigned number) {
    for (int at = 0; at < card_count; at++)
        if (cards[at].number == number) return &cards[at];
    return NULL;
}

Seen *card_at(const char *bdf) {
    for (int at = 0; at < card_count; at++)
        if (strcmp(cards[at].bdf, bdf) == 0) return &cards[at];
    return NULL;
}

/* What the links of a node say: with `to` the type of the one to it, else the far end of one of that type. */
static long link_of(int from, int to, long type) {
    char text[256], value[32];
    const char *kinds[] = {"direct_links", "indirect_links"};
    for (int kind = 0; kind < 2; kind++)
        for (int at = 0; at < 256; at++) {
            long end = -1, is = 0;
            if (read_text(text, sizeof text, "%s/layout/nodes/%d/%s/%d/properties", class_folder(), from, kinds[kind], at) < 0) break;
            if (value_of(text, "to", value, sizeof value)) number_in(value, 10, &end);
            if (value_of(text, "type", value, sizeof value)) number_in(value, 10, &is);
            if (to >= 0 && end == to) return is;
            if (to < 0 && is == type) return end;
        }
    return to >= 0 ? 0 : -1;
}

long link_type(int from, int to) { return link_of(from, to, 0); }
int linked_to(int from, long type) { return (int)link_of(from, -1, type); }
