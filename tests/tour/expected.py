"""Which node, which cards and how much of them every example gets."""

from __future__ import annotations

from typing import Final

from tour.records import Example, Leaves, Made, On, Part, Refused, Runs, Waits, one

_METAX: Final = (
    Example("10-share-a-card", (Runs("pod.yaml", {"notebook": one("metax-b", (7,), "8 GiB", 25)}),)),
    Example(
        "11-sizes",
        (
            Runs(
                "pods.yaml",
                {
                    "in-gib": one("metax-b", (7,), "12 GiB", 20),
                    "with-suffix": one("metax-b", (6,), "12 GiB", 20),
                    "in-mib": one("metax-b", (5,), "12 GiB", 20),
                    "no-vmemory": one("metax-b", (4,), "63 GiB", 20),
                    "no-vcore": one("metax-c", (7,), "12 GiB", 100),
                },
            ),
        ),
    ),
    Example("12-slices-of-two-cards", (Runs("pod.yaml", {"pair": one("metax-b", (6, 7), "32 GiB", 50)}),)),
    Example("13-whole-card", (Runs("pod.yaml", {"whole": one("metax-a", (7,), "64 GiB", 100)}),)),
    Example(
        "14-linked-cards",
        (
            Runs("first.yaml", {"first": one("metax-a", (6, 7), "64 GiB", 100)}),
            Runs("spread.yaml", {"four": one("metax-a", (0, 1, 2, 3), "64 GiB", 100)}),
        ),
    ),
    Example(
        "15-keep-groups-whole",
        (
            Runs("first.yaml", {"first": one("metax-a", (6, 7), "64 GiB", 100)}),
            Runs("binpack.yaml", {"second": one("metax-a", (4, 5), "64 GiB", 100)}),
            Runs("spread.yaml", {"third": one("metax-b", (2, 3), "64 GiB", 100)}),
        ),
    ),
    Example(
        "16-qos-policies",
        (
            Runs(
                "pods.yaml",
                {
                    "fixed-share": one("metax-b", (7,), "8 GiB", 30),
                    "burst-share": one("metax-b", (6,), "8 GiB", 30),
                    "best-effort": one("metax-b", (5,), "8 GiB", 30),
                    "joins": one("metax-b", (7,), "8 GiB", 30),
                },
            ),
        ),
    ),
    Example(
        "17-online-and-offline",
        (
            Runs(
                "pods.yaml",
                {
                    "batch": one("metax-b", (7,), "16 GiB", 60),
                    "answers": one("metax-b", (7,), "16 GiB", 0),
                },
            ),
            Waits("no-class.yaml", {"plain": "1 CardUuidMismatch (cards are excluded by uuid)"}),
        ),
    ),
    Example(
        "18-choose-cards",
        (
            Runs(
                "pods.yaml",
                {
                    "this-card": one("metax-b", (4,), "8 GiB", 25),
                    "not-those": one("metax-b", (5,), "8 GiB", 25),
                    "this-model": one("metax-c", (7,), "8 GiB", 25),
                    "not-that-model": one("metax-b", (7,), "8 GiB", 25),
                },
            ),
        ),
    ),
    Example(
        "19-choose-nodes",
        (Runs("sample.yaml", {"sample": one("metax-b", (2, 3), "64 GiB", 100)}, ends=True),),
    ),
)

_WORKLOADS: Final = (
    Example(
        "20-several-containers",
        (
            Runs(
                "pod.yaml",
                {
                    "pipeline": (
                        On(
                            "metax-b",
                            {"decode": Part((7,), "4 GiB", 20), "infer": Part((6,), "24 GiB", 60)},
                            none=("proxy",),
                        ),
                    )
                },
            ),
        ),
    ),
    Example(
        "21-init-containers",
        (
            Runs(
                "pod.yaml",
                {
                    "server": (
                        On(
                            "metax-b",
                            {"warm-up": Part((7,), "16 GiB", 40), "main": Part((7,), "16 GiB", 40)},
                        ),
                    )
                },
            ),
        ),
    ),
    Example(
        "22-job",
        (
            Runs(
                "job.yaml",
                {"app=pieces": one("metax-b", (7,), "4 GiB", 10) * 4},
                ends=True,
            ),
        ),
    ),
    Example(
        "23-deployment",
        (Runs("deployment.yaml", {"app=chat": one("metax-b", (7,), "15 GiB", 25) * 4}),),
    ),
    Example(
        "24-daemonset",
        (
            Runs(
                "daemonset.yaml",
                {
                    "app=probe": (
                        *one("metax-b", (7,), "1 GiB", 1),
                        *one("metax-c", (7,), "1 GiB", 1),
                    )
                },
            ),
        ),
    ),
)

_MOORE_THREADS: Final = (
    Example(
        "25-moore-threads-whole",
        (
            Runs(
                "pods.yaml",
                {
                    "exclusive": one("moore-a", (7,), "48 GiB", 16),
                    "two": one("moore-a", (5, 6), "48 GiB", 16),
                    "native": one("moore-b", (4, 5, 6, 7), "48 GiB", 16),
                },
            ),
        ),
    ),
    Example(
        "26-moore-threads-slices",
        (
            Runs(
                "pods.yaml",
                {"half": one("moore-a", (7,), "16 GiB", 8), "small": one("moore-a", (7,), "1 GiB", 1)},
            ),
            Refused(
                "no-such-size.yaml",
                "sGPU memory request value is invalid, valid values are [2, 4, 8, 16, 32, 64, 96]: container main asks "
                "for mthreads.com/sgpu-memory '33'; memory is counted in units of 512 MiB, and the sizes that exist "
                "are 2, 4, 8, 16, 32, 64 or 96; write 64, or leave it out for the whole card.",
            ),
        ),
    ),
    Example(
        "27-moore-threads-one-card",
        (
            Runs(
                "pod.yaml",
                {
                    "duo": (
                        On("moore-a", {"decode": Part((7,), "4 GiB", 2), "infer": Part((7,), "16 GiB", 10)}),
                    )
                },
            ),
            Refused(
                "two-cards.yaml",
                "container main asks for mthreads.com/vgpu '2' and mthreads.com/sgpu-core '8' and "
                "mthreads.com/sgpu-memory '32'; several cards are only given whole, which is mthreads.com/sgpu-core "
                "32 and mthreads.com/sgpu-memory 192; write mthreads.com/vgpu: 1 to share a card, or leave "
                "mthreads.com/sgpu-core and mthreads.com/sgpu-memory out for whole cards.",
            ),
        ),
    ),
)

_AROUND: Final = (
    Example(
        "28-koordinator-words",
        (
            Runs("pod.yaml", {"fixed": one("metax-b", (7,), "16 GiB", 25)}),
            Refused(
                "several-cards.yaml",
                "container main asks for koordinator.sh/gpu.shared '1' and koordinator.sh/gpu-core '25' and "
                "koordinator.sh/gpu-memory '16Gi' beside metax-tech.com/sgpu '2'; that resource is the number of "
                "cards, here 1; write metax-tech.com/sgpu: 1.",
            ),
        ),
    ),
    Example(
        "29-quotas",
        (
            Made("team.yaml"),
            Runs("pod.yaml", {"first": one("metax-b", (7,), "24 GiB", 50)}, namespace="team-green"),
            Refused(
                "too-much.yaml",
                "exceeding resource quota: pod team-green/second asks for 16 GiB of metax-tech.com/vmemory and its "
                "namespace holds 24 GiB; quota cards allows 32 GiB in all; ask for less, wait until pods of the "
                "namespace have ended, or have the quota raised.",
            ),
        ),
    ),
    Example(
        "30-gang",
        (
            Waits(
                "too-large.yaml",
                {"app=large": "for fewer than the 4 pods that gang large still needs at once"},
                count=4,
            ),
            Runs(
                "job.yaml",
                {
                    "app=train": (
                        *one("metax-a", (0, 1, 2, 3), "64 GiB", 100),
                        *one("metax-a", (4, 5, 6, 7), "64 GiB", 100),
                        *one("metax-b", (0, 1, 2, 3), "64 GiB", 100),
                    )
                },
            ),
        ),
    ),
    Example(
        "31-priorities",
        (
            Made("classes.yaml"),
            Runs(
                "spare.yaml",
                {
                    "spare-1": one("metax-b", (7,), "31 GiB", 50),
                    "spare-2": one("metax-b", (7,), "31 GiB", 50),
                },
            ),
            Runs("urgent.yaml", {"urgent": one("metax-b", (7,), "31 GiB", 50)}, gone=("spare-1",)),
        ),
    ),
    Example(
        "33-your-own-scheduler",
        (Runs("pod.yaml", {"usual": one("metax-b", (0, 1, 2, 3), "64 GiB", 100)}),),
    ),
    Example(
        "34-a-pod-that-waits",
        (
            Runs(
                "others.yaml",
                {
                    "trains": one("metax-a", (2, 3, 4, 5, 6, 7), "64 GiB", 100),
                    "tests": one("metax-b", (3,), "64 GiB", 100),
                },
            ),
            Waits("pod.yaml", {"four": "0/6 nodes are available: "}),
            Leaves("tests", {"four": one("metax-b", (0, 1, 2, 3), "64 GiB", 100)}),
        ),
    ),
)

USUAL: Final = (*_METAX, *_WORKLOADS, *_MOORE_THREADS, *_AROUND)
OWN_CLUSTER: Final = (
    Example(
        "32-functions-and-shared-cards",
        (
            Runs(
                "pods.yaml",
                {
                    "function": one("split", (0,), "16 GiB", 25),
                    "turn": (On("shared", {"main": Part((0,), "16 GiB", 25, sees="64 GiB")}),),
                },
            ),
        ),
        cluster="cluster.yaml",
    ),
    Example(
        "35-koordinator-user-page",
        (
            Made("device-config.yaml"),
            Runs("pod.yaml", {"vgpu": one("gpu-1", (0,), "1 GiB", 10)}),
        ),
        cluster="cluster.yaml",
    ),
)
TOUR: Final = (*USUAL, *OWN_CLUSTER)
