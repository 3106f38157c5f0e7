"""The options of chart `metax-operator` beyond those of the parts: driver, MXMACA, runtime and the operator itself.

Words and forms are those that the operator reads of its own object (`tangram.wire.operator`), and a test compares: what
passes here is never refused there, but for what a template refuses before, and two MXMACA images of one version and
product, which no schema can compare.
"""

from __future__ import annotations

from typing import Final

from shipping.charts.forms import LABEL, LOG, NAME, NODE_LABELS, RESOURCES, SWITCH, TOLERATIONS
from shipping.charts.wording import Schema, closed, number, several, text, word, worded
from tangram.vendors.metax.maca_images import NATIVE, known_products

_PART: Final = r"[a-z0-9]+([._-]+[a-z0-9]+)*"
_IMAGE_NAME: Final = r"[a-z0-9]+([._/-]+[a-z0-9]+)*"
_TAG: Final = r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}"
_DOMAIN_PROJECT: Final = rf"[A-Za-z0-9.-]+(:[0-9]{{1,5}})?(/{_PART})*/?"
_REGISTRY: Final = text(
    "DOMAIN/PROJECT of a registry, such as harbor.example.com/gpu, or an empty text for that of all images",
    f"|{_DOMAIN_PROJECT}",
)
MOST_IMAGES: Final = 16
_PRODUCT: Final = rf"((mx)?({'|'.join(known_products())})|{NATIVE})"
_MACA_IMAGES: Final = several(
    "a list of images by name and tag without registry, each once and named after its product, such as "
    "maca-c500:2.18.0.3-ubuntu18.04-amd64, mxn100-maca:TAG or maca-native:TAG; on the command line {IMAGE1,IMAGE2}",
    {
        "type": "string",
        "pattern": rf"^({_IMAGE_NAME}/)?(maca-{_PRODUCT}|{_PRODUCT}-maca):{_TAG}(@sha256:[0-9a-f]{{64}})?$",
    },
    MOST_IMAGES,
)
_SHARE: Final = worded(
    "a number of nodes from 1 on, or a percentage from 1% to 100%",
    {
        "anyOf": [
            {"type": "integer", "minimum": 1, "maximum": 999_999},
            {"type": "string", "pattern": "^([1-9][0-9]?|100)%$"},
        ]
    },
)
_DRIVER: Final = closed(
    {
        "deployPolicy": word(
            "IfNotPresent",
            "Always",
            "Never",
            "IfNewer",
            "PreferCloud",
            "PreferHost",
            "PreferNewer",
            "IfNotExist",
        ),
        "payload": closed(
            {
                "name": text(
                    "the name of an image without registry and tag, such as driver-image", _IMAGE_NAME
                ),
                "version": text(
                    "the tag of an image as a text, such as 2.32.0-amd64 (--set-string for a tag that is a "
                    "number)",
                    f"|{_TAG}",
                ),
                "registry": _REGISTRY,
            }
        ),
        "publicKeySecret": text("the name of a Secret, or an empty text", f"|{NAME}"),
        "upgradePolicy": closed(
            {
                "maxUnavailable": _SHARE,
                "whenBusy": word("Wait", "Evict"),
                "evictTimeout": text("a time such as 90s, 5m or 1h", "[1-9][0-9]{0,5}(s|m|h)"),
                "paused": SWITCH,
            }
        ),
        "fwUpgradePolicy": word("Never", "PreferCloud"),
        "fwEffectPolicy": word("WaitReboot", "NextReboot", "WarmReset"),
        "fwEnableVirt": SWITCH,
        "deviceAsRootGroup": SWITCH,
        "loader": text("auto or kmod", r"auto|kmod|simulated:\S+"),
        "log": LOG,
        "resources": RESOURCES,
    }
)
_MACA: Final = closed(
    {
        "payload": closed({"images": _MACA_IMAGES, "registry": _REGISTRY}),
        "cleanupConfig": closed(
            {
                "threshold": number("a whole number of versions from 1 to 100", 1, 100),
                "cleanupPolicy": word("Never", "OlderVersionFirst", "OlderTimestampFirst"),
            }
        ),
        "log": LOG,
        "resources": RESOURCES,
    }
)
_RUNTIME: Final = closed(
    {
        "config": closed(
            {
                "cdiMode": word("auto", "cdi", "env"),
                "engine": word("auto", "containerd", "cri-o", "docker"),
            }
        ),
        "log": LOG,
        "resources": RESOURCES,
    }
)
_OPERATOR: Final = closed(
    {
        "replicas": number("a whole number from 1 to 5", 1, 5),
        "nodeSelector": NODE_LABELS,
        "tolerations": TOLERATIONS,
        "log": LOG,
        "resources": RESOURCES,
    }
)
OF_OPERATOR: Final[dict[str, Schema]] = {
    "registry": text("DOMAIN/PROJECT of a registry, such as harbor.example.com/gpu", _DOMAIN_PROJECT),
    "driver": _DRIVER,
    "maca": _MACA,
    "runtime": _RUNTIME,
    "gpuScheduler": closed(
        {"deploy": SWITCH, "namespace": text("the name of a namespace, or an empty text", f"|{LABEL}")}
    ),
    "operator": _OPERATOR,
}
OF_REMOVAL: Final[dict[str, Schema]] = {
    "timeoutSeconds": number("a whole number of seconds from 30 to 86400", 30, 86_400)
}
"""Beside what the clean-up of every chart has."""
