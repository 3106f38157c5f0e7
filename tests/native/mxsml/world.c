#define _GNU_SOURCE
#include "world.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

World world;

static Kept kept[MOST_CARDS];
static int kept_count;
static char path[512];
static struct stat last;
static int loaded;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void unescape(char *text) {
    char *to = text;
    for (char *from = text; *from; from++, to++) {
        if (strncmp(from, "%20", 3) == 0) {
            *to = ' ';
            from += 2;
        } else {
            *to = *from;
        }
    }
    *to = 0;
}

/* The value of a key on a line, or what to take without one. */
static const char *value(const char *line, const char *key, const char *otherwise) {
    static char found[512];
    size_t length = strlen(key);
    for (const char *at = line; (at = strstr(at, key)); at += length) {
        if (at > line && at[-1] == ' ' && at[length] == '=') {
            size_t size = strcspn(at + length + 1, " \n");
            snprintf(found, sizeof found, "%.*s", (int)size, at + length + 1);
            unescape(found);
            return found;
        }
    }
    return otherwise;
}

static long number(const char *line, const char *key, long otherwise) {
    const char *text = value(line, key, NULL);
    return text ? strtol(text, NULL, 0) : otherwise;
}

static void copy(char *to, size_t size, const char *line, const char *key, const char *otherwise) {
    snprintf(to, size, "%s", value(line, key, otherwise));
}

static void several(const char *line, const char *key, u32 *to, int count) {
    const char *text = value(line, key, "");
    for (int at = 0; at < count && *text; at++) {
        char *end;
        to[at] = (u32)strtoul(text, &end, 0);
        text = *end == ',' ? end + 1 : end;
    }
}

static Kept *kept_for(const char *bdf, const char *line) {
    for (int at = 0; at < kept_count; at++)
        if (strcmp(kept[at].bdf, bdf) == 0) return &kept[at];
    if (kept_count == MOST_CARDS) return &kept[0];
    Kept *fresh = &kept[kept_count++];
    snprintf(fresh->bdf, sizeof fresh->bdf, "%s", bdf);
    fresh->toggle = (u32)number(line, "toggle", 0);
    fresh->policy = (u32)number(line, "policy", 0);
    return fresh;
}

static void read_card(const char *line, int limited) {
    if (world.card_count == MOST_CARDS) return;
    Card *card = &world.cards[world.card_count++];
    card->id = (u32)number(line, "id", world.card_count - 1);
    card->limited = limited;
    card->brand = (u32)number(line, "brand", 2);
    card->mode = (u32)number(line, "mode", 0);
    card->parent = (int)number(line, "parent", -1);
    card->state = (int)number(line, "state", 1);
    card->reason_code = (int)number(line, "reason_code", 0);
    card->total = number(line, "total", 67108864);
    card->used = number(line, "used", 845824);
    card->usage = (int)number(line, "usage", 0);
    card->temperature = (int)number(line, "temperature", 3850);
    card->cap = (u32)number(line, "cap", 350000);
    card->clock = (u32)number(line, "clock", 1500);
    card->sriov = (u32)number(line, "sriov", 0);
    card->numa = (int)number(line, "numa", 0);
    card->throttle = (uint64_t)number(line, "throttle", 1);
    card->link_state = (u32)number(line, "link", 0);
    card->gone = (int)number(line, "gone", 0);
    card->ways[0] = 20000, card->ways[1] = 21000, card->ways[2] = 20500;
    several(line, "ways", card->ways, 3);
    several(line, "ecc", card->ecc, 5);
    copy(card->bdf, sizeof card->bdf, line, "bdf", "");
    copy(card->uuid, sizeof card->uuid, line, "uuid", "");
    copy(card->name, sizeof card->name, line, "name", "MXC500");
    copy(card->reason, sizeof card->reason, line, "reason", "");
    copy(card->driver, sizeof card->driver, line, "driver", "3.8.30");
    copy(card->bios, sizeof card->bios, line, "bios", "1.33.5.0");
    copy(card->serial, sizeof card->serial, line, "serial", "BOARD");
    copy(card->chip, sizeof card->chip, line, "chip", "CHIP");
    copy(card->link_text, sizeof card->link_text, line, "link_text", "");
    for (int port = 0; port < MOST_PORTS; port++) card->peers[port] = -1, card->port_states[port] = 5;
    card->kept = kept_for(card->bdf, line);
}

static void read_slice(const char *line) {
    Card *card = card_of((u32)number(line, "card", 0));
    long id = number(line, "id", 0);
    if (!card || id < 0 || id >= MOST_SLICES) return;
    Slice *slice = &card->kept->slices[id];
    slice->present = 1;
    slice->megabytes = (u32)number(line, "memory", 4096);
    slice->compute = (u32)number(line, "compute", 5);
    slice->minor = (u32)number(line, "minor", id);
    slice->online = (u32)number(line, "online", 0);
    slice->usage = (u32)number(line, "usage", 0);
    slice->used = number(line, "used", 0);
    copy(slice->uuid, sizeof slice->uuid, line, "uuid", "");
    copy(slice->alias, sizeof slice->alias, line, "alias", "");
}

static void read_rule(const char *line) {
    if (world.rule_count == MOST_RULES) return;
    Rule *rule = &world.rules[world.rule_count++];
    copy(rule->call, sizeof rule->call, line, "call", "");
    copy(rule->fifo, sizeof rule->fifo, line, "fifo", "");
    rule->code = number(line, "code", 0);
    rule->device = (int)number(line, "device", -1);
    rule->times = (int)number(line, "times", -1);
    rule->after = (int)number(line, "after", 0);
}

static void read_line(const char *line) {
    if (strncmp(line, "card ", 5) == 0) read_card(line, 0);
    else if (strncmp(line, "limited ", 8) == 0) read_card(line, 1);
    else if (strncmp(line, "slice ", 6) == 0) { if (!loaded) read_slice(line); }
    else if (strncmp(line, "fault ", 6) == 0 || strncmp(line, "block ", 6) == 0) read_rule(line);
    else if (strncmp(line, "level ", 6) == 0) {
        long a = number(line, "a", 0), b = number(line, "b", 0);
        if (a >= 0 && b >= 0 && a < MOST_CARDS && b < MOST_CARDS)
            world.levels[a][b] = world.levels[b][a] = (unsigned char)(number(line, "is", 8) + 1);
    } else if (strncmp(line, "port ", 5) == 0) {
        Card *card = card_of((u32)number(line, "card", 0));
        long port = number(line, "port", 0);
        if (card && port >= 0 && port < MOST_PORTS) {
            card->has_links = 1;
            card->peers[port] = (int)number(line, "to", -1);
            card->port_states[port] = (u32)number(line, "state", 1);
        }
    } else if (strncmp(line, "process ", 8) == 0 && world.running_count < MOST_PROCESSES) {
        Running *running = &world.running[world.running_count++];
        running->pid = (u32)number(line, "pid", 1);
        running->card = (u32)number(line, "card", 0);
        running->slice = (int)number(line, "slice", -1);
        running->memory = (unsigned long)number(line, "memory", 0);
        copy(running->name, sizeof running->name, line, "name", "python");
    } else if (strncmp(line, "fixed", 5) == 0) {
        world.fixed = 1;
    } else if (strncmp(line, "quirk ", 6) == 0) {
        const char *name = value(line, "name", "");
        world.huge_counts |= strcmp(name, "huge-counts") == 0;
        world.unterminated |= strcmp(name, "unterminated") == 0;
        world.grown |= strcmp(name, "grown") == 0;
        world.ports_from_one |= strcmp(name, "ports-from-one") == 0;
        world.rounds_memory |= strcmp(name, "rounds-memory") == 0;
        world.stays_offline |= strcmp(name, "stays-offline") == 0;
    }
}

static void refresh(void) {
    struct stat now;
    if (world.fixed) return;
    if (!path[0]) {
        const char *named = getenv("TANGRAM_MXSML_WORLD");
        snprintf(path, sizeof path, "%s", named ? named : "/nonexistent");
    }
    if (stat(path, &now) != 0) {
        memset(&world, 0, sizeof world);
        memset(&last, 0, sizeof last);
        return;
    }
    if (now.st_ino == last.st_ino && now.st_mtim.tv_nsec == last.st_mtim.tv_nsec &&
        now.st_mtim.tv_sec == last.st_mtim.tv_sec && now.st_size == last.st_size)
        return;
    last = now;
    FILE *file = fopen(path, "r");
    if (!file) return;
    memset(&world, 0, sizeof world);
    char line[2048];
    while (fgets(line, sizeof line, file)) read_line(line);
    fclose(file);
    loaded = 1;
}

static void wait_at(const char *fifo) {
    char ignored;
    int descriptor = open(fifo, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return;
    while (read(descriptor, &ignored, 1) > 0) {}
    close(descriptor);
}

long check(const char *call, int device) {
    char fifo[256] = "";
    long code = -1;
    pthread_mutex_lock(&lock);
    refresh();
    for (int at = 0; at < world.rule_count; at++) {
        Rule *rule = &world.rules[at];
        if (strcmp(rule->call, call) != 0 || rule->times == 0) continue;
        if (rule->device >= 0 && rule->device != device) continue;
        if (rule->after > 0) {
            rule->after--;
            continue;
        }
        if (rule->times > 0) rule->times--;
        if (rule->fifo[0]) snprintf(fifo, sizeof fifo, "%s", rule->fifo);
        else code = rule->code;
        break;
    }
    pthread_mutex_unlock(&lock);
    if (fifo[0]) wait_at(fifo);
    return code;
}

Card *card_of(u32 id) {
    for (int at = 0; at < world.card_count; at++)
        if (world.cards[at].id == id && !world.cards[at].gone) return &world.cards[at];
    return NULL;
}
