#!/bin/sh -eu
# On a management node: kube-scheduler asks gpu-aware, which was installed with --set deployExtenderGPUAware=true.
gpuAwareSVCIP=$(kubectl get svc -n metax-gpu | grep gpu-aware | awk '{print $3}')

mkdir -p /etc/metax
# T7, in the manual: apiVersion: kubescheduler.config.k8s.io/v1beta3
cat > /etc/metax/extender.yaml <<END
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection:
  kubeconfig: /etc/kubernetes/scheduler.conf
extenders:
- urlPrefix: http://$gpuAwareSVCIP:8080
  enableHTTPS: false
  filterVerb: filter
  prioritizeVerb: prioritize
  nodeCacheCapable: false
  ignorable: false
  weight: 500
END

# An argument, a mount and a volume. Edited elsewhere, because the kubelet runs whatever lies in the folder.
sed -e 's|^    - kube-scheduler$|&\n    - --config=/etc/metax/extender.yaml|' \
  -e 's|^    volumeMounts:$|&\n    - name: extenderconfig\n      mountPath: /etc/metax/extender.yaml\n      readOnly: true|' \
  -e 's|^  volumes:$|&\n  - name: extenderconfig\n    hostPath:\n      path: /etc/metax/extender.yaml\n      type: File|' \
  /etc/kubernetes/manifests/kube-scheduler.yaml > /etc/metax/kube-scheduler.yaml
mv /etc/metax/kube-scheduler.yaml /etc/kubernetes/manifests/kube-scheduler.yaml
