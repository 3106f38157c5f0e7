/*
 * Our own declaration of the part of Moore Threads' management library that Tangram uses: names, argument order and
 * record layouts are facts of that library, the words are ours. Two functions take the length before the buffer.
 */
#ifndef TANGRAM_MTML_ABI_H
#define TANGRAM_MTML_ABI_H

#include <stdint.h>

enum {
    OK = 0,
    DRIVER_NOT_LOADED = 1,
    DRIVER_FAILURE = 2,
    INVALID_ARGUMENT = 3,
    NOT_SUPPORTED = 4,
    NO_PERMISSION = 5,
    INSUFFICIENT_SIZE = 6,
    NOT_FOUND = 7,
    INSUFFICIENT_MEMORY = 8,
    DRIVER_TOO_OLD = 9,
    DRIVER_TOO_NEW = 10,
    TIMED_OUT = 11,
    RESOURCE_IS_BUSY = 12,
    UNKNOWN = 999,
};

typedef struct {
    char sbdf[32];
    uint32_t segment, bus, device, pciDeviceId, pciSubsystemId, busWidth;
    float pciMaxSpeed, pciCurSpeed;
    uint32_t pciMaxWidth, pciCurWidth, pciMaxGen, pciCurGen;
    int32_t rsvd[6];
} MtmlPciInfo;

typedef struct {
    uint32_t virtCap : 1, virtRole : 3, mpcCap : 1, mpcType : 3, mtLinkCap : 1, rsvd : 23;
    uint32_t rsvd2;
} MtmlDeviceProperty;

typedef struct {
    uint32_t version, bandWidth, linkNum, rsvd[4];
} MtmlMtLinkSpec;

typedef struct {
    uint32_t localLinkId, remoteLinkId, rsvd[4];
} MtmlMtLinkLayout;

typedef struct {
    uint32_t sbeCount, dbeCount;
} MtmlPageRetirementCount;

#ifndef RECORD_WORDS
#define RECORD_WORDS 2
#endif

/* In no header; as measured on libmtml 1.5.0. */
typedef struct {
    uint32_t pid;
    uint64_t memory, rsvd[RECORD_WORDS];
} ProcessRecord;

typedef struct Library Library;
typedef struct System System;
typedef struct Device Device;
typedef struct Gpu Gpu;
typedef struct Memory Memory;

int mtmlLibraryInit(Library **out);
int mtmlLibraryShutDown(Library *library);
int mtmlLibraryGetVersion(Library *library, char *out, uint32_t length);
int mtmlLibraryInitSystem(Library *library, System **out);
int mtmlLibraryFreeSystem(System *system);
int mtmlLibraryCountDevice(Library *library, uint32_t *out);
int mtmlLibraryInitDeviceByIndex(Library *library, uint32_t index, Device **out);
int mtmlLibraryInitDeviceByUuid(Library *library, const char *uuid, Device **out);
int mtmlLibraryInitDeviceByPciSbdf(Library *library, const char *sbdf, Device **out);
int mtmlLibraryFreeDevice(Device *device);
int mtmlSystemGetDriverVersion(System *system, char *out, uint32_t length);
const char *mtmlErrorString(int code);

int mtmlDeviceInitGpu(Device *device, Gpu **out);
int mtmlDeviceFreeGpu(Gpu *gpu);
int mtmlDeviceInitMemory(Device *device, Memory **out);
int mtmlDeviceFreeMemory(Memory *memory);
int mtmlDeviceGetIndex(Device *device, uint32_t *out);
int mtmlDeviceGetUUID(Device *device, char *out, uint32_t length);
int mtmlDeviceGetName(Device *device, char *out, uint32_t length);
int mtmlDeviceGetBrand(Device *device, uint32_t *out);
int mtmlDeviceGetSerialNumber(Device *device, uint32_t length, char *out);
int mtmlDeviceGetMtBiosVersion(Device *device, char *out, uint32_t length);
int mtmlDeviceGetGpuPath(Device *device, char *out, uint32_t length);
int mtmlDeviceGetPrimaryPath(Device *device, char *out, uint32_t length);
int mtmlDeviceGetRenderPath(Device *device, char *out, uint32_t length);
int mtmlDeviceGetPciInfo(Device *device, MtmlPciInfo *out);
int mtmlDeviceGetProperty(Device *device, MtmlDeviceProperty *out);
int mtmlDeviceCountGpuCores(Device *device, uint32_t *out);
int mtmlDeviceGetPowerUsage(Device *device, uint32_t *out);
int mtmlDeviceCountRunningProcesses(Device *device, uint32_t *out);
int mtmlDeviceGetRunningProcesses(Device *device, uint32_t count, ProcessRecord *out);

int mtmlGpuGetUtilization(Gpu *gpu, uint32_t *out);
int mtmlGpuGetTemperature(Gpu *gpu, int32_t *out);
int mtmlGpuGetClock(Gpu *gpu, uint32_t *out);
int mtmlGpuGetMaxClock(Gpu *gpu, uint32_t *out);
int mtmlMemoryGetTotal(Memory *memory, uint64_t *out);
int mtmlMemoryGetUsed(Memory *memory, uint64_t *out);
int mtmlMemoryGetUtilization(Memory *memory, uint32_t *out);
int mtmlMemoryGetClock(Memory *memory, uint32_t *out);
int mtmlMemoryGetMaxClock(Memory *memory, uint32_t *out);
int mtmlMemoryGetEccMode(Memory *memory, uint32_t *current, uint32_t *pending);
int mtmlMemoryGetEccErrorCounter(Memory *memory, uint32_t error, uint32_t counter, uint32_t location, uint64_t *out);
int mtmlMemoryGetRetiredPagesCount(Memory *memory, MtmlPageRetirementCount *out);
int mtmlMemoryGetRetiredPagesPendingStatus(Memory *memory, uint32_t *out);

int mtmlDeviceGetTopologyLevel(Device *one, Device *other, uint32_t *out);
int mtmlDeviceGetP2PStatus(Device *one, Device *other, uint32_t capability, uint32_t *out);
int mtmlDeviceCountDeviceByTopologyLevel(Device *device, uint32_t level, uint32_t *out);
int mtmlDeviceGetDeviceByTopologyLevel(Device *device, uint32_t level, uint32_t count, Device **out);
int mtmlDeviceGetMtLinkSpec(Device *device, MtmlMtLinkSpec *out);
int mtmlDeviceGetMtLinkState(Device *device, uint32_t port, uint32_t *out);
int mtmlDeviceGetMtLinkRemoteDevice(Device *device, uint32_t port, Device **out);
int mtmlDeviceCountMtLinkLayouts(Device *one, Device *other, uint32_t *out);
int mtmlDeviceGetMtLinkLayouts(Device *one, Device *other, uint32_t count, MtmlMtLinkLayout *out);
int mtmlDeviceCountMtLinkShortestPaths(Device *one, Device *other, uint32_t *count, uint32_t *length);
int mtmlDeviceGetCpuAffinityWithinNode(Device *device, uint32_t words, unsigned long *out);
int mtmlDeviceGetMemoryAffinityWithinNode(Device *device, uint32_t words, unsigned long *out);

#endif
