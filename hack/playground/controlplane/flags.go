package controlplane

import "path/filepath"

// Roles that the playground program plays as a child of itself: `playground role <name>`.
const (
	EtcdRole        = "etcd"
	APIServerRole   = "kube-apiserver"
	SchedulerRole   = "kube-scheduler"
	ControllersRole = "controllers"
	KubeletsRole    = "kubelets" // KWOK in place of one kubelet per node
)

// etcdSocket is the client socket of etcd. Its name is known before etcd runs, so that the API server can start beside it.
func etcdSocket(folder string) string { return "unix://" + filepath.Join(folder, "etcd.sock") }

// etcdFlags are flags of our own role, which embeds the server.
func etcdFlags(folder string) []string {
	return []string{
		"--data-dir=" + filepath.Join(folder, "etcd"),
		"--client-url=" + etcdSocket(folder),
		"--peer-url=unix://" + filepath.Join(folder, "peer.sock"),
	}
}

// apiServerFlags are flags of the real kube-apiserver. Everything that costs memory or time and changes no answer is off.
func apiServerFlags(folder, port string) []string {
	in := func(name string) string { return filepath.Join(folder, name) }
	return []string{
		"--etcd-servers=" + etcdSocket(folder),
		"--bind-address=127.0.0.1",
		"--advertise-address=127.0.0.1", // or it searches the machine for another interface and fails where there is none
		"--secure-port=" + port,
		"--tls-cert-file=" + in(servingCertFile),
		"--tls-private-key-file=" + in(servingKeyFile),
		"--client-ca-file=" + in(authorityFile),
		"--authorization-mode=RBAC",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + in(serviceAccountPubFile),
		"--service-account-signing-key-file=" + in(serviceAccountKeyFile),
		"--service-cluster-ip-range=10.96.0.0/24",
		"--endpoint-reconciler-type=none", // nobody reaches the API through the Service `kubernetes`, and a loopback address isn't allowed in it
		"--allow-privileged=true",
		"--audit-policy-file=" + in(auditPolicyFile),
		"--audit-log-path=" + in(auditLogFile),
		"--enable-priority-and-fairness=false",
		"--etcd-compaction-interval=0",
		"--etcd-count-metric-poll-period=0",
		"--etcd-db-metric-poll-interval=0",
		"--profiling=false",
		"--v=1",
	}
}

// schedulerFlags are flags of the real kube-scheduler, with its default profile.
func schedulerFlags(folder string) []string {
	return []string{
		"--kubeconfig=" + filepath.Join(folder, kubeconfigName(SchedulerRole)),
		"--leader-elect=false",
		"--bind-address=127.0.0.1",
		"--cert-dir=" + filepath.Join(folder, "kube-scheduler"),
		"--authentication-skip-lookup=true",
		"--authorization-always-allow-paths=/healthz,/livez,/readyz,/metrics",
		"--kube-api-qps=500",
		"--kube-api-burst=1000",
		"--profiling=false",
		"--v=2",
	}
}

// controllersFlags and kubeletsFlags are flags of our own roles.
func controllersFlags(folder string) []string {
	return []string{"--kubeconfig=" + filepath.Join(folder, kubeconfigName(ControllersRole)), "--v=2"}
}

func kubeletsFlags(folder string) []string {
	return []string{"--kubeconfig=" + filepath.Join(folder, kubeconfigName(KubeletsRole))}
}

// auditLogFile receives one JSON event (audit.k8s.io/v1) per write that auditPolicy asks for.
const auditLogFile = "audit.log"

// auditPolicy keeps what proves who moved which pod and who changed which node; bodies only where the verb doesn't say it all.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: None
  verbs: [get, list, watch]
- level: Request
  resources:
  - {group: "", resources: [pods/binding, pods/eviction]}
- level: Metadata
  resources:
  - {group: "", resources: [nodes, pods, configmaps]}
  - {group: policy, resources: [poddisruptionbudgets]}
  - {group: apps, resources: [deployments, replicasets, statefulsets, daemonsets]}
  - {group: batch, resources: [jobs]}
- level: None
`
