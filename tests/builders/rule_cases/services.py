"""Services, Endpoints and EndpointSlices."""

from builders.rule_cases.cases import Case, Object, merged, thing


def service(name: str, spec: Object, update: Object | None = None, on: str = "") -> Case:
    start = thing("Service", {"spec": {"selector": {"a": "b"}, "ports": [{"port": 80}]}}, name="svc")
    return Case(f"service-{name}", merged(start, {"spec": spec}), update, on)


def endpoints(name: str, *subsets: Object) -> Case:
    return Case(f"endpoints-{name}", thing("Endpoints", {"subsets": list(subsets)}))


def piece(name: str, change: Object, update: Object | None = None) -> Case:
    start = thing("EndpointSlice", change, version="discovery.k8s.io/v1")
    return Case(f"endpoint-slice-{name}", start, update)


CASES = (
    service("plain", {}),
    service("headless", {"clusterIP": "None"}),
    service("node-port", {"type": "NodePort"}),
    service("load-balancer", {"type": "LoadBalancer"}),
    service("external-name", {"type": "ExternalName", "externalName": "a.example", "ports": None}),
    service("external-name-missing", {"type": "ExternalName"}),
    service("sticky", {"sessionAffinity": "ClientIP"}),
    service("sticky-unknown", {"sessionAffinity": "Odd"}),
    service("type-unknown", {"type": "Odd"}),
    service("without-ports", {"ports": []}),
    service("port-bad", {"ports": [{"port": 0, "targetPort": "Bad_Name", "protocol": "ICMP"}]}),
    service("ports-unnamed", {"ports": [{"port": 1}, {"port": 2}]}),
    service("ports-same-name", {"ports": [{"port": 1, "name": "a"}, {"port": 2, "name": "a"}]}),
    service("ports-same", {"ports": [{"port": 1, "name": "a"}, {"port": 1, "name": "b"}]}),
    service("address-bad", {"clusterIP": "nope"}),
    service("address-changed", {}, {"spec": {"clusterIP": "10.96.5.5", "clusterIPs": ["10.96.5.5"]}}),
    service("address-left-out", {}, {"spec": {"clusterIP": None, "clusterIPs": None}}),
    service("ports-changed", {}, {"spec": {"ports": [{"port": 81, "targetPort": "http"}]}}),
    service("status", {}, {"status": {"loadBalancer": {"ingress": [{"ip": "10.0.0.1"}]}}}, "status"),
    service("selector-bad", {"selector": {"a b": "c"}}),
    service("node-port-on-cluster-ip", {"ports": [{"port": 1, "nodePort": 30001}]}),
    Case("service-name-with-digit", thing("Service", {"spec": {"ports": [{"port": 1}]}}, name="1svc")),
    Case("service-name-dotted", thing("Service", {"spec": {"ports": [{"port": 1}]}}, name="a.b")),
    endpoints("plain", {"addresses": [{"ip": "10.0.0.1"}], "ports": [{"port": 80}]}),
    endpoints("bad", {"addresses": [{"ip": "x"}], "ports": [{"port": 0}]}, {}),
    endpoints("local", {"addresses": [{"ip": "127.0.0.1"}]}),
    piece("plain", {"addressType": "IPv4", "endpoints": [{"addresses": ["10.0.0.1"]}], "ports": [{"port": 80}]},
          {"endpoints": [{"addresses": ["10.0.0.2"], "conditions": {"ready": True}}]}),
    piece("bad", {"addressType": "Odd", "endpoints": [{"addresses": []}]}),
    piece("address-bad", {"addressType": "IPv4", "endpoints": [{"addresses": ["x"]}], "ports": [{"port": 1},
                                                                                                {"port": 2}]}),
    piece("type-changed", {"addressType": "IPv4", "endpoints": []}, {"addressType": "IPv6"}),
)  # fmt: skip
