/*
 * Calls every function of the twin with good arguments, with null pointers, with short buffers and with strange
 * handles, start to end several times. It prints nothing; the sanitizers it is built with end it when memory is
 * touched that should not be, or is left behind.
 */
#include "abi.h"

#include <stdlib.h>
#include <string.h>

/* Exactly as large as the library may fill, on the heap, so that one byte too many is seen. */
static void texts(int (*ask)(Device *, char *, uint32_t), Device *device, uint32_t length) {
    char *text = malloc(length), *nothing = malloc(1);
    ask(device, text, length);
    ask(device, nothing, 1);
    ask(device, NULL, length);
    ask(NULL, text, length);
    free(text);
    free(nothing);
}

static void serial(Device *device) {
    char *text = malloc(64);
    mtmlDeviceGetSerialNumber(device, 64, text);
    mtmlDeviceGetSerialNumber(device, 1, text);
    mtmlDeviceGetSerialNumber(device, 64, NULL);
    free(text);
}

static void records(Device *device) {
    MtmlPciInfo *place = malloc(sizeof *place);
    MtmlDeviceProperty *bits = malloc(sizeof *bits);
    MtmlMtLinkSpec *spec = malloc(sizeof *spec);
    mtmlDeviceGetPciInfo(device, place);
    mtmlDeviceGetPciInfo(device, NULL);
    mtmlDeviceGetProperty(device, bits);
    mtmlDeviceGetProperty(device, NULL);
    mtmlDeviceGetMtLinkSpec(device, spec);
    mtmlDeviceGetMtLinkSpec(device, NULL);
    free(place);
    free(bits);
    free(spec);
}

static void parts(Device *device) {
    Gpu *gpu = NULL;
    Memory *memory = NULL;
    uint32_t small, pending;
    int32_t degrees;
    uint64_t large;
    MtmlPageRetirementCount pages;
    mtmlDeviceInitGpu(device, &gpu);
    mtmlDeviceInitGpu(device, NULL);
    mtmlDeviceInitMemory(device, &memory);
    mtmlGpuGetUtilization(gpu, &small);
    mtmlGpuGetUtilization(gpu, NULL);
    mtmlGpuGetTemperature(gpu, &degrees);
    mtmlGpuGetClock(gpu, &small);
    mtmlGpuGetMaxClock(gpu, &small);
    mtmlMemoryGetTotal(memory, &large);
    mtmlMemoryGetTotal(NULL, &large);
    mtmlMemoryGetUsed(memory, &large);
    mtmlMemoryGetUtilization(memory, &small);
    mtmlMemoryGetClock(memory, &small);
    mtmlMemoryGetMaxClock(memory, &small);
    mtmlMemoryGetEccMode(memory, &small, &pending);
    mtmlMemoryGetEccErrorCounter(memory, 1, 0, 1, &large);
    mtmlMemoryGetEccErrorCounter(memory, 9, 9, 9, NULL);
    mtmlMemoryGetRetiredPagesCount(memory, &pages);
    mtmlMemoryGetRetiredPagesPendingStatus(memory, &small);
    mtmlDeviceFreeGpu(gpu);
    mtmlDeviceFreeMemory(memory);
}

static void pair(Device *one, Device *other) {
    uint32_t count = 0, length, level;
    Device *remote;
    mtmlDeviceGetTopologyLevel(one, other, &level);
    mtmlDeviceGetTopologyLevel(one, NULL, &level);
    mtmlDeviceGetP2PStatus(one, other, 0, &level);
    mtmlDeviceCountMtLinkLayouts(one, other, &count);
    MtmlMtLinkLayout *layouts = malloc(count ? count * sizeof *layouts : 1);
    mtmlDeviceGetMtLinkLayouts(one, other, count, layouts);
    mtmlDeviceGetMtLinkLayouts(one, other, 0, layouts);
    free(layouts);
    mtmlDeviceCountMtLinkShortestPaths(one, other, &count, &length);
    for (uint32_t port = 0; port < 40; port++) {
        mtmlDeviceGetMtLinkState(one, port, &level);
        mtmlDeviceGetMtLinkRemoteDevice(one, port, &remote);
    }
}

static void card(Library *library, uint32_t index) {
    Device *device = NULL, *next = NULL, *found = NULL;
    uint32_t small;
    if (mtmlLibraryInitDeviceByIndex(library, index, &device) != OK) return;
    char uuid[48] = "", sbdf[] = "00000000:03:00.0";
    mtmlDeviceGetUUID(device, uuid, sizeof uuid);
    mtmlLibraryInitDeviceByUuid(library, uuid, &found);
    mtmlLibraryInitDeviceByPciSbdf(library, sbdf, &found);
    texts(mtmlDeviceGetUUID, device, 48);
    texts(mtmlDeviceGetName, device, 32);
    texts(mtmlDeviceGetMtBiosVersion, device, 64);
    texts(mtmlDeviceGetGpuPath, device, 64);
    texts(mtmlDeviceGetPrimaryPath, device, 64);
    texts(mtmlDeviceGetRenderPath, device, 64);
    serial(device);
    records(device);
    parts(device);
    mtmlDeviceGetIndex(device, &small);
    mtmlDeviceGetBrand(device, &small);
    mtmlDeviceCountGpuCores(device, &small);
    mtmlDeviceGetPowerUsage(device, &small);
    mtmlDeviceGetIndex((Device *)((char *)device + 1), &small);
    for (uint32_t level = 0; level < 7; level++) {
        uint32_t count = 0;
        mtmlDeviceCountDeviceByTopologyLevel(device, level, &count);
        Device **peers = malloc(count ? count * sizeof *peers : 1);
        mtmlDeviceGetDeviceByTopologyLevel(device, level, count, peers);
        free(peers);
    }
    for (uint32_t words = 0; words < 3; words++) {
        unsigned long *mask = malloc(words ? words * sizeof *mask : 1);
        mtmlDeviceGetCpuAffinityWithinNode(device, words, mask);
        mtmlDeviceGetMemoryAffinityWithinNode(device, words, mask);
        free(mask);
    }
    mtmlLibraryInitDeviceByIndex(library, index + 1, &next);
    pair(device, next ? next : device);
    mtmlLibraryFreeDevice(device);
}

int main(void) {
    for (int round = 0; round < 3; round++) {
        Library *library = NULL;
        System *system = NULL;
        uint32_t count = 0;
        char text[80];
        mtmlLibraryInit(NULL);
        mtmlLibraryInit(&library);
        mtmlLibraryGetVersion(library, text, 32);
        mtmlLibraryGetVersion(NULL, text, 32);
        mtmlLibraryInitSystem(library, &system);
        mtmlSystemGetDriverVersion(system, text, 80);
        mtmlSystemGetDriverVersion(system, text, 2);
        mtmlLibraryFreeSystem(system);
        mtmlLibraryCountDevice(library, &count);
        for (uint32_t index = 0; index < count + 1; index++) card(library, index);
        for (int code = -1; code < 1000; code++)
            if (!mtmlErrorString(code)) return 1;
        mtmlLibraryShutDown(library);
        mtmlLibraryShutDown(library);
    }
    return 0;
}
