package main

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/namespace/deletion"
)

// runNamespaceController empties and finalizes Namespaces that are being deleted, until
// ctx ends. It replaces the controller-manager's, which waits five seconds for the other
// API servers of a cluster, and then half of the Pods' grace period: here are neither.
// What is deleted, and in which order, is Kubernetes' own code.
func (b *bootstrap) runNamespaceController(ctx context.Context) error {
	client, meta := b.client, b.meta
	queue := workqueue.NewTypedRateLimitingQueue(
		workqueue.NewTypedItemExponentialFailureRateLimiter[string](20*time.Millisecond, 2*time.Second))
	defer queue.ShutDown()

	factory := informers.NewSharedInformerFactory(client, 0)
	namespaces := factory.Core().V1().Namespaces().Informer()
	enqueue := func(obj any) {
		if ns, ok := obj.(*corev1.Namespace); ok && ns.DeletionTimestamp != nil {
			queue.Add(ns.Name)
		}
	}
	_, err := namespaces.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: enqueue,
		// Each try writes the Namespace's conditions, which comes back here: only the first sight of a deletion counts,
		// and the queue's back-off does the rest.
		UpdateFunc: func(old, obj any) {
			if before, ok := old.(*corev1.Namespace); !ok || before.DeletionTimestamp == nil {
				enqueue(obj)
			}
		},
	})
	if err != nil {
		return err
	}
	factory.Start(ctx.Done())
	defer factory.Shutdown()

	deleter := deletion.NewNamespacedResourcesDeleter(ctx, client.CoreV1().Namespaces(), meta, client.CoreV1(),
		client.Discovery().ServerPreferredNamespacedResources, corev1.FinalizerKubernetes)
	const workers = 4
	for range workers {
		go func() {
			for deleteNext(ctx, queue, deleter) {
			}
		}()
	}
	<-ctx.Done()
	return nil
}

// deleteNext works on one Namespace; false when the queue has shut down.
func deleteNext(ctx context.Context, queue workqueue.TypedRateLimitingInterface[string], deleter deletion.NamespacedResourcesDeleterInterface) bool {
	name, stop := queue.Get()
	if stop {
		return false
	}
	defer queue.Done(name)
	err := deleter.Delete(ctx, name)
	if err == nil {
		queue.Forget(name)
		return true
	}
	// Mostly "resources remain": finalizers and Pods that are just going.
	klog.FromContext(ctx).V(1).Info("namespace is not yet empty", "namespace", name, "why", err)
	queue.AddRateLimited(name)
	return true
}
