package main

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	cacheddiscovery "k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/cache"
	"k8s.io/controller-manager/pkg/informerfactory"
	"k8s.io/kubernetes/pkg/controller/garbagecollector"
)

var crdResource = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// runGarbageCollector is Kubernetes' garbage collector, until ctx ends, with one
// difference from the controller-manager's: it looks for new kinds when a
// CustomResourceDefinition changes, and not only every 30 seconds. Foreground deletion
// of an object of a new kind would have to wait for that.
func (b *bootstrap) runGarbageCollector(ctx context.Context) error {
	client, meta := b.client, b.meta
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(cacheddiscovery.NewMemCacheClient(client.Discovery()))
	objects := informers.NewSharedInformerFactory(client, 0)
	metadatas := metadatainformer.NewSharedInformerFactory(meta, 0)
	changed := make(chan struct{}, 1)
	poke := func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	crds := metadatas.ForResource(crdResource).Informer()
	_, err := crds.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { poke() },
		UpdateFunc: func(any, any) { poke() },
		DeleteFunc: func(any) { poke() },
	})
	if err != nil {
		return err
	}
	started := make(chan struct{})
	gc, err := garbagecollector.NewGarbageCollector(ctx, client, meta, mapper, garbagecollector.DefaultIgnoredResources(),
		informerfactory.NewInformerFactory(objects, metadatas), started)
	if err != nil {
		return err
	}
	metadatas.Start(ctx.Done())
	close(started)

	const workers, period = 10, 30 * time.Second
	go gc.Run(ctx, workers, period)
	// Sync looks at once, then every period; starting it again is how to make it look.
	// A kind is not served at the moment its definition says so: look twice.
	var again []time.Duration
	for ctx.Err() == nil {
		syncCtx, stop := context.WithCancel(ctx)
		done := make(chan struct{})
		go func() {
			defer close(done)
			gc.Sync(syncCtx, client.Discovery(), period)
		}()
		again = awaitChange(ctx, changed, again)
		stop()
		<-done
	}
	return nil
}

// awaitChange returns when it is time to look again: after the first of the given
// delays, or some time after a change. The result are the delays from then on.
func awaitChange(ctx context.Context, changed <-chan struct{}, delays []time.Duration) []time.Duration {
	var timer <-chan time.Time
	if len(delays) != 0 {
		timer = time.After(delays[0])
		delays = delays[1:]
	}
	select {
	case <-ctx.Done():
	case <-timer:
		return delays
	case <-changed:
		delays = []time.Duration{time.Second}
		select { // definitions often come together
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
	return delays
}
