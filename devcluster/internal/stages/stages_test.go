package stages

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"sigs.k8s.io/kwok/pkg/apis/internalversion"
	"sigs.k8s.io/kwok/pkg/config"
	"sigs.k8s.io/kwok/pkg/utils/gotpl"
	"sigs.k8s.io/kwok/pkg/utils/lifecycle"
)

// allStages reads Config as kwok does.
func allStages(t *testing.T) []*internalversion.Stage {
	file := filepath.Join(t.TempDir(), "kwok.yaml")
	if err := os.WriteFile(file, []byte(Config(true)), 0o600); err != nil {
		t.Fatal(err)
	}
	objects, err := config.Load(context.Background(), file)
	if err != nil {
		t.Fatal(err)
	}
	stages := config.FilterWithType[*internalversion.Stage](objects)
	if len(stages) != len(objects) || len(stages) < 10 {
		t.Fatalf("%d stages in %d documents", len(stages), len(objects))
	}
	return stages
}

func TestBesideARealNodeVolumesAreLeftAlone(t *testing.T) {
	without := Config(false)
	for _, stage := range []string{"pvc-provision", "pv-delete"} {
		if !strings.Contains(Config(true), "name: "+stage+"\n") || strings.Contains(without, "name: "+stage+"\n") {
			t.Errorf("%s is where it should not be", stage)
		}
	}
	if !strings.Contains(without, "name: pod-start\n") {
		t.Error("Pods of the fake nodes are forgotten")
	}
}

// play lets a Pod that was just scheduled run through the stages until none applies.
// In each state at most one may apply: kwok would throw dice.
func play(t *testing.T, policy corev1.RestartPolicy, devState string) (*corev1.Pod, []string) {
	annotations := map[string]string{}
	if devState != "" {
		annotations["mistletoe.dev/dev-state"] = devState
	}
	return playAnnotated(t, policy, annotations)
}

func playAnnotated(t *testing.T, policy corev1.RestartPolicy, annotations map[string]string) (*corev1.Pod, []string) {
	ctx := context.Background()
	podStages := slices.DeleteFunc(allStages(t), func(s *internalversion.Stage) bool { return s.Spec.ResourceRef.Kind != "Pod" })
	lc, err := lifecycle.NewLifecycle(podStages)
	if err != nil {
		t.Fatal(err)
	}
	ips := func(...any) []string { return []string{"10.0.0.1"} }
	renderer := gotpl.NewRenderer(gotpl.FuncMap{"NodeIPsWith": ips, "PodIPsWith": ips})

	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p"},
		Spec: corev1.PodSpec{RestartPolicy: policy,
			InitContainers: []corev1.Container{{Name: "i", Image: "x"}},
			Containers:     []corev1.Container{{Name: "a", Image: "x"}, {Name: "b", Image: "x"}}},
		Status: corev1.PodStatus{Phase: corev1.PodPending,
			Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}}},
	}
	devState := annotations["mistletoe.dev/dev-state"]
	if len(annotations) > 0 {
		pod.Annotations = annotations
	}
	var played []string
	for len(played) < 5 {
		event := &lifecycle.Event{Labels: pod.Labels, Annotations: pod.Annotations, Data: pod}
		possible, err := lc.ListAllPossible(ctx, event)
		if err != nil {
			t.Fatal(err)
		}
		if len(possible) == 0 {
			return pod, played
		}
		if len(possible) > 1 {
			t.Fatalf("%s %q: %d stages apply", policy, devState, len(possible))
		}
		played = append(played, possible[0].Name())
		_, err = possible[0].DoSteps(0, nil, pod, renderer,
			func(*internalversion.StageEvent) error { return nil },
			func() error { t.Fatal("deleted"); return nil },
			func(p *lifecycle.Patch) error { pod = patched(t, pod, p.Data); return nil },
			func(*lifecycle.Apply) error { t.Fatal("applied"); return nil })
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Fatalf("%s %q never comes to rest: %v", policy, devState, played)
	return nil, nil
}

func patched(t *testing.T, pod *corev1.Pod, patch []byte) *corev1.Pod {
	before, err := json.Marshal(pod)
	if err != nil {
		t.Fatal(err)
	}
	after, err := strategicpatch.StrategicMergePatch(before, patch, corev1.Pod{})
	if err != nil {
		t.Fatal(err)
	}
	next := &corev1.Pod{}
	if err := json.Unmarshal(after, next); err != nil {
		t.Fatalf("the status is no Pod's: %v\n%s", err, after)
	}
	return next
}

func TestPodsEndWhereTheirSpecAndAnnotationSay(t *testing.T) {
	const always, never, onFailure = corev1.RestartPolicyAlways, corev1.RestartPolicyNever, corev1.RestartPolicyOnFailure
	for _, c := range []struct {
		policy   corev1.RestartPolicy
		devState string
		phase    corev1.PodPhase
		ready    bool
		state    string // of the containers
	}{
		{always, "", corev1.PodRunning, true, "running"},
		{never, "", corev1.PodSucceeded, false, "exit 0"},
		{onFailure, "", corev1.PodSucceeded, false, "exit 0"},
		{always, "run", corev1.PodRunning, true, "running"},
		{never, "run", corev1.PodRunning, true, "running"},
		{always, "never-ready", corev1.PodRunning, false, "running"},
		{never, "never-ready", corev1.PodRunning, false, "running"},
		{never, "fail", corev1.PodFailed, false, "exit 1"},
		{onFailure, "fail", corev1.PodRunning, false, "CrashLoopBackOff"},
		{always, "fail", corev1.PodRunning, false, "CrashLoopBackOff"},
		{always, "crash-loop", corev1.PodRunning, false, "CrashLoopBackOff"},
		{never, "crash-loop", corev1.PodRunning, false, "CrashLoopBackOff"},
		{always, "oom", corev1.PodRunning, false, "CrashLoopBackOff"},
		{never, "oom", corev1.PodFailed, false, "exit 137 OOMKilled"},
		{always, "image-pull-backoff", corev1.PodPending, false, "ImagePullBackOff"},
		{never, "image-pull-backoff", corev1.PodPending, false, "ImagePullBackOff"},
		{always, "pending", corev1.PodPending, false, ""},
		{always, "a typing error", corev1.PodPending, false, ""},
	} {
		pod, played := play(t, c.policy, c.devState)
		if pod.Status.Phase != c.phase || isReady(pod) != c.ready {
			t.Errorf("%s %q: %s, ready %v, after %v", c.policy, c.devState, pod.Status.Phase, isReady(pod), played)
		}
		if c.state == "" {
			continue
		}
		if len(pod.Status.ContainerStatuses) != 2 || len(pod.Status.InitContainerStatuses) != 1 {
			t.Errorf("%s %q: %d containers, %d init containers", c.policy, c.devState, len(pod.Status.ContainerStatuses), len(pod.Status.InitContainerStatuses))
		}
		for _, s := range pod.Status.ContainerStatuses {
			if got := describe(s.State); got != c.state || s.Ready != c.ready {
				t.Errorf("%s %q: container %s: %s, ready %v", c.policy, c.devState, s.Name, got, s.Ready)
			}
		}
		if !slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodScheduled }) {
			t.Errorf("%s %q: the scheduler's condition is lost", c.policy, c.devState)
		}
	}
}

func TestTheLastEndOfACrashLoopIsAsAnnotated(t *testing.T) {
	for _, c := range []struct {
		annotations map[string]string
		code        int32
		reason      string
	}{
		{map[string]string{"mistletoe.dev/dev-state": "crash-loop"}, 1, "Error"},
		{map[string]string{"mistletoe.dev/dev-state": "crash-loop", "mistletoe.dev/dev-exit-code": "42"}, 42, "Error"},
		{map[string]string{"mistletoe.dev/dev-state": "oom"}, 137, "OOMKilled"},
	} {
		pod, _ := playAnnotated(t, corev1.RestartPolicyAlways, c.annotations)
		last := pod.Status.ContainerStatuses[0].LastTerminationState.Terminated
		if last == nil || last.ExitCode != c.code || last.Reason != c.reason {
			t.Errorf("%v: %v", c.annotations, last)
		}
	}
}

func isReady(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

func describe(s corev1.ContainerState) string {
	switch {
	case s.Running != nil && s.Terminated == nil:
		return "running"
	case s.Terminated != nil && s.Running == nil:
		if s.Terminated.ExitCode == 0 {
			return "exit 0"
		}
		return strings.TrimSuffix(fmt.Sprintf("exit %d %s", s.Terminated.ExitCode, s.Terminated.Reason), " Error")
	case s.Waiting != nil:
		return s.Waiting.Reason
	}
	return "?"
}
