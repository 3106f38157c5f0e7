"""Static manifests of kube-scheduler as kubeadm and people write them."""

KUBEADM_IMAGE = "registry.k8s.io/kube-scheduler:v1.30.4"
KUBEADM = """\
apiVersion: v1
kind: Pod
metadata:
  labels:
    component: kube-scheduler
    tier: control-plane
  name: kube-scheduler
  namespace: kube-system
spec:
  containers:
  - command:
    - kube-scheduler
    - --authentication-kubeconfig=/etc/kubernetes/scheduler.conf
    - --authorization-kubeconfig=/etc/kubernetes/scheduler.conf
    - --bind-address=127.0.0.1
    - --kubeconfig=/etc/kubernetes/scheduler.conf
    - --leader-elect=true
    image: registry.k8s.io/kube-scheduler:v1.30.4
    imagePullPolicy: IfNotPresent
    livenessProbe:
      failureThreshold: 8
      httpGet:
        host: 127.0.0.1
        path: /healthz
        port: 10259
        scheme: HTTPS
    name: kube-scheduler
    resources:
      requests:
        cpu: 100m
    volumeMounts:
    - mountPath: /etc/kubernetes/scheduler.conf
      name: kubeconfig
      readOnly: true
  hostNetwork: true
  priorityClassName: system-node-critical
  volumes:
  - hostPath:
      path: /etc/kubernetes/scheduler.conf
      type: FileOrCreate
    name: kubeconfig
status: {}
"""

BY_HAND = """\
# Ours, since the move. Do not touch!
---
kind:   "Pod"    # quoted on purpose
apiVersion: v1
spec:
    volumes:
      # the one and only
      - name: kubeconfig
        hostPath: {path: /etc/scheduler.conf, type: FileOrCreate}   # short

    containers:
        -   name: kube-scheduler
            volumeMounts:
              - {name: kubeconfig, mountPath: /etc/scheduler.conf}
            # flags follow
            args:
              - "--kubeconfig"
              - /etc/scheduler.conf
              - --v=2   # talkative

            command:
                - /usr/local/bin/kube-scheduler
            image: kube-scheduler
            env:
              - name: NOTE
                value: |
                    - not: a flag
                    # nor a comment

    hostNetwork: true
metadata: {name: kube-scheduler, namespace: kube-system}
"""

BARE = """\
apiVersion: v1
kind: Pod
metadata:
  name: kube-scheduler
spec:
  containers:
  - name: kube-scheduler
    image: example.com/kube-scheduler@sha256:0
    args:
    - --leader-elect=false"""

MANIFESTS = {"kubeadm": KUBEADM, "by hand": BY_HAND, "bare": BARE, "windows": KUBEADM.replace("\n", "\r\n")}
