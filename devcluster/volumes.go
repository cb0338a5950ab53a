package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"mistletoe.dev/devcluster/internal/realnode"
	"mistletoe.dev/devcluster/internal/stages"
)

// Annotations of volumes and claims by which Kubernetes' volume controller and a provisioner understand each other.
const (
	provisionerAnnotation   = "volume.kubernetes.io/storage-provisioner"
	selectedNodeAnnotation  = "volume.kubernetes.io/selected-node"
	provisionedByAnnotation = "pv.kubernetes.io/provisioned-by"
	devStateAnnotation      = "mistletoe.dev/dev-state"
)

// runVolumes is the provisioner of our storage classes beside a real node, where data must be somewhere: each volume
// is a directory in dir. kwok's stages do the same without data for fake nodes only.
//
// Volumes are of the kind `local`, not `hostPath`: only on the former the kubelet gives files to a Pod's fsGroup.
func (b *bootstrap) runVolumes(ctx context.Context, dir string) error {
	factory := informers.NewSharedInformerFactory(b.client, 0)
	claims := factory.Core().V1().PersistentVolumeClaims().Informer()
	volumes := factory.Core().V1().PersistentVolumes().Informer()
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[any](50*time.Millisecond, 5*time.Second))
	handler := cache.ResourceEventHandlerFuncs{AddFunc: queue.Add, UpdateFunc: func(_, object any) { queue.Add(object) }}
	for _, informer := range []cache.SharedIndexInformer{claims, volumes} {
		if _, err := informer.AddEventHandler(handler); err != nil {
			return err
		}
	}
	factory.Start(ctx.Done())
	defer factory.Shutdown()
	stop := context.AfterFunc(ctx, queue.ShutDown)
	defer stop()
	for {
		object, down := queue.Get()
		if down {
			return nil
		}
		if err := b.settle(ctx, object, dir); err != nil && ctx.Err() == nil {
			queue.AddRateLimited(object) // the newest state comes by itself; this one may still be it
		} else {
			queue.Forget(object)
		}
		queue.Done(object)
	}
}

// settle does what a claim or a volume needs, if anything.
func (b *bootstrap) settle(ctx context.Context, object any, dir string) error {
	switch o := object.(type) {
	case *corev1.PersistentVolumeClaim:
		if wantsVolume(o) {
			return b.provision(ctx, o, dir)
		}
	case *corev1.PersistentVolume:
		if isReleased(o) {
			return b.discard(ctx, o, dir)
		}
	}
	return nil
}

func wantsVolume(c *corev1.PersistentVolumeClaim) bool {
	return c.DeletionTimestamp == nil && c.Spec.VolumeName == "" && c.Annotations[provisionerAnnotation] == stages.Provisioner &&
		c.Annotations[devStateAnnotation] == ""
}

func isReleased(v *corev1.PersistentVolume) bool {
	return v.DeletionTimestamp == nil && v.Status.Phase == corev1.VolumeReleased && v.Annotations[provisionedByAnnotation] == stages.Provisioner &&
		v.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimDelete
}

func (b *bootstrap) provision(ctx context.Context, claim *corev1.PersistentVolumeClaim, dir string) error {
	volume := volumeFor(claim)
	if *volume.Spec.VolumeMode == corev1.PersistentVolumeBlock {
		return b.refuse(ctx, claim, "devcluster's volumes are directories: volumeMode Block is not supported")
	}
	place := filepath.Join(dir, volume.Name)
	if err := os.Mkdir(place, 0o777); err != nil && !os.IsExist(err) {
		return err
	}
	// Whoever the container runs as may write, fsGroup or not.
	if err := os.Chmod(place, 0o777); err != nil {
		return err
	}
	_, err := b.client.CoreV1().PersistentVolumes().Create(ctx, volume, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// volumeFor is bound to the claim, and to the node that the scheduler chose or, with a class that binds at once, the
// real one.
func volumeFor(claim *corev1.PersistentVolumeClaim) *corev1.PersistentVolume {
	node := claim.Annotations[selectedNodeAnnotation]
	if node == "" {
		node = realnode.Name
	}
	mode := corev1.PersistentVolumeFilesystem
	if claim.Spec.VolumeMode != nil {
		mode = *claim.Spec.VolumeMode
	}
	class := ""
	if claim.Spec.StorageClassName != nil {
		class = *claim.Spec.StorageClassName
	}
	name := "pvc-" + string(claim.UID)
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{provisionedByAnnotation: stages.Provisioner}},
		Spec: corev1.PersistentVolumeSpec{
			AccessModes:                   claim.Spec.AccessModes,
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: claim.Spec.Resources.Requests[corev1.ResourceStorage]},
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimDelete,
			StorageClassName:              class,
			VolumeMode:                    &mode,
			ClaimRef: &corev1.ObjectReference{APIVersion: "v1", Kind: "PersistentVolumeClaim",
				Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID},
			PersistentVolumeSource: corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: filepath.Join(realnode.Volume, name)}},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{node}}},
			}}}},
		},
	}
}

// refuse tells the claim's owner, by an Event.
func (b *bootstrap) refuse(ctx context.Context, claim *corev1.PersistentVolumeClaim, why string) error {
	now := metav1.Now()
	_, err := b.client.CoreV1().Events(claim.Namespace).Create(ctx, &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s.%s", claim.Name, claim.UID), Namespace: claim.Namespace},
		InvolvedObject: corev1.ObjectReference{APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: claim.Namespace,
			Name: claim.Name, UID: claim.UID, ResourceVersion: claim.ResourceVersion},
		Type: corev1.EventTypeWarning, Reason: "ProvisioningFailed", Message: why,
		Source: corev1.EventSource{Component: stages.Provisioner}, FirstTimestamp: now, LastTimestamp: now, Count: 1,
	}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// discard removes a volume that nobody claims any more, with its data.
func (b *bootstrap) discard(ctx context.Context, volume *corev1.PersistentVolume, dir string) error {
	if volume.Spec.Local != nil {
		if err := os.RemoveAll(filepath.Join(dir, filepath.Base(volume.Spec.Local.Path))); err != nil {
			return err
		}
	}
	err := b.client.CoreV1().PersistentVolumes().Delete(ctx, volume.Name, metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
