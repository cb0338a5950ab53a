#include "apply/wait/root_cause.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "apimachinery/conditions.h"
#include "apply/wait/pod_trouble.h"
#include "apply/wait/readiness.h"
#include "base/parallel.h"
#include "base/text.h"
#include "kube/pod_log.h"

namespace mist::apply {

using apimachinery::condition_of;
using apimachinery::GroupKind;
using apimachinery::ObjectKey;
using encoding::Value;

namespace {

// Bounds.
constexpr std::size_t kPodsShown = 3;
constexpr std::size_t kEventsShown = 3;
constexpr std::size_t kClaimsShown = 3;
constexpr std::size_t kLongestLogLine = 400;
constexpr std::int64_t kLogBytes = 64 << 10;

const GroupKind kDeployment{"apps", "Deployment"};
const GroupKind kClaim{"", "PersistentVolumeClaim"};
const GroupKind kPod{"", "Pod"};

kube::ResourceInfo built_in(std::string group, std::string version, std::string kind, std::string resource) {
  return {{std::move(group), std::move(version), std::move(kind)}, std::move(resource), true, {}};
}
const kube::ResourceInfo kPods = built_in("", "v1", "Pod", "pods");
const kube::ResourceInfo kEvents = built_in("", "v1", "Event", "events");
const kube::ResourceInfo kReplicaSets = built_in("apps", "v1", "ReplicaSet", "replicasets");
const kube::ResourceInfo kClaims = built_in("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims");

const Value::Array& list_at(const Value& value, std::initializer_list<std::string_view> path) {
  static const Value::Array kNone;
  const Value* found = value.at_path(path);
  return found != nullptr && found->is_array() ? found->as_array() : kNone;
}
std::string text_at(const Value& value, std::initializer_list<std::string_view> path) {
  return std::string(value.string_at(path));
}

const Value* named(const Value::Array& list, std::string_view name, std::string_view member = "name") {
  const auto found =
      std::ranges::find_if(list, [&](const Value& item) { return item.string_at(member) == name; });
  return found == list.end() ? nullptr : &*found;
}

std::string place_of(const Value& object) {
  const std::string ns = text_at(object, {"metadata", "namespace"}),
                    name = text_at(object, {"metadata", "name"});
  return ns.empty() ? name : ns + "/" + name;
}

bool owned_by(const Value& object, std::string_view uid) {
  return std::ranges::any_of(list_at(object, {"metadata", "ownerReferences"}),
                             [&](const Value& owner) { return owner.string_at("uid") == uid; });
}

std::string with_message(std::string_view text, std::string_view message) {
  return message.empty() ? std::string(text) : fmt::format("{}: {}", text, trim(message));
}

// ---- containers

std::string exit_words(std::int64_t code) {
  std::string_view meaning;
  switch (code) {
    case 126:
      meaning = ": its command can't be executed";
      break;
    case 127:
      meaning = ": its command was not found";
      break;
    case 134:
      meaning = ": SIGABRT";
      break;
    case 137:
      meaning = ": SIGKILL";
      break;
    case 139:
      meaning = ": SIGSEGV";
      break;
    case 143:
      meaning = ": SIGTERM";
      break;
    default:
      break;
  }
  return fmt::format("exit code {}{}", code, meaning);
}

// "Error" says no more than the exit code.
std::string ended_words(const Value& terminated, const Value* spec) {
  const std::string_view reason = terminated.string_at("reason");
  const std::int64_t code = terminated.int_at("exitCode");
  std::string text;
  if (reason == "OOMKilled") {
    const std::string limit = spec == nullptr ? "" : text_at(*spec, {"resources", "limits", "memory"});
    text = fmt::format("killed because it used more memory than {} (OOMKilled, {})",
                       limit.empty() ? "there was" : "its limit of " + limit, exit_words(code));
  } else if (reason.empty() || reason == "Error" || reason == "Completed") {
    text = fmt::format("ended with {}", exit_words(code));
  } else {
    text = fmt::format("ended with {} ({})", exit_words(code), reason);
  }
  return with_message(text, terminated.string_at("message"));
}

struct ContainerState {
  Diagnosis node;
  bool healthy = false;
  bool has_log = false;  // it ran
};

ContainerState describe_container(const Value& status, const Value* spec, bool init) {
  ContainerState result;
  Diagnosis& node = result.node;
  node.kind = init ? "init container" : "container";
  node.name = status.string_at("name");
  const Value* waiting = status.at_path({"state", "waiting"});
  const Value* running = status.at_path({"state", "running"});
  const Value* ended = status.at_path({"state", "terminated"});
  const Value* last = status.at_path({"lastState", "terminated"});
  const auto there = [](const Value* value) { return value != nullptr && value->is_object(); };
  const std::int64_t restarts = status.int_at("restartCount");
  const std::string again =
      restarts == 0 ? "" : fmt::format(", {}", plural(static_cast<std::size_t>(restarts), "restart"));
  if (there(waiting)) {
    node.reason = waiting->string_at("reason");
    const std::string reason = node.reason.empty() ? "waiting" : node.reason;
    if (there(last)) {
      node.exit_code = last->int_at("exitCode");
      if (last->string_at("reason") == "OOMKilled") node.reason = "OOMKilled";
      node.state = fmt::format("{}{}: {}", reason, again, ended_words(*last, spec));
      node.log_is_previous = true;
      result.has_log = true;
    } else {
      node.state = with_message(reason + again, waiting->string_at("message"));
      if (reason.starts_with("ErrImage") || reason.starts_with("Image") || reason == "InvalidImageName")
        node.notes.push_back(fmt::format("its image is {}", status.string_at("image")));
      // Not begun yet is not a fault of its own.
      result.healthy = reason == "PodInitializing" || reason == "ContainerCreating";
    }
  } else if (there(ended)) {
    node.exit_code = ended->int_at("exitCode");
    node.reason = ended->string_at("reason");
    node.state = ended_words(*ended, spec) + again;
    result.healthy = *node.exit_code == 0;
    result.has_log = true;
  } else if (there(running)) {
    const bool ready = status.is_true_at("ready"), started = status.is_true_at("started");
    node.state = ready ? "ready" : started ? "running, but not ready" : "running, but not started up";
    node.state += again;
    if (there(last)) {
      node.exit_code = last->int_at("exitCode");
      node.state += fmt::format("; before, it {}", ended_words(*last, spec));
    }
    // An init container runs until it is done.
    result.healthy = ready || (init && !started);
    result.has_log = true;
  } else {
    node.state = "not begun";
    result.healthy = true;
  }
  return result;
}

std::vector<ContainerState> containers_of(const Value& pod) {
  std::vector<ContainerState> result;
  for (const bool init : {true, false}) {
    const Value::Array& specs = list_at(pod, {"spec", init ? "initContainers" : "containers"});
    for (const Value& status : list_at(pod, {"status", init ? "initContainerStatuses" : "containerStatuses"}))
      result.push_back(describe_container(status, named(specs, status.string_at("name")), init));
  }
  return result;
}

// ---- Pods

bool pod_is_fine(const Value& pod) {
  if (pod.string_at({"status", "phase"}) == "Succeeded") return true;
  const Value* ready = condition_of(pod, "Ready");
  return ready != nullptr && ready->string_at("status") == "True";
}

bool unschedulable(const Value& pod) {
  const Value* scheduled = condition_of(pod, "PodScheduled");
  return scheduled != nullptr && scheduled->string_at("status") == "False";
}

// The number at the end of its name.
std::optional<std::int64_t> ordinal_of(const Value& pod) {
  const std::string_view name = pod.string_at({"metadata", "name"});
  const std::string_view digits = name.substr(name.rfind('-') + 1);  // all of it, where there is no dash
  std::int64_t ordinal = 0;
  const auto [end, wrong] = std::from_chars(digits.data(), digits.data() + digits.size(), ordinal);
  if (wrong != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return ordinal;
}

// The revision that an ordered StatefulSet rolls its Pods to; empty: it replaces none, or waits for none.
std::string_view rolled_to(const Value& workload) {
  const bool ordered = workload.string_at("kind") == "StatefulSet" &&
                       workload.string_at({"spec", "podManagementPolicy"}) != "Parallel" &&
                       workload.string_at({"spec", "updateStrategy", "type"}) != "OnDelete";
  const bool observed =
      workload.int_at({"status", "observedGeneration"}) >= workload.int_at({"metadata", "generation"});
  return ordered && observed ? workload.string_at({"status", "updateRevision"}) : std::string_view();
}

// Whether its StatefulSet waits for a Pod of an earlier revision to become ready before it replaces it. If
// that revision is broken, this is for ever, whatever the template says since (Kubernetes' documentation of
// StatefulSets, "Forced rollback").
bool is_held(const Value& set, const Value& pod) {
  const std::string_view wanted = rolled_to(set);
  const std::string_view has = pod.string_at({"metadata", "labels", "controller-revision-hash"});
  if (wanted.empty() || has.empty() || has == wanted) return false;
  // Those that ended are replaced, and those that are being deleted too.
  if (apimachinery::is_terminating(pod) || pod.string_at({"status", "phase"}) == "Failed") return false;
  const std::int64_t first = set.int_at({"spec", "ordinals", "start"}) +
                             set.int_at({"spec", "updateStrategy", "rollingUpdate", "partition"});
  const std::optional<std::int64_t> ordinal = ordinal_of(pod);
  return ordinal && *ordinal >= first;
}

// The first ones: the others are told when these are gone.
void describe_held(std::vector<std::string> held, std::string_view ns, const std::string& kubectl,
                   Diagnosis& set) {
  if (held.empty()) return;
  held.resize(std::min(held.size(), kPodsShown));
  const bool one = held.size() == 1;
  const std::string pods = fmt::format("{} {}", one ? "Pod" : "Pods", join(held, ", "));
  const std::string held_back =
      fmt::format("{} {} of an earlier revision, and replaced only when ready", pods, one ? "is" : "are");
  set.state = set.state.empty() ? held_back : fmt::format("{}; {}", set.state, held_back);
  set.remedy = fmt::format(
      "if {} can't become ready, {} delete pod {} -n {}: StatefulSet {} waits for {} before it goes on", pods,
      kubectl, join(held, " "), ns, set.name, one ? "it" : "them");
}

Diagnosis pod_head(const Value& pod) {
  Diagnosis node{.kind = "Pod", .name = place_of(pod), .state = {}};
  const std::string phase = text_at(pod, {"status", "phase"});
  if (apimachinery::is_terminating(pod)) {
    node.state = why_terminating(pod);
  } else if (unschedulable(pod)) {
    const Value& scheduled = *condition_of(pod, "PodScheduled");
    node.reason = scheduled.string_at("reason");
    node.state = with_message("no node takes it", scheduled.string_at("message"));
  } else if (phase == "Failed") {
    node.reason = pod.string_at({"status", "reason"});
    node.state = with_message(node.reason.empty() ? "failed" : "failed: " + node.reason,
                              pod.string_at({"status", "message"}));
  } else {
    node.state = phase.empty() ? "no node has taken it up" : phase;
    if (phase == "Running" && !pod_is_fine(pod)) node.state = "Running, not ready";
    if (const Value* ready = condition_of(pod, "Ready");
        ready != nullptr && ready->string_at("reason") == "ReadinessGatesNotReady")
      node.state = with_message("its readiness gates are not fulfilled", ready->string_at("message"));
    const std::string node_name = text_at(pod, {"spec", "nodeName"});
    if (phase == "Pending" && !node_name.empty()) node.state = fmt::format("Pending on node {}", node_name);
  }
  return node;
}

// The common part of pods that fail alike.
std::string likeness(const Diagnosis& pod) {
  std::string text = pod.reason;
  for (const Diagnosis& container : pod.children)
    text += fmt::format("|{} {} {}", container.name, container.reason, container.exit_code.value_or(0));
  return text;
}

// ---- events

// A controller that tries again reports each try with another generated name: 'pods "web-x7k2p" is
// forbidden'.
std::string without_generated_names(std::string message, std::string_view object) {
  if (object.empty()) return message;
  const std::string begin = fmt::format("\"{}-", object);
  for (std::size_t at = 0; (at = message.find(begin, at)) != std::string::npos;) {
    at += begin.size();
    message.erase(at, message.find('"', at) - at);
  }
  return message;
}

std::string time_of_event(const Value& event) {
  std::string time = text_at(event, {"series", "lastObservedTime"});
  for (const std::string_view member : {"lastTimestamp", "eventTime"})
    if (time.empty()) time = event.string_at(member);
  return time.empty() ? text_at(event, {"metadata", "creationTimestamp"}) : time;
}

// The prefix that client-go gives an event that stands for many (record.EventAggregator).
constexpr std::string_view kCombined = "(combined from similar events): ";

struct ReportedEvent {
  std::string time;
  std::string object;  // its name
  std::string like;    // the message, as far as it tells events of one cause from others
  Diagnosis::Event event;
};

// Whether a state, which a controller took from the same refusal, says what the event says. Before the
// refusal, events say what was tried: "Error creating: ".
bool is_told(std::string_view state, const ReportedEvent& event) {
  constexpr std::string_view kColon = ": ";
  const std::string told = without_generated_names(std::string(state), event.object);
  const auto colon = event.like.find(kColon);
  return told.find(event.like) != std::string::npos ||
         (colon != std::string::npos &&
          told.find(event.like.substr(colon + kColon.size())) != std::string::npos);
}

ReportedEvent read_event(const Value& event) {
  const std::int64_t count = std::max(event.int_at("count"), event.int_at({"series", "count"}));
  std::string message(trim(event.string_at("message")));
  std::string object = text_at(event, {"involvedObject", "name"});
  std::string like = without_generated_names(message, object);
  if (like.starts_with(kCombined)) like.erase(0, kCombined.size());
  return {.time = time_of_event(event),
          .object = std::move(object),
          .like = std::move(like),
          .event = {.warning = event.string_at("type") == "Warning",
                    .reason = text_at(event, {"reason"}),
                    .message = std::move(message),
                    .count = std::max<std::int64_t>(count, 1)}};
}

// The newest of each cause, oldest first; how often it was reported is how often all of them were.
std::vector<ReportedEvent> newest_of_each(std::vector<ReportedEvent> found, std::size_t most) {
  std::ranges::stable_sort(found, {}, &ReportedEvent::time);
  std::vector<ReportedEvent> kept;
  for (auto it = found.rbegin(); it != found.rend(); ++it) {
    const auto like = std::ranges::find_if(kept, [&](const ReportedEvent& each) {
      return each.event.reason == it->event.reason && each.like == it->like;
    });
    if (like != kept.end())
      like->event.count += it->event.count;
    else
      kept.push_back(std::move(*it));
  }
  if (kept.size() > most) kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(most), kept.end());
  std::ranges::reverse(kept);
  return kept;
}

Result<std::vector<ReportedEvent>> events_about(kube::Client& client, const std::string& ns,
                                                const std::string& uid, const Context& context) {
  MIST_TRY(
      const kube::ObjectList list,
      client.list(kEvents, {.ns = ns.empty() ? "default" : ns, .field_selector = "involvedObject.uid=" + uid},
                  context));
  std::vector<ReportedEvent> found;
  for (const Value& event : list.items) found.push_back(read_event(event));
  return found;
}

// ---- reading

class Examiner {
 public:
  Examiner(kube::Client& client, PodLogs logs, const Context& context)
      : client_(client), logs_(logs), context_(context) {}

  // `unready` may be older than the look that we take.
  Diagnosis object(Unready unready) {
    if (unready.live.is_null()) {
      auto live = client_.get({unready.resource, unready.key.ns, unready.key.name}, context_);
      if (live.ok()) {
        unready.live = *std::move(live);
        if (std::string detail = readiness(unready.live).detail; !detail.empty())
          unready.detail = std::move(detail);
      }
    }
    Diagnosis node{.kind = unready.key.group_kind.kind, .name = place(unready.key), .state = unready.detail};
    if (unready.live.is_null()) {
      node.notes.emplace_back("it is not in the cluster");
      return node;
    }
    const std::string uid = text_at(unready.live, {"metadata", "uid"});
    const std::string ns = unready.key.ns;
    if (unready.key.group_kind == kPod) {
      Diagnosis pod = this->pod(unready.live);
      pod.state = pod.state.empty() ? unready.detail : pod.state;
      return pod;
    }
    if (const std::string selector = pod_selector(unready.live); !selector.empty()) {
      if (unready.key.group_kind == kDeployment)
        deployment(unready.live, node);
      else
        pods(unready.live, selector, node);
    }
    // Events of what has children that explain it only repeat them.
    if (!explained(node)) events(ns, uid, unready.key.group_kind == kClaim, node);
    return node;
  }

 private:
  static std::string place(const ObjectKey& key) {
    return key.ns.empty() ? key.name : key.ns + "/" + key.name;
  }

  static bool explained(const Diagnosis& node) {
    return std::ranges::any_of(node.children, [](const Diagnosis& child) {
      return !child.reason.empty() || !child.events.empty() || explained(child);
    });
  }

  // A read that failed is a note, not an error: the rest is still worth telling.
  template <typename T>
  static bool usable(const Result<T>& read, std::string_view what, Diagnosis& node) {
    if (read.ok()) return true;
    const Error& failure = read.error();
    const std::string_view why = !failure.because.empty() ? failure.because : failure.message;
    node.notes.push_back(failure.kind == ErrorKind::Forbidden
                             ? fmt::format("{} may not be read: {}", what, why)
                             : fmt::format("{} could not be read: {}", what, why));
    return false;
  }

  void deployment(const Value& live, Diagnosis& node) {
    const std::string ns = text_at(live, {"metadata", "namespace"}), uid = text_at(live, {"metadata", "uid"});
    const std::string selector = pod_selector(live);
    auto sets = client_.list(kReplicaSets, {.ns = ns, .label_selector = selector}, context_);
    if (!usable(sets, "its ReplicaSets", node)) return;
    const Value* newest = nullptr;
    const auto revision = [](const Value& set) {
      const std::string text = text_at(set, {"metadata", "annotations", "deployment.kubernetes.io/revision"});
      return std::pair(text.size(), text);  // numbers, compared as such
    };
    for (const Value& set : sets->items) {
      if (owned_by(set, uid) && (newest == nullptr || revision(set) > revision(*newest))) newest = &set;
    }
    if (newest == nullptr) return;
    const Readiness state = readiness(*newest);
    Diagnosis set{.kind = "ReplicaSet", .name = place_of(*newest), .state = state.detail};
    const std::string set_uid = text_at(*newest, {"metadata", "uid"});
    pods(*newest, selector, set);
    // Quotas and admission refuse Pods before there are any; only the ReplicaSet's events tell.
    if (!explained(set)) events(ns, set_uid, false, set);
    // The Deployment's condition is often that of its ReplicaSet.
    if (!set.state.empty() && node.state.find(set.state) != std::string::npos) set.state.clear();
    const bool says_more =
        !set.state.empty() || !set.children.empty() || !set.events.empty() || !set.notes.empty();
    if (says_more) node.children.push_back(std::move(set));
  }

  void pods(const Value& owner, const std::string& selector, Diagnosis& node) {
    const std::string ns = text_at(owner, {"metadata", "namespace"}),
                      uid = text_at(owner, {"metadata", "uid"});
    auto list = client_.list(kPods, {.ns = ns, .label_selector = selector}, context_);
    if (!usable(list, "its pods", node)) return;
    // One of those that fail alike, the newest: it is what the present template gives.
    std::map<std::string, std::pair<const Value*, std::size_t>> kinds;
    std::vector<std::string> held;
    for (const Value& pod : list->items) {
      if (!owned_by(pod, uid) || pod_is_fine(pod)) continue;
      if (is_held(owner, pod)) held.push_back(text_at(pod, {"metadata", "name"}));
      auto& [shown, count] = kinds[likeness(describe_pod(pod))];
      if (shown == nullptr || pod.string_at({"metadata", "creationTimestamp"}) >
                                  shown->string_at({"metadata", "creationTimestamp"}))
        shown = &pod;
      ++count;
    }
    std::size_t shown = 0, left_out = 0;
    for (const auto& [like, entry] : kinds) {
      if (shown == kPodsShown) {
        left_out += entry.second;
        continue;
      }
      ++shown;
      node.children.push_back(pod(*entry.first));
      if (entry.second > 1)
        node.children.back().notes.push_back(fmt::format("{} like it", plural(entry.second - 1, "more pod")));
    }
    if (left_out > 0)
      node.notes.push_back(fmt::format("{} are not ready either", plural(left_out, "more pod")));
    describe_held(std::move(held), ns, client_.kubectl(), node);
  }

  Diagnosis pod(const Value& live) {
    Diagnosis node = pod_head(live);
    const std::string ns = text_at(live, {"metadata", "namespace"}),
                      name = text_at(live, {"metadata", "name"});
    for (ContainerState& container : containers_of(live)) {
      if (container.healthy) continue;
      if (container.has_log && logs_ == PodLogs::Read) log(ns, name, container.node);
      node.children.push_back(std::move(container.node));
    }
    if (unschedulable(live) || node.children.empty()) claims(live, ns, node);
    events(ns, text_at(live, {"metadata", "uid"}), false, node);
    return node;
  }

  void log(const std::string& ns, const std::string& pod, Diagnosis& container) {
    std::string text;
    const kube::PodLogOptions options{.container = container.name,
                                      .previous = container.log_is_previous,
                                      .tail_lines = kDiagnosedLogLines,
                                      .limit_bytes = kLogBytes};
    const Status read = kube::pod_log(
        client_, ns, pod, options,
        [&](std::string_view piece) {
          text += piece;
          return static_cast<std::int64_t>(text.size()) <= kLogBytes;
        },
        context_);
    if (!usable(read, "its log", container)) return;
    while (text.ends_with('\n')) text.pop_back();
    if (text.empty()) {
      container.notes.emplace_back("it logged nothing");
      return;
    }
    std::vector<std::string_view> lines = split(text, '\n');
    if (lines.size() > kDiagnosedLogLines) lines.erase(lines.begin(), lines.end() - kDiagnosedLogLines);
    for (std::string_view line : lines) {
      if (line.ends_with('\r')) line.remove_suffix(1);
      container.log.push_back(line.size() <= kLongestLogLine
                                  ? std::string(line)
                                  : std::string(line.substr(0, kLongestLogLine)) + "…");
    }
  }

  // Claims that keep a Pod from being scheduled or started.
  void claims(const Value& pod, const std::string& ns, Diagnosis& node) {
    std::size_t shown = 0;
    for (const Value& volume : list_at(pod, {"spec", "volumes"})) {
      const std::string name = text_at(volume, {"persistentVolumeClaim", "claimName"});
      if (name.empty() || shown == kClaimsShown) continue;
      auto claim = client_.get({kClaims, ns, name}, context_);
      if (!claim.ok() && claim.error().kind == ErrorKind::NotFound) {
        node.children.push_back({.kind = "PersistentVolumeClaim",
                                 .name = fmt::format("{}/{}", ns, name),
                                 .state = "it does not exist",
                                 .reason = "NotFound"});
        ++shown;
        continue;
      }
      if (!usable(claim, fmt::format("its claim {}", name), node)) continue;
      if (claim->string_at({"status", "phase"}) == "Bound") continue;
      Diagnosis child{.kind = "PersistentVolumeClaim",
                      .name = fmt::format("{}/{}", ns, name),
                      .state = readiness(*claim).detail};
      events(ns, text_at(*claim, {"metadata", "uid"}), true, child);
      node.children.push_back(std::move(child));
      ++shown;
    }
  }

  // The last events of an object; normal ones only where they explain (a provisioner's).
  void events(const std::string& ns, const std::string& uid, bool normal_too, Diagnosis& node) {
    if (uid.empty()) return;
    auto found = events_about(client_, ns, uid, context_);
    if (!usable(found, "its events", node)) return;
    std::erase_if(*found, [&](const ReportedEvent& each) {
      return (!each.event.warning && !normal_too) || is_told(node.state, each);
    });
    node.events.clear();
    for (ReportedEvent& each : newest_of_each(*std::move(found), kEventsShown))
      node.events.push_back(std::move(each.event));
  }

  kube::Client& client_;
  const PodLogs logs_;
  const Context& context_;
};

// ---- one line

std::string head_line(const Diagnosis& node) {
  const std::string what = fmt::format("{} {}", node.kind, node.name);
  return node.state.empty() ? what : fmt::format("{}: {}", what, node.state);
}

// The first path down to something with a reason of its own.
const Diagnosis* guilty(const Diagnosis& node) {
  for (const Diagnosis& child : node.children) {
    if (const Diagnosis* found = guilty(child)) return found;
  }
  const bool own =
      !node.reason.empty() || node.exit_code || std::ranges::any_of(node.events, &Diagnosis::Event::warning);
  return own ? &node : nullptr;
}

std::string_view first_remedy(const Diagnosis& whole) {
  if (!whole.remedy.empty()) return whole.remedy;
  for (const Diagnosis& child : whole.children) {
    if (const std::string_view found = first_remedy(child); !found.empty()) return found;
  }
  return {};
}

// The words about the object to blame, without those that the line about `object` has already.
std::string cause_beside(const Diagnosis& object, const Diagnosis& to_blame) {
  std::vector<std::string> words;
  if (&to_blame != &object) words.push_back(head_line(to_blame));
  // A failure with neither an exit code nor a reason of its own is explained by its last warning.
  if (to_blame.reason.empty() && !to_blame.exit_code) {
    const auto warning =
        std::ranges::find(to_blame.events.rbegin(), to_blame.events.rend(), true, &Diagnosis::Event::warning);
    if (warning != to_blame.events.rend())
      words.push_back(fmt::format("{}: {}", warning->reason, warning->message));
  }
  return join(words, "; ");
}

}  // namespace

Diagnosis describe_pod(const Value& pod) {
  Diagnosis node = pod_head(pod);
  for (ContainerState& container : containers_of(pod)) {
    if (!container.healthy) node.children.push_back(std::move(container.node));
  }
  return node;
}

Diagnosis diagnose(kube::Client& client, std::string kind, std::string name,
                   const std::vector<Unready>& objects, const Context& context, PodLogs logs) {
  Diagnosis root{.kind = std::move(kind),
                 .name = std::move(name),
                 .state = fmt::format("{} {} not ready", plural(objects.size(), "object"),
                                      objects.size() == 1 ? "is" : "are")};
  root.children.resize(objects.size());
  const std::size_t looked_into = std::min(objects.size(), kObjectsLookedInto);
  Examiner examiner(client, logs, context);
  (void)parallel_for(looked_into, 4, [&](std::size_t i) -> Status {
    root.children[i] = examiner.object(objects[i]);
    return {};
  });
  for (std::size_t i = looked_into; i < objects.size(); ++i) {
    const ObjectKey& key = objects[i].key;
    root.children[i] = {.kind = key.group_kind.kind,
                        .name = key.ns.empty() ? key.name : key.ns + "/" + key.name,
                        .state = objects[i].detail};
  }
  if (looked_into < objects.size())
    root.notes.push_back(fmt::format("only the first {} objects were looked into", looked_into));
  return root;
}

PodTrouble last_warning(kube::Client& client, const std::string& ns, const std::string& uid,
                        const Context& context) {
  auto found = events_about(client, ns, uid, context);
  if (!found.ok()) return {};
  std::erase_if(*found, [](const ReportedEvent& each) { return !each.event.warning; });
  const std::vector<ReportedEvent> newest = newest_of_each(*std::move(found), 1);
  if (newest.empty()) return {};
  const ReportedEvent& warning = newest.front();
  return {.text = with_message(warning.event.reason, warning.event.message),
          .cause = fmt::format("{} {}", warning.event.reason, warning.like)};
}

std::string in_one_line(const Diagnosis& object) {
  std::string line = head_line(object);
  const Diagnosis* const to_blame = guilty(object);
  if (to_blame == nullptr) return line;
  if (const std::string cause = cause_beside(object, *to_blame); !cause.empty()) line += "; " + cause;
  return line;
}

std::string with_remedy(std::string hint, const Diagnosis& whole) {
  const std::string_view remedy = first_remedy(whole);
  if (remedy.empty()) return hint;
  return hint.empty() ? std::string(remedy) : fmt::format("{}; {}", hint, remedy);
}

std::string cause_in_one_line(const Diagnosis& object) {
  std::vector<std::string> words;
  // First, since the part to blame may be repaired already.
  if (const std::string_view remedy = first_remedy(object); !remedy.empty()) words.emplace_back(remedy);
  if (const Diagnosis* const to_blame = guilty(object)) {
    if (std::string cause = cause_beside(object, *to_blame); !cause.empty())
      words.push_back(std::move(cause));
  } else if (words.empty() && !object.notes.empty()) {
    words.push_back(object.notes.front());
  }
  return join(words, "; ");
}

}  // namespace mist::apply
