package main

import (
	"slices"
	"strings"
)

type object = map[string]any

// axis is a place in an object and what it may hold; nil: nothing.
type axis struct {
	path   string
	values []any
}

// family is a kind and the places that its readiness may depend on; all combinations are made.
type family struct {
	apiVersion, kind string
	axes             []axis
}

func condition(kind, status, reason string) object {
	return object{"type": kind, "status": status, "reason": reason, "message": "why"}
}

func conditions(list ...any) []any { return list }

var (
	generations = axis{"metadata.generation", []any{int64(2)}}
	observed    = axis{"status.observedGeneration", []any{int64(2), int64(1), nil}}
	seen        = axis{"status.observedGeneration", []any{int64(2)}}
	deletion    = axis{"metadata.deletionTimestamp", []any{nil, "2026-01-01T00:00:00Z"}}
)

var families = []family{
	{"apps/v1", "Deployment", []axis{generations, seen,
		{"spec.replicas", []any{nil, int64(2), int64(0)}},
		{"spec.progressDeadlineSeconds", []any{int64(600)}},
		{"status.replicas", []any{nil, int64(1), int64(2), int64(3)}},
		{"status.updatedReplicas", []any{nil, int64(1), int64(2)}},
		{"status.availableReplicas", []any{nil, int64(1), int64(2)}},
		{"status.readyReplicas", []any{nil, int64(2)}},
		{"status.conditions", []any{
			nil,
			conditions(condition("Available", "True", "MinimumReplicasAvailable"), condition("Progressing", "True", "NewReplicaSetAvailable")),
			conditions(condition("Available", "False", "MinimumReplicasUnavailable"), condition("Progressing", "True", "ReplicaSetUpdated")),
			conditions(condition("Progressing", "False", "ProgressDeadlineExceeded")),
		}}}},
	{"apps/v1", "Deployment", []axis{deletion, generations, observed, {"status.replicas", []any{int64(1)}},
		{"status.updatedReplicas", []any{int64(1)}}, {"status.availableReplicas", []any{int64(1)}}, {"status.readyReplicas", []any{int64(1)}},
		{"status.conditions", []any{
			conditions(condition("Available", "True", "x"), condition("Progressing", "True", "NewReplicaSetAvailable")),
			conditions(condition("Available", "True", "x"), condition("Reconciling", "True", "Busy")),
			conditions(condition("Available", "True", "x"), condition("Stalled", "True", "Stuck")),
		}}}},
	{"apps/v1", "StatefulSet", []axis{generations, observed, {"status.replicas", []any{int64(1)}}, {"status.readyReplicas", []any{int64(1)}},
		{"status.updatedReplicas", []any{int64(1)}}, {"status.currentReplicas", []any{int64(1)}}}},
	{"apps/v1", "StatefulSet", []axis{generations, seen,
		{"spec.replicas", []any{nil, int64(2)}},
		{"spec.updateStrategy.type", []any{"RollingUpdate", "OnDelete"}},
		{"spec.updateStrategy.rollingUpdate.partition", []any{nil, int64(0), int64(1)}},
		{"status.replicas", []any{int64(1), int64(2), int64(3)}},
		{"status.readyReplicas", []any{int64(1), int64(2)}},
		{"status.updatedReplicas", []any{nil, int64(1), int64(2)}},
		{"status.currentReplicas", []any{nil, int64(2)}},
		{"status.currentRevision", []any{"a"}},
		{"status.updateRevision", []any{"a", "b"}}}},
	{"apps/v1", "DaemonSet", []axis{generations, observed,
		{"spec.updateStrategy.type", []any{"RollingUpdate", "OnDelete"}},
		{"status.desiredNumberScheduled", []any{nil, int64(0), int64(2)}},
		{"status.currentNumberScheduled", []any{nil, int64(2)}},
		{"status.updatedNumberScheduled", []any{nil, int64(1), int64(2)}},
		{"status.numberAvailable", []any{nil, int64(1), int64(2)}},
		{"status.numberReady", []any{nil, int64(1), int64(2)}}}},
	{"apps/v1", "ReplicaSet", []axis{generations, observed,
		{"spec.replicas", []any{nil, int64(0), int64(2)}},
		{"status.replicas", []any{nil, int64(2), int64(3)}},
		{"status.readyReplicas", []any{nil, int64(1), int64(2)}},
		{"status.availableReplicas", []any{nil, int64(2)}},
		{"status.fullyLabeledReplicas", []any{nil, int64(2)}},
		{"status.conditions", []any{nil, conditions(condition("ReplicaFailure", "True", "FailedCreate"))}}}},
	{"v1", "Pod", []axis{deletion, {"metadata.creationTimestamp", []any{"2020-01-01T00:00:00Z"}},
		{"status.phase", []any{nil, "Pending", "Running", "Succeeded", "Failed"}},
		{"status.conditions", []any{nil,
			conditions(condition("Ready", "True", "")),
			conditions(condition("Ready", "False", "ContainersNotReady")),
			conditions(condition("PodScheduled", "False", "Unschedulable")),
			conditions(condition("PodScheduled", "False", "SchedulingGated"))}},
		{"status.containerStatuses", []any{nil,
			[]any{object{"name": "main", "state": object{"waiting": object{"reason": "CrashLoopBackOff"}}}},
			[]any{object{"name": "main", "state": object{"waiting": object{"reason": "ImagePullBackOff"}}}}}}}},
	{"batch/v1", "Job", []axis{
		{"spec.completions", []any{nil, int64(2)}},
		{"spec.suspend", []any{nil, true}},
		{"status.startTime", []any{nil, "2020-01-01T00:00:00Z"}},
		{"status.succeeded", []any{nil, int64(1), int64(2)}},
		{"status.failed", []any{nil, int64(1)}},
		{"status.conditions", []any{nil,
			conditions(condition("Complete", "True", "")),
			conditions(condition("Failed", "True", "BackoffLimitExceeded")),
			conditions(condition("Suspended", "True", "JobSuspended")),
			conditions(condition("FailureTarget", "True", "BackoffLimitExceeded")),
			conditions(condition("Failed", "False", "")),
		}}}},
	{"batch/v1", "CronJob", []axis{{"spec.suspend", []any{nil, true}}, {"status.lastScheduleTime", []any{nil, "2020-01-01T00:00:00Z"}}}},
	{"v1", "PersistentVolumeClaim", []axis{deletion, {"status.phase", []any{nil, "Pending", "Bound", "Lost"}}}},
	{"v1", "Service", []axis{
		{"spec.type", []any{nil, "ClusterIP", "NodePort", "LoadBalancer", "ExternalName"}},
		{"spec.clusterIP", []any{nil, "10.0.0.1"}},
		{"status.loadBalancer.ingress", []any{nil, []any{}, []any{object{"ip": "192.0.2.1"}}}}}},
	{"policy/v1", "PodDisruptionBudget", []axis{generations, observed,
		{"status.conditions", []any{nil,
			conditions(condition("DisruptionAllowed", "True", "SufficientPods")),
			conditions(condition("DisruptionAllowed", "False", "InsufficientPods")),
			conditions(condition("DisruptionAllowed", "False", "SyncFailed"))}}}},
	{"apiextensions.k8s.io/v1", "CustomResourceDefinition", []axis{
		{"status.conditions", []any{nil,
			conditions(condition("NamesAccepted", "True", "NoConflicts")),
			conditions(condition("NamesAccepted", "False", "Conflict")),
			conditions(condition("NamesAccepted", "True", "NoConflicts"), condition("Established", "False", "Installing")),
			conditions(condition("NamesAccepted", "True", "NoConflicts"), condition("Established", "False", "NotAccepted")),
			conditions(condition("NamesAccepted", "True", "NoConflicts"), condition("Established", "True", "InitialNamesAccepted"))}}}},
	{"v1", "Secret", []axis{{"data", []any{nil, object{}}}}},
	{"v1", "ConfigMap", []axis{{"data", []any{nil, object{}}}}},
	{"v1", "ServiceAccount", []axis{deletion}},
	{"v1", "Namespace", []axis{deletion, {"status.phase", []any{nil, "Active", "Terminating"}}}},
	{"networking.k8s.io/v1", "Ingress", []axis{{"status.loadBalancer.ingress", []any{nil, []any{object{"ip": "192.0.2.1"}}}}}},
	{"autoscaling/v2", "HorizontalPodAutoscaler", []axis{
		{"status.conditions", []any{nil,
			conditions(condition("AbleToScale", "True", "ReadyForNewScale"), condition("ScalingActive", "True", "ValidMetricFound")),
			conditions(condition("AbleToScale", "True", "SucceededGetScale"), condition("ScalingActive", "False", "FailedGetResourceMetric")),
			conditions(condition("AbleToScale", "False", "FailedGetScale"))}}}},
	{"apiregistration.k8s.io/v1", "APIService", []axis{
		{"status.conditions", []any{nil,
			conditions(condition("Available", "True", "Passed")),
			conditions(condition("Available", "False", "MissingEndpoints"))}}}},
	{"v1", "PersistentVolume", []axis{{"status.phase", []any{nil, "Pending", "Available", "Bound", "Released", "Failed"}}}},
	{"example.com/v1", "Widget", []axis{deletion, generations, observed,
		{"status.phase", []any{nil, "Running"}},
		{"status.conditions", []any{nil,
			conditions(),
			conditions(condition("Ready", "True", "")),
			conditions(condition("Ready", "False", "Starting")),
			conditions(condition("Ready", "Unknown", "Starting")),
			conditions(object{"type": "Ready", "status": "True", "observedGeneration": int64(1)}),
			conditions(condition("Available", "True", "")),
			conditions(condition("Available", "False", "Starting")),
			conditions(condition("Programmed", "False", "Pending"), condition("Accepted", "True", "Accepted")),
			conditions(condition("Reconciling", "True", "Busy"), condition("Ready", "True", "")),
			conditions(condition("Reconciling", "False", ""), condition("Ready", "True", "")),
			conditions(condition("Stalled", "True", "Stuck"), condition("Ready", "False", "Stuck")),
			conditions(condition("Stalled", "False", ""), condition("Ready", "True", "")),
			conditions(condition("Synced", "False", "")),
		}}}},
}

// cases are all combinations of all families.
func cases() []object {
	var all []object
	for _, f := range families {
		made := []object{{"apiVersion": f.apiVersion, "kind": f.kind, "metadata": object{"name": "x"}}}
		for _, a := range f.axes {
			var next []object
			for _, o := range made {
				for _, v := range a.values {
					next = append(next, with(o, strings.Split(a.path, "."), v))
				}
			}
			made = next
		}
		all = append(all, made...)
	}
	return all
}

// with is a copy of o that holds v at a path; nil changes nothing.
func with(o object, path []string, v any) object {
	if v == nil {
		return o
	}
	result := object{}
	for k, inner := range o {
		result[k] = inner
	}
	if len(path) == 1 {
		result[path[0]] = v
		return result
	}
	below, _ := result[path[0]].(object)
	result[path[0]] = with(below, slices.Clone(path[1:]), v)
	return result
}
