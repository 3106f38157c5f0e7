/* MetaXLink: levels between cards, the far ends of ports, and what each port says. */
#define _GNU_SOURCE
#include "inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOT_USED 5
#define METAXLINK 4

u32 mxSmlGetDeviceTopology(u32 a, u32 b, u32 *level) {
    ENTER(a);
    FATAL_WITHOUT_CARDS;
    NEED(level);
    Seen *one = card_of(a), *other = card_of(b);
    if (!one || !other || one->node < 0 || other->node < 0) return GONE;
    if (one == other) return *level = 0, DONE;
    long type = link_type(one->node, other->node);
    *level = type == METAXLINK ? 5 : type == 5 ? 7 : type >= 101 && type <= 104 ? (u32)type - 100 : type == 105 ? 6 : 8;
    return DONE;
}

#define MOST_SOCKETS 8

/* Sockets at the other ends of ports 1 to 7, by arrangement and socket. */
static const struct { long number; int sockets; signed char ends[MOST_SOCKETS][PORTS]; } ARRANGEMENTS[] = {
    {1, 2, {{-1, -1, -1, 1, 1, -1, -1}, {-1, -1, -1, 0, 0, -1, -1}}},
    {2, 4, {{-1, -1, -1, 2, 3, 1, -1}, {-1, -1, -1, 3, 2, 0, -1}, {-1, -1, -1, 0, 1, 3, -1}, {-1, -1, -1, 1, 0, 2, -1}}},
    {3, 8, {{4, 7, 3, 1, 6, 2, 5}, {5, 6, 2, 3, 7, 0, 4}, {6, 5, 1, 4, 3, 0, 7}, {7, 4, 0, 1, 2, 5, 6},
            {0, 3, 7, 2, 5, 6, 1}, {1, 2, 6, 7, 4, 3, 0}, {2, 1, 5, 7, 0, 4, 3}, {3, 0, 4, 5, 1, 6, 2}}},
    {4, 4, {{2, 3, 1, -1, -1, -1, -1}, {3, 2, 0, -1, -1, -1, -1}, {0, 1, 3, -1, -1, -1, -1}, {1, 0, 2, -1, -1, -1, -1}}},
    {5, 8, {{4, 3, 3, 1, 1, 2, -1}, {5, 2, 2, 3, 0, 0, -1}, {6, 1, 1, 3, 6, 0, -1}, {7, 0, 0, 1, 7, 2, -1},
            {0, 7, 7, 5, 5, 6, -1}, {1, 6, 6, 7, 4, 4, -1}, {2, 5, 5, 7, 2, 4, -1}, {3, 4, 4, 5, 3, 6, -1}}},
    {12, 8, {{4, 7, 3, 1, 6, 5, 2}, {5, 6, 2, 3, 7, 4, 0}, {6, 5, 1, 4, 3, 0, 7}, {7, 4, 0, 1, 2, 6, 5},
             {0, 3, 7, 2, 5, 6, 1}, {1, 2, 6, 7, 4, 3, 0}, {2, 1, 5, 7, 0, 4, 3}, {3, 0, 4, 5, 1, 2, 6}}},
};

static int socket_at(long arrangement, long socket, u32 port) {
    for (size_t at = 0; at < sizeof ARRANGEMENTS / sizeof *ARRANGEMENTS; at++)
        if (ARRANGEMENTS[at].number == arrangement && socket >= 0 && socket < ARRANGEMENTS[at].sockets)
            return ARRANGEMENTS[at].ends[socket][port - 1];
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
        put_text(out->bdf, sizeof out->bdf, peer->bdf);
        return DONE;
    }
    return wanted >= 0 && !there_is_one ? FAILURE : NO_DEVICE;
}

/* Of a card with two dies, each has three ports; it has no seventh. */
#define PORTS_OF_A_DIE 3

/* The value of a port in lines "portN: value" of the file of its die. -1 for a file that cannot be read. */
static int of_ports(const Seen *card, const char *name, float otherwise, float *to) {
    char text[TEXT_SIZE], key[16], value[32];
    int each = card->dies == 2 ? PORTS_OF_A_DIE : PORTS;
    for (int port = 0; port < PORTS; port++) to[port] = card->dies == 2 ? otherwise : 0;
    for (int die = 0; die < card->dies; die++) {
        if (DIE_TEXT(text, die, name) < 0) return -1;
        for (int port = 0; port < each; port++) {
            snprintf(key, sizeof key, "port%d", port + 1);
            to[die * each + port] = value_of(text, key, value, sizeof value) ? strtof(value, NULL) : otherwise;
        }
    }
    return 0;
}

static u32 speeds_of(const Seen *card, LinkSpeeds *to) {
    float widths[PORTS];
    if (of_ports(card, "showmetalkspeed", 0, to->speed) < 0 || of_ports(card, "showmetalkwidth", 0, widths) < 0) return SYSFS;
    for (int port = 0; port < PORTS; port++) to->width[port] = (u32)widths[port];
    return DONE;
}

u32 mxSmlGetMetaXLinkInfo(u32 id, LinkSpeeds *out) {
    ENTER(id);
    NEED(out);
    CARD(id);
    LinkSpeeds speeds = {0};
    if (card->dies == 1) hand_over(out, &speeds, sizeof speeds);
    NOT_OF_PARTS;
    u32 code = speeds_of(card, &speeds);
    if (code == DONE) hand_over(out, &speeds, sizeof speeds);
    return code;
}

u32 mxSmlGetMetaXLinkInfo_v2(u32 id, u32 *count, LinkSpeed *out) {
    ENTER(id);
    NEED(count && out);
    CARD(id);
    LinkSpeeds speeds = {0};
    u32 code = speeds_of(card, &speeds);
    if (code != DONE) return code;
    if (*count < PORTS) return TOO_SMALL;
    for (int port = 0; port < PORTS; port++) out[port] = (LinkSpeed){speeds.speed[port], speeds.width[port]};
    *count = counted(PORTS);
    return DONE;
}

/* Of two dies that of the first one, unless that is in order. */
u32 mxSmlGetMetaXLinkState(u32 id, u32 *state, char *text, u32 *size) {
    ENTER(id);
    NEED(state && text && size);
    CARD(id);
    u32 code = DONE;
    for (int die = 0; die < card->dies; die++) {
        char file[TEXT_SIZE], line[96] = "";
        long found;
        if (DIE_TEXT(file, die, "metalink_ctrl") < 0 || !numbers_in(file, 10, &found, 1)) return UNSUPPORTED;
        if (die && *state) break;
        *state = (u32)found;
        line_of(file, 1, line, sizeof line);
        code = answer_text(text, size, line);
    }
    return code;
}

u32 mxSmlGetMetaXLinkPortState(u32 id, u32 *states, u32 *count) {
    ENTER(id);
    NEED(states && count);
    CARD(id);
    NOT_OF_PARTS;
    float found[PORTS];
    if (card->dies == 1 && *count < PORTS) return *count = PORTS, TOO_SMALL;
    if (of_ports(card, "showmetalkstatus", NOT_USED, found) < 0) return SYSFS;
    /* The whole of the room, of which only the first seven are ports; the room stays what it was. Of two dies the room
     * is not looked at, and seven are written. */
    u32 written = card->dies == 2 ? PORTS : *count;
    for (u32 at = 0; at < written; at++) states[at] = at < PORTS ? (u32)found[at] : NOT_USED;
    if (quirks.huge_counts) *count = 0xFFFFFFFFu;
    return DONE;
}
