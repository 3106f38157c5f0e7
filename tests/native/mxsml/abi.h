/* Our own declaration of the records and functions of MetaX's management library that we call.
 * Sizes and offsets are facts about a binary interface; names of fields are ours. */
#ifndef TANGRAM_MXSML_ABI_H
#define TANGRAM_MXSML_ABI_H

#include <stdint.h>

typedef unsigned int u32;

typedef struct {
    u32 device_id, kind;
    char bdf[32];
    u32 gpu_id, node_id;
    char uuid[96];
    u32 brand, mode;
    char name[32];
} DeviceInfo;

typedef struct { int number; int ids[128]; } DeviceIds;
typedef struct { int code; char text[64]; } UnavailableReason;
typedef struct { long visible_total, visible_used, total, used, xtt_total, xtt_used; } MemoryInfo;
typedef struct { u32 voltage, current, power; } BoardWay;
typedef struct { u32 sram_corrected, sram_uncorrected, dram_corrected, dram_uncorrected, retired_pages; } EccErrors;
typedef struct { u32 parent, slice_id, memory_mb, queue_priority, compute, minor, online; char uuid[96]; } SliceInfo;
typedef struct { u32 total_mb, free_mb, free_compute; } SliceQuota;
typedef struct { long total, used, free; } SliceMemory;
typedef struct { float speed; u32 width; } LinkSpeed;
typedef struct { float speed[7]; u32 width[7]; } LinkSpeeds;
typedef struct { int device_id; char bdf[32]; } RemoteEnd;
typedef struct { char bdf[32]; u32 gpu_id; unsigned long memory; } ProcessOnCard1;
typedef struct { char bdf[32]; u32 gpu_id; unsigned long memory; u32 die; } ProcessOnCard2;
typedef struct { char bdf[32]; u32 gpu_id; unsigned long memory; u32 die; int slice_id; } ProcessOnCard3;
typedef struct { u32 pid; char name[64]; u32 count; ProcessOnCard1 cards[64]; } ProcessRecord1;
typedef struct { u32 pid; char name[64]; u32 count; ProcessOnCard2 cards[64]; } ProcessRecord2;
typedef struct { u32 pid; char name[64]; u32 count; ProcessOnCard3 cards[64]; } ProcessRecord3;

#define API __attribute__((visibility("default")))

API u32 mxSmlInit(void);
API u32 mxSmlInitWithFlags(u32 flags);
API const char *mxSmlGetErrorString(u32 code);
API u32 mxSmlGetDeviceCount(void);
API u32 mxSmlGetPfDeviceCount(void);
API u32 mxSmlGetVirtualDevicesByPhysicalId(u32 pf, DeviceIds *out);
API u32 mxSmlGetDeviceInfo(u32 id, DeviceInfo *out);
API u32 mxSmlGetAllLimitedDevices(DeviceIds *out);
API u32 mxSmlGetLimitedDeviceInfo(u32 id, DeviceInfo *out);
API u32 mxSmlGetDeviceState(u32 id, int *out);
API u32 mxSmlGetDeviceUnavailableReason(u32 id, UnavailableReason *out);
API u32 mxSmlGetDeviceVersion(u32 id, u32 unit, char *text, u32 *size);
API u32 mxSmlGetBoardSerial(u32 id, char *text, u32 *size);
API u32 mxSmlGetSriovState(u32 id, u32 *out);
API u32 mxSmlGetNodeAffinity(u32 id, u32 count, u32 *words);
API u32 mxSmlGetMemoryInfo(u32 id, MemoryInfo *out);
API u32 mxSmlGetDeviceIpUsage(u32 id, u32 unit, int *out);
API u32 mxSmlGetTemperatureInfo(u32 id, u32 sensor, int *out);
API u32 mxSmlGetBoardPowerInfo(u32 id, u32 *count, BoardWay *out);
API u32 mxSmlGetBoardPowerLimit(u32 id, u32 *out);
API u32 mxSmlGetClocks(u32 id, u32 unit, u32 *count, u32 *mhz);
API u32 mxSmlGetCurrentClocksThrottleReason(u32 id, uint64_t *bits);
API u32 mxSmlGetTotalEccErrors(u32 id, EccErrors *out);
API u32 mxSmlGetSingleGpuProcess(u32 id, u32 *count, ProcessRecord1 *out);
API u32 mxSmlGetSingleGpuProcess_v2(u32 id, u32 *count, ProcessRecord2 *out);
API u32 mxSmlGetSingleGpuProcess_v3(u32 id, u32 *count, ProcessRecord3 *out);
API u32 mxSmlGetNumberOfProcess(u32 *out);
API u32 mxSmlGetProcessInfo_v3(u32 count, ProcessRecord3 *out);
API u32 mxSmlGetDeviceTopology(u32 a, u32 b, u32 *level);
API u32 mxSmlGetMetaXLinkInfo(u32 id, LinkSpeeds *out);
API u32 mxSmlGetMetaXLinkInfo_v2(u32 id, u32 *count, LinkSpeed *out);
API u32 mxSmlGetMetaXLinkRemoteInfo(u32 id, u32 port, RemoteEnd *out);
API u32 mxSmlGetMetaXLinkState(u32 id, u32 *state, char *text, u32 *size);
API u32 mxSmlGetMetaXLinkPortState(u32 id, u32 *states, u32 *count);
API u32 mxSmlGetSgpuToggle(u32 id, u32 *out);
API u32 mxSmlSetSgpuToggle(u32 id, u32 on);
API u32 mxSmlCreateSgpu(u32 id, u32 megabytes, u32 compute, u32 *slice);
API u32 mxSmlRemoveSgpu(u32 id, u32 slice);
API u32 mxSmlGetSgpuCount(u32 id);
API u32 mxSmlGetSgpuInfo(u32 id, u32 slice, SliceInfo *out);
API u32 mxSmlGetSgpuUsage(u32 id, u32 slice, int *out);
API u32 mxSmlGetSgpuMemory(u32 id, u32 slice, SliceMemory *out);
API u32 mxSmlGetSgpuAvailableQuota(u32 id, SliceQuota *out);
API u32 mxSmlSetSgpuVramQuota(u32 id, u32 slice, u32 megabytes);
API u32 mxSmlSetSgpuComputeQuota(u32 id, u32 slice, u32 compute);
API u32 mxSmlSetSgpuDeviceQueuePriority(u32 id, u32 slice, u32 online);
API u32 mxSmlGetDeviceSchedClass(u32 id, u32 *out);
API u32 mxSmlSetDeviceSchedClass(u32 id, u32 policy);
API u32 mxSmlGetSgpuAlias(u32 id, u32 slice, char *text, u32 *size);
API u32 mxSmlSetSgpuAlias(u32 id, u32 slice, const char *text);

/* Not the vendor's: what tests ask the twin itself. */
API u32 twin_most_inside(void);
API u32 twin_calls(void);

#endif
