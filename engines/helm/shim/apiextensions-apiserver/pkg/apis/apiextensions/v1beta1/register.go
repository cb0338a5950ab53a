// Package v1beta1 stands in for the types of CustomResourceDefinitions: Helm asks for nothing but their API version.
package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// AddToScheme makes the version known.
func AddToScheme(scheme *runtime.Scheme) error {
	gv := schema.GroupVersion{Group: "apiextensions.k8s.io", Version: "v1beta1"}
	scheme.AddKnownTypeWithName(gv.WithKind(metav1.WatchEventKind), &metav1.WatchEvent{})
	return nil
}
