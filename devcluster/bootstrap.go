package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/retry"

	"mistletoe.dev/devcluster/internal/stages"
)

// bootstrap is the supervisor's client: it fills a new cluster, says when it is ready,
// and runs two controllers.
type bootstrap struct {
	client kubernetes.Interface
	meta   metadata.Interface
}

func newBootstrap(kubeconfig string) (*bootstrap, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.UserAgent = "devcluster"
	config.QPS = -1                           // no limit
	config.WarningHandler = rest.NoWarnings{} // the log is for people
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	meta, err := metadata.NewForConfig(config)
	return &bootstrap{client, meta}, err
}

func (b *bootstrap) apiserverReady(ctx context.Context) error {
	_, err := b.client.Discovery().RESTClient().Get().AbsPath("/readyz").Timeout(2 * time.Second).DoRaw(ctx)
	return err
}

// populate makes nodes and storage classes; with kept data they may be there. Comes
// before kwok starts.
func (b *bootstrap) populate(ctx context.Context, nodes, kubeletPort int) error {
	// In kept data the last kwok still holds the nodes, and the new one would wait.
	err := b.client.CoordinationV1().Leases(corev1.NamespaceNodeLease).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("can't free the nodes: %w", err)
	}
	for i := 0; i < nodes; i++ {
		_, err := b.client.CoreV1().Nodes().Create(ctx, fakeNode(i), metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("can't create node %d: %w", i, err)
		}
		if err := b.announceKubelet(ctx, fakeNode(i).Name, kubeletPort); err != nil {
			return fmt.Errorf("can't set the addresses of node %d: %w", i, err)
		}
	}
	for _, class := range storageClasses() {
		_, err := b.client.StorageV1().StorageClasses().Create(ctx, class, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("can't create storage class %s: %w", class.Name, err)
		}
	}
	return nil
}

// fakeAnnotation tells kwok which nodes are its own.
const fakeAnnotation = "kwok.x-k8s.io/node"

// nodeIP is what Pods see as their node's address; it leads nowhere.
const nodeIP = "10.244.255.1"

// announceKubelet says in a node's status where its kubelet listens; kwok keeps what it finds there.
func (b *bootstrap) announceKubelet(ctx context.Context, name string, port int) error {
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		node, err := b.client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		node.Status.Addresses = []corev1.NodeAddress{
			{Type: corev1.NodeInternalIP, Address: nodeIP},
			{Type: corev1.NodeExternalIP, Address: "127.0.0.1"},
			{Type: corev1.NodeHostName, Address: name},
		}
		node.Status.DaemonEndpoints.KubeletEndpoint.Port = int32(port)
		_, err = b.client.CoreV1().Nodes().UpdateStatus(ctx, node, metav1.UpdateOptions{})
		return err
	})
}

// pod looks a Pod up, for the kubelet.
func (b *bootstrap) pod(ctx context.Context, namespace, name string) (*corev1.Pod, error) {
	return b.client.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
}

func fakeNode(i int) *corev1.Node {
	name := fmt.Sprintf("node-%d", i)
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name:        name,
		Annotations: map[string]string{fakeAnnotation: "fake"},
		Labels: map[string]string{
			"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64",
			"topology.kubernetes.io/region": "local", "topology.kubernetes.io/zone": fmt.Sprintf("zone-%d", i%3),
		},
	}}
}

func storageClasses() []*storagev1.StorageClass {
	now, later := storagev1.VolumeBindingImmediate, storagev1.VolumeBindingWaitForFirstConsumer
	return []*storagev1.StorageClass{
		{
			ObjectMeta:  metav1.ObjectMeta{Name: "standard", Annotations: map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}},
			Provisioner: stages.Provisioner, VolumeBindingMode: &now,
		},
		{
			ObjectMeta:  metav1.ObjectMeta{Name: "wait-for-first-consumer"},
			Provisioner: stages.Provisioner, VolumeBindingMode: &later,
		},
	}
}

// clusterReady says nil when Pods can be made: nodes take them and the default service
// account and its CA are there.
func (b *bootstrap) clusterReady(ctx context.Context, nodes int) error {
	if _, err := b.client.CoreV1().ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{}); err != nil {
		return err
	}
	if _, err := b.client.CoreV1().ConfigMaps("default").Get(ctx, "kube-root-ca.crt", metav1.GetOptions{}); err != nil {
		return err
	}
	list, err := b.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	if len(list.Items) < nodes {
		return fmt.Errorf("%d of %d nodes", len(list.Items), nodes)
	}
	for i := range list.Items {
		if err := nodeReady(&list.Items[i]); err != nil {
			return err
		}
	}
	return nil
}

func nodeReady(n *corev1.Node) error {
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
			if len(n.Spec.Taints) != 0 {
				return fmt.Errorf("node %s is tainted %s", n.Name, n.Spec.Taints[0].Key)
			}
			return nil
		}
	}
	return fmt.Errorf("node %s is not Ready", n.Name)
}
