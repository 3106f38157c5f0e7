/* Calls every function of the twin, in order and out of it, so that a sanitizer can watch the twin itself. */
#include "abi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void) {
    static ProcessRecord1 first[64];
    static ProcessRecord2 second[64];
    static ProcessRecord3 third[64];
    DeviceInfo info;
    DeviceIds ids;
    UnavailableReason reason;
    MemoryInfo memory;
    BoardWay ways[8];
    EccErrors ecc;
    SliceInfo slice;
    SliceQuota quota;
    SliceMemory slice_memory;
    LinkSpeed speeds[16];
    LinkSpeeds old_speeds;
    RemoteEnd end;
    u32 count, number, words[16], made;
    int signed_number;
    uint64_t bits;
    char text[96];

    mxSmlInit();
    mxSmlInitWithFlags(1);
    for (u32 code = 0; code < 30; code++) printf("%s\n", mxSmlGetErrorString(code));
    u32 devices = mxSmlGetDeviceCount() + mxSmlGetPfDeviceCount();
    mxSmlGetAllLimitedDevices(&ids);
    for (u32 id = 0; id < devices + 2; id++) {
        memset(&info, 0, sizeof info);
        mxSmlGetDeviceInfo(id, &info);
        mxSmlGetDeviceInfo(id, NULL);
        mxSmlGetLimitedDeviceInfo(id, &info);
        mxSmlGetVirtualDevicesByPhysicalId(id, &ids);
        mxSmlGetDeviceState(id, &signed_number);
        mxSmlGetDeviceUnavailableReason(id, &reason);
        for (u32 unit = 0; unit < 3; unit++) count = sizeof text, mxSmlGetDeviceVersion(id, unit, text, &count);
        count = sizeof text, mxSmlGetBoardSerial(id, text, &count);
        count = 2, mxSmlGetBoardSerial(id, text, &count);
        mxSmlGetSriovState(id, &number);
        mxSmlGetNodeAffinity(id, 8, words);
        mxSmlGetMemoryInfo(id, &memory);
        mxSmlGetDeviceIpUsage(id, 4, &signed_number);
        mxSmlGetTemperatureInfo(id, 0, &signed_number);
        count = 8, mxSmlGetBoardPowerInfo(id, &count, ways);
        count = 1, mxSmlGetBoardPowerInfo(id, &count, ways);
        mxSmlGetBoardPowerLimit(id, &number);
        count = 8, mxSmlGetClocks(id, 11, &count, words);
        mxSmlGetCurrentClocksThrottleReason(id, &bits);
        mxSmlGetTotalEccErrors(id, &ecc);
        count = 64, mxSmlGetSingleGpuProcess(id, &count, first);
        count = 64, mxSmlGetSingleGpuProcess_v2(id, &count, second);
        count = 64, mxSmlGetSingleGpuProcess_v3(id, &count, third);
        mxSmlGetNumberOfProcess(&number);
        mxSmlGetProcessInfo_v3(64, third);
        count = 0, mxSmlGetSingleGpuProcess_v3(id, &count, third);
        for (u32 other = 0; other < devices + 2; other++) mxSmlGetDeviceTopology(id, other, &number);
        mxSmlGetMetaXLinkInfo(id, &old_speeds);
        count = 16, mxSmlGetMetaXLinkInfo_v2(id, &count, speeds);
        for (u32 port = 0; port < 10; port++) mxSmlGetMetaXLinkRemoteInfo(id, port, &end);
        count = sizeof text, mxSmlGetMetaXLinkState(id, &number, text, &count);
        count = 16, mxSmlGetMetaXLinkPortState(id, words, &count);
        mxSmlGetSgpuToggle(id, &number);
        mxSmlSetSgpuToggle(id, 1);
        for (u32 at = 0; at < 18; at++) mxSmlCreateSgpu(id, 128, 5, &made);
        mxSmlGetSgpuCount(id);
        for (u32 at = 0; at < 17; at++) {
            mxSmlSetSgpuAlias(id, at, "a name that is longer than the room there is for it");
            count = sizeof text, mxSmlGetSgpuAlias(id, at, text, &count);
            count = 2, mxSmlGetSgpuAlias(id, at, text, &count);
            mxSmlGetSgpuInfo(id, at, &slice);
            mxSmlGetSgpuUsage(id, at, &signed_number);
            mxSmlGetSgpuMemory(id, at, &slice_memory);
            mxSmlSetSgpuVramQuota(id, at, 256);
            mxSmlSetSgpuComputeQuota(id, at, 6);
            mxSmlSetSgpuDeviceQueuePriority(id, at, 1);
            mxSmlRemoveSgpu(id, at);
        }
        mxSmlGetSgpuAvailableQuota(id, &quota);
        mxSmlGetDeviceSchedClass(id, &number);
        mxSmlSetDeviceSchedClass(id, 2);
    }
    printf("%u devices, at most %u inside, %u calls\n", devices, twin_most_inside(), twin_calls());
    return 0;
}
