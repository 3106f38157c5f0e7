"""In which cases each chart is rendered: as it is, with every option changed, on older clusters, under other names.

An option that only counts where another is set stands on the case that sets it, and is compared with that one. What
each case gives is kept in `tests/data/charts`; `e2e/test_charts.py` renders them with helm.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import reduce
from typing import Any, Final

import msgspec

Values = Mapping[str, Any]

TANGRAM, EXTENSIONS, OPERATOR = "tangram", "metax-gpu-extensions", "metax-operator"
CHARTS: Final = (TANGRAM, EXTENSIONS, OPERATOR)
WITH_DAEMONS: Final = (TANGRAM, EXTENSIONS)
"""Charts that make the pods of nodes themselves; the other leaves them to its operator."""
DEFAULT: Final = "default"
NEWEST: Final = "1.36.3"
OLDER: Final = ("1.23.17", "1.25.16", "1.27.16", "1.28.15", "1.30.14")
HOMES: Final = {TANGRAM: "tangram", EXTENSIONS: "metax-gpu", OPERATOR: "metax-operator"}

NOTED: Final = {
    TANGRAM: (
        DEFAULT,
        "dashboard.enabled",
        "dashboard.signIn",
        "dashboard.tlsSecretName",
        "deployExtenderGPUAware",
        "scheduler.enabled",
        "scheduler.kubeScheduler.enabled",
    ),
    EXTENSIONS: (DEFAULT, "deployExtenderGPUAware"),
    OPERATOR: (
        DEFAULT,
        "deployExtenderGPUAware",
        "driver.deployPolicy",
        "gpuScheduler",
        "maca.payload.images",
    ),
}
"""Cases of which it is also kept what people read after an installation."""


class Case(msgspec.Struct, frozen=True, kw_only=True):
    chart: str
    name: str
    values: Values = {}
    """What is set beyond what the case under it sets."""
    on: str = ""
    """The case it is compared with; none for the default, which is kept whole."""
    kube: str = NEWEST
    namespace: str
    release: str


def cases(chart: str) -> list[Case]:
    """The default first, and every case after the one it stands on."""
    options = {**SHARED, **_OWN.get(chart, {})}
    beside = _BESIDE.get(chart, {})
    older = [("kubernetes-1.28-gpuScheduler", "1.28.15", "gpuScheduler")] if chart == OPERATOR else []
    home = HOMES[chart]
    plain = Case(chart=chart, name=DEFAULT, values=_NEEDED.get(chart, {}), namespace=home, release=chart)

    def another(name: str, **changed: Any) -> Case:  # noqa: ANN401 - whatever a case has
        changed.setdefault("on", DEFAULT)
        changed.setdefault("values", {})
        return msgspec.structs.replace(plain, name=name, **changed)

    return [
        plain,
        *(another(name, values=values) for name, values in options.items()),
        *(
            another(name, values=values, on=on)
            for on, more in {**_SHARED_BESIDE, **beside}.items()
            for name, values in more.items()
        ),
        *(another(f"kubernetes-{version.rpartition('.')[0]}", kube=version) for version in OLDER),
        another("kubernetes-of-a-vendor", kube="v1.30.4-eks-a1b2c3"),
        *(another(name, kube=version, on=on) for name, version, on in older),
        another("namespace-kube-system", namespace="kube-system"),
        another("release-with-a-generated-name", release=f"{chart}-1731000000"),
        another("namespace-and-release-that-are-numbers", namespace="123", release="456"),
    ]


def case_named(chart: str, name: str) -> Case:
    (found,) = [each for each in cases(chart) if each.name == name]
    return found


def values_of(case: Case) -> dict[str, Any]:
    """Everything that is set, for helm."""
    under = values_of(case_named(case.chart, case.on)) if case.on else {}
    return _joined(under, case.values)


def leaves(values: Values, above: str = "") -> Iterator[tuple[str, object]]:
    """Every option with its value. A map that is empty is one, since people fill it."""
    for key, value in values.items():
        path = f"{above}{key}"
        if isinstance(value, dict) and value:
            yield from leaves(value, f"{path}.")  # pyright: ignore[reportUnknownArgumentType] - a map of JSON
        else:
            yield path, value


def _joined(under: Values, over: Values) -> dict[str, Any]:
    made = dict(under)
    for key, value in over.items():
        below = made.get(key)
        made[key] = _joined(below, value) if isinstance(below, dict) and isinstance(value, dict) else value  # pyright: ignore[reportUnknownArgumentType] - maps of JSON
    return made


_OWN_LOG: Final[Values] = {
    "dir": "/srv/logs", "level": "debug", "format": "text", "rotationTime": "12h", "maxAge": "30d",
}  # fmt: skip
_LARGE: Final[Values] = {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"memory": "2Gi"}}

_AUTHORITY: Final = "-----BEGIN CERTIFICATE-----\nTm90IGEgcmVhbCBvbmUu\n-----END CERTIFICATE-----\n"

SHARED: Final[dict[str, Values]] = {
    "registry": {"registry": "registry.example.com:5000/gpu"},
    "pullPolicy": {"pullPolicy": "Always"},
    "imagePullSecrets": {"imagePullSecrets": [{"name": "my-registry"}]},
    "deployExtenderGPUAware": {"deployExtenderGPUAware": True},
    "log.dir": {"log": {"dir": "/data/log"}},
    "log.level": {"log": {"level": "warn"}},
    "log.format": {"log": {"format": "text"}},
    "log.rotationTime": {"log": {"rotationTime": "24h"}},
    "log.maxAge": {"log": {"maxAge": "90d"}},
    "gpuDevice.healthyInterval": {"gpuDevice": {"healthyInterval": 0}},
    "gpuDevice.driver": {"gpuDevice": {"driver": "mxsml"}},
    "gpuDevice.configNamespace": {"gpuDevice": {"configNamespace": "gpu-settings"}},
    "gpuDevice.deviceConfig": {
        "gpuDevice": {"deviceConfig": {"version": "v1", "cluster-config": {"mode": "sgpu"}}}
    },
    "gpuDevice.nodeSelector": {"gpuDevice": {"nodeSelector": {"gpu-served-by": "tangram"}}},
    "gpuDevice.log": {"gpuDevice": {"log": _OWN_LOG}},
    "gpuDevice.resources": {"gpuDevice": {"resources": _LARGE}},
    "gpuLabel.driver": {"gpuLabel": {"driver": "sysfs"}},
    "gpuLabel.driver.library": {"gpuLabel": {"driver": "mxsml"}},
    "gpuLabel.driver.simulated": {"gpuLabel": {"driver": "simulated:unix:/run/tangram/cards.sock"}},
    "gpuLabel.driverMode": {"gpuLabel": {"driverMode": "cloud"}},
    "gpuLabel.log": {"gpuLabel": {"log": _OWN_LOG}},
    "gpuLabel.resources": {"gpuLabel": {"resources": _LARGE}},
    "cleanup.enabled": {"cleanup": {"enabled": False}},
}
_SHARED_BESIDE: Final[dict[str, dict[str, Values]]] = {
    "deployExtenderGPUAware": {
        "gpuAware.scoreWeight": {"gpuAware": {"scoreWeight": "2.5"}},
        "gpuAware.lossWeight": {"gpuAware": {"lossWeight": "0"}},
        "gpuAware.aliasNamespace": {"gpuAware": {"aliasNamespace": "gpu-manual"}},
        "gpuAware.log": {"gpuAware": {"log": _OWN_LOG}},
        "gpuAware.resources": {"gpuAware": {"resources": _LARGE}},
        "log-of-all": {
            "log": {
                "dir": "/data/log",
                "level": "error",
                "format": "text",
                "rotationTime": "24h",
                "maxAge": "90d",
            }
        },
        "log-without-files": {"log": {"dir": ""}},
    },
    "log-of-all": {
        "log-of-all-and-own": {
            "gpuDevice": {"log": {"level": "debug"}},
            "gpuLabel": {"log": {"level": "fatal"}},
            "gpuAware": {"log": {"level": "warn"}},
        },
    },
}
_LIKE_THE_LIBRARY: Final[dict[str, Values]] = {
    "gpuLabel.productNames": {"gpuLabel": {"productNames": "library"}}
}
"""In the charts with the vendor's names, which label as the manual does."""
OTHER_SPELLINGS: Final = ("device.", "scheduler.kubeScheduler.imageTag")
"""Options of HAMi's chart that stand beside one of ours and have no value if not given."""
OF_TANGRAM: Final[dict[str, Values]] = {
    "gpuLabel.productNames": {"gpuLabel": {"productNames": "short"}},
    "devices.metax.enabled": {"devices": {"metax": {"enabled": False}}},
    "devices.mthreads.enabled": {"devices": {"mthreads": {"enabled": False}}},
    "device.mthreads.enabled": {"device": {"mthreads": {"enabled": False}}},
    "the-command-of-hamis-page": {
        "device": {"mthreads": {"enabled": True}},
        "scheduler": {"kubeScheduler": {"imageTag": "v1.36.9"}},
    },
    "gpuDevice.enabled": {"gpuDevice": {"enabled": False}},
    "gpuDevice.mthreadsComputePolicy": {"gpuDevice": {"mthreadsComputePolicy": "fixed-share"}},
    "gpuLabel.enabled": {"gpuLabel": {"enabled": False}},
    "scheduler.enabled": {"scheduler": {"enabled": False}},
    "beside-the-operator": {
        "gpuDevice": {"enabled": False},
        "gpuLabel": {"enabled": False},
        "scheduler": {
            "trustedAgentAccounts": ["system:serviceaccount:metax-operator:metax-gpu-device"],
        },
    },
    "scheduler.replicas": {"scheduler": {"replicas": 1}},
    "scheduler.name": {"scheduler": {"name": "cards"}},
    "scheduler.profiles.hami": {"scheduler": {"profiles": {"hami": False}}},
    "scheduler.profiles.koordinator": {"scheduler": {"profiles": {"koordinator": True}}},
    "scheduler.config": {
        "scheduler": {
            "config": {"nodePolicy": "spread", "qosPolicy": "fixed-share", "reservationSeconds": 30}
        }
    },
    "scheduler.deviceConfig": {
        "scheduler": {
            "deviceConfig": {
                "metax": {
                    "resourceVCountName": "example.com/part",
                    "resourceVMemoryName": "example.com/part-memory",
                }
            }
        }
    },
    "scheduler.trustedAccounts": {
        "scheduler": {"trustedAccounts": ["system:serviceaccount:kube-system:hami-scheduler"]}
    },
    "scheduler.trustedAgentAccounts": {
        "scheduler": {"trustedAgentAccounts": ["system:serviceaccount:kube-system:vendor-plugin"]}
    },
    "scheduler.legacyMetrics": {"scheduler": {"legacyMetrics": True}},
    "scheduler.nodeSelector": {"scheduler": {"nodeSelector": {"example.com/pool": "system"}}},
    "scheduler.tolerations": {
        "scheduler": {
            "tolerations": [{"key": "example.com/pool", "operator": "Exists", "effect": "NoSchedule"}]
        }
    },
    "scheduler.log": {"scheduler": {"log": {"level": "debug", "format": "text"}}},
    "scheduler.resources": {"scheduler": {"resources": _LARGE}},
    "scheduler.kubeScheduler.image": {
        "scheduler": {
            "kubeScheduler": {
                "image": {"registry": "registry.example.com/k8s", "name": "scheduler", "tag": "v1.36.9"}
            }
        }
    },
    "scheduler.kubeScheduler.resources": {"scheduler": {"kubeScheduler": {"resources": _LARGE}}},
    "scheduler.webhook.failurePolicy": {"scheduler": {"webhook": {"failurePolicy": "Ignore"}}},
    "scheduler.webhook.ignoreNamespaces": {
        "scheduler": {"webhook": {"ignoreNamespaces": ["build", "ingress"]}}
    },
    "certificates.cert-manager": {
        "certificates": {"source": "cert-manager", "issuerRef": {"kind": "ClusterIssuer", "name": "company"}}
    },
    "certificates.secret": {
        "certificates": {"source": "secret", "secretName": "company-tls", "caBundle": _AUTHORITY}
    },
    "dashboard.enabled": {"dashboard": {"enabled": True}},
    "monitoring.serviceMonitor.enabled": {"monitoring": {"serviceMonitor": {"enabled": True}}},
    "monitoring.dashboards.enabled": {"monitoring": {"dashboards": {"enabled": True}}},
    "monitoring.rules.enabled": {"monitoring": {"rules": {"enabled": True}}},
}
OF_OPERATOR: Final[dict[str, Values]] = {
    **_LIKE_THE_LIBRARY,
    "driver.deployPolicy": {"driver": {"deployPolicy": "Never", "payload": {"version": ""}}},
    "driver.deployPolicy.as-shipped": {"driver": {"deployPolicy": "IfNotExist"}},
    "driver.payload": {
        "driver": {
            "payload": {
                "name": "vendor/driver-image",
                "version": "2.33.0-amd64",
                "registry": "registry.example.com/drivers/",
            }
        }
    },
    "driver.publicKeySecret": {"driver": {"publicKeySecret": "payload-key"}},
    "driver.upgradePolicy": {
        "driver": {
            "upgradePolicy": {
                "maxUnavailable": "10%",
                "whenBusy": "Evict",
                "evictTimeout": "1h",
                "paused": True,
            }
        }
    },
    "driver.fwEffectPolicy": {"driver": {"fwEffectPolicy": "WaitReboot"}},
    "driver.loader": {"driver": {"loader": "kmod"}},
    "driver.log": {"driver": {"log": _OWN_LOG}},
    "driver.resources": {"driver": {"resources": _LARGE}},
    "maca.payload.images": {
        "maca": {
            "payload": {
                "images": [
                    "mxc500-maca:2.23.0.4-ubuntu20.04-amd64",
                    "maca-c500:2.18.0.3-ubuntu18.04-amd64",
                ]
            }
        }
    },
    "maca.payload.registry": {"maca": {"payload": {"registry": "registry.example.com/library"}}},
    "maca.cleanupConfig": {"maca": {"cleanupConfig": {"threshold": 2, "cleanupPolicy": "OlderVersionFirst"}}},
    "maca.log": {"maca": {"log": _OWN_LOG}},
    "maca.resources": {"maca": {"resources": _LARGE}},
    "runtime.config": {"runtime": {"config": {"cdiMode": "env", "engine": "containerd"}}},
    "runtime.log": {"runtime": {"log": _OWN_LOG}},
    "runtime.resources": {"runtime": {"resources": _LARGE}},
    "gpuScheduler": {"gpuScheduler": {"deploy": True}},
    "gpuScheduler.namespace": {"gpuScheduler": {"deploy": True, "namespace": "tangram"}},
    "operator.replicas": {"operator": {"replicas": 1}},
    "operator.nodeSelector": {"operator": {"nodeSelector": {"example.com/pool": "system"}}},
    "operator.tolerations": {
        "operator": {
            "tolerations": [{"key": "example.com/pool", "operator": "Exists", "effect": "NoSchedule"}]
        }
    },
    "operator.log": {"operator": {"log": _OWN_LOG}},
    "operator.resources": {"operator": {"resources": _LARGE}},
    "cleanup.timeoutSeconds": {"cleanup": {"timeoutSeconds": 1800}},
}
_OWN: Final = {TANGRAM: OF_TANGRAM, EXTENSIONS: _LIKE_THE_LIBRARY, OPERATOR: OF_OPERATOR}
_NEEDED: Final[dict[str, Values]] = {OPERATOR: {"driver": {"payload": {"version": "2.32.0-amd64"}}}}
"""Options without which nobody can install a chart."""
_BESIDE_TANGRAM: Final[dict[str, dict[str, Values]]] = {
    "certificates.secret": {
        "scheduler.kubeScheduler.enabled": {
            "scheduler": {"replicas": 1, "kubeScheduler": {"enabled": False}, "clientCA": "callers"}
        },
    },
    "scheduler.deviceConfig": {
        "scheduler.deviceConfig.memoryPerCard": {
            "scheduler": {"deviceConfig": {"mthreads": {"memoryPerCard": [160]}}}
        },
    },
    "monitoring.serviceMonitor.enabled": {
        "monitoring.serviceMonitor.labels": {
            "monitoring": {"serviceMonitor": {"labels": {"release": "prometheus"}}}
        },
        "monitoring.serviceMonitor.interval": {"monitoring": {"serviceMonitor": {"interval": "1m"}}},
        "monitoring.serviceMonitor.with-gpu-aware": {"deployExtenderGPUAware": True},
    },
    "monitoring.dashboards.enabled": {
        "monitoring.dashboards.labels": {
            "monitoring": {"dashboards": {"labels": {"grafana_dashboard": "gpu"}}}
        },
    },
    "dashboard.enabled": {
        "dashboard.signIn": {
            "dashboard": {
                "signIn": "proxy",
                "proxy": {
                    "containers": [
                        {
                            "name": "oauth2-proxy",
                            "image": "oauth2-proxy:v7",
                            "args": ["--upstream=http://127.0.0.1:8090/"],
                            "ports": [{"name": "proxy", "containerPort": 4443}],
                        }
                    ],
                    "port": 4443,
                    "headers": "oauth2-proxy",
                    "userHeader": "X-Forwarded-Email",
                    "userPrefix": "oidc:",
                    "groupPrefix": "oidc:",
                },
            }
        },
        "dashboard.actions": {"dashboard": {"actions": True}},
        "dashboard.tlsSecretName": {"dashboard": {"tlsSecretName": "dashboard-tls"}},
        "dashboard.historyClaim": {"dashboard": {"historyClaim": "dashboard-history"}},
        "dashboard.nodeSelector": {"dashboard": {"nodeSelector": {"pool": "infra"}}},
        "dashboard.tolerations": {"dashboard": {"tolerations": [{"key": "infra", "operator": "Exists"}]}},
        "dashboard.log": {"dashboard": {"log": {"level": "debug", "format": "text"}}},
        "dashboard.resources": {"dashboard": {"resources": _LARGE}},
        "dashboard.certificates.secret": {
            "certificates": {"source": "secret", "secretName": "company-tls", "caBundle": _AUTHORITY}
        },
        "dashboard.with-monitor": {"monitoring": {"serviceMonitor": {"enabled": True}}},
    },
    "monitoring.rules.enabled": {
        "monitoring.rules.labels": {"monitoring": {"rules": {"labels": {"release": "prometheus"}}}},
        "monitoring.rules.runbooks": {"monitoring": {"rules": {"runbooks": "https://wiki.example.com/gpu"}}},
    },
}
_OF_SCHEDULER: Final = (
    "scheduler.replicas",
    "scheduler.name",
    "scheduler.profiles.hami",
    "scheduler.profiles.koordinator",
    "scheduler.config",
    "scheduler.deviceConfig",
    "scheduler.trustedAccounts",
    "scheduler.trustedAgentAccounts",
    "scheduler.legacyMetrics",
    "scheduler.nodeSelector",
    "scheduler.tolerations",
    "scheduler.log",
    "scheduler.resources",
    "scheduler.kubeScheduler.image",
    "scheduler.kubeScheduler.resources",
    "scheduler.webhook.failurePolicy",
    "scheduler.webhook.ignoreNamespaces",
)
_EVERY_OPTION: Final = reduce(_joined, (OF_TANGRAM[option] for option in _OF_SCHEDULER), {})
_BESIDE_OPERATOR: Final[dict[str, dict[str, Values]]] = {
    "gpuScheduler": {
        # Chart tangram has a case for each of them, of the same templates.
        "scheduler-in-all-options": _EVERY_OPTION,
        "scheduler-with-what-all-parts-share": {
            **SHARED["registry"],
            **SHARED["pullPolicy"],
            **SHARED["imagePullSecrets"],
            "log": {"level": "debug", "format": "text"},
        },
        "scheduler-without-cleanup": SHARED["cleanup.enabled"],
        **{name: OF_TANGRAM[name] for name in ("certificates.cert-manager", "certificates.secret")},
    },
    "certificates.secret": _BESIDE_TANGRAM["certificates.secret"],
}
_BESIDE: Final = {TANGRAM: _BESIDE_TANGRAM, OPERATOR: _BESIDE_OPERATOR}
