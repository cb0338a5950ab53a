#include "apply/order/order.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "apimachinery/name_index.h"
#include "apply/order/declared_order.h"
#include "apply/order/label_index.h"
#include "apply/order/pod_template.h"
#include "apply/order/references.h"
#include "apply/plan/admission_change.h"
#include "apply/plan/hooks.h"
#include "base/text.h"

namespace mist::apply {

using apimachinery::GroupKind;
using apimachinery::kCustomResourceDefinition;
using apimachinery::Object;
using apimachinery::ObjectKey;
using encoding::Value;
using graph::Edge;
using graph::Node;
using graph::SequenceGraph;
using graph::Strength;

namespace {

const GroupKind kService{"", "Service"};
const GroupKind kApiService{"apiregistration.k8s.io", "APIService"};

// Objects that come last, each class behind everything that isn't in it and doesn't come after it: API
// services answer for whole groups, webhooks for every later write, and a policy may refuse objects that it
// should have let in.
struct LastClass {
  bool (*contains)(const GroupKind&);
  std::string_view reason;
};
constexpr LastClass kLast[] = {
    {[](const GroupKind& kind) { return kind == kApiService; }, "API services come last"},
    {is_of_admission, "webhooks and policies come last"},
};

constexpr std::string_view kPassReason = "what refuses less than before comes first";

// Kinds that act on the Pods of their namespace: those that a selector chooses, or all.
struct PodRule {
  std::string_view group, kind;
  std::string_view selector;  ///< path of a LabelSelector; empty: all
  bool first;                 ///< before the workloads, or after them
  std::string_view reason;
};
constexpr PodRule kPodRules[] = {
    {"", "LimitRange", "", true, "the limits of its namespace"},
    {"", "ResourceQuota", "", true, "the quota of its namespace"},
    {"networking.k8s.io", "NetworkPolicy", "spec.podSelector", true, "the policy of its network"},
    {"policy", "PodDisruptionBudget", "spec.selector", false, "what it protects"},
};

// Limits of the comparisons that a package may cause, and of the edges that come of them. Beyond them, groups
// come before groups: the order holds, with some edges more than it would need.
constexpr std::size_t kMostWork = 20'000'000;
constexpr std::size_t kMostEdges = 200'000;

struct PodsOfNamespace {
  LabelIndex workloads;
  std::vector<std::pair<const PodRule*, Node>> rules;
  bool chosen = false;
  std::unordered_map<Node, std::vector<std::pair<const PodRule*, Node>>> acting;  // by workload
  std::optional<std::pair<Node, Node>> barriers;  // before all workloads, and behind them; then not `acting`
};

// Objects that come before others together.
struct Group {
  std::vector<Node> members;
  std::optional<Node> barrier;
};

class Inference {
 public:
  explicit Inference(const std::vector<OrderedObject>& objects) : objects_(objects), graph_(objects.size()) {
    for (Node node = 0; node < objects.size(); ++node) {
      // A reference to a hook by name means an object that is there; a hook comes and goes.
      if (!is_hook(node)) nodes_.emplace(object(node).key(), node);
    }
  }

  // Everything but the cycles; the first mistake in annotations is `mistake()`.
  void build() {
    collect();
    crds();
    for (Node node = 0; node < objects_.size(); ++node) {
      if (!is_hook(node) && !lets_pass(node)) inferred(node);  // the place of a hook is given
      declared(node, kAfterAnnotation);
      declared(node, kBeforeAnnotation);
    }
    for (const LastClass& last : kLast) put_last(last);
    put_unreadable();
    put_first();
    hooks();
    outside_nodes();
  }

  const std::optional<Error>& mistake() const { return mistake_; }

  Result<Order> strict() && {
    if (mistake_) return *std::move(mistake_);
    graph::Relaxed relaxed = graph_.relaxed();
    Order order = shape();
    order.graph = std::move(relaxed.graph);
    order.dropped = std::move(relaxed.dropped);
    const auto cycles = order.graph.cycles();
    if (cycles.empty()) return order;
    Error failure = cycle_error(order.graph, cycles, [&](Node node) { return name(order, node); });
    // The place of what somebody wrote on purpose helps more than that of an object.
    for (const std::size_t index : cycles.front()) {
      const Edge& edge = order.graph.edges()[index];
      const auto written = declarations_.find({edge.before, edge.after, edge.label});
      if (written == declarations_.end()) continue;
      failure.where = written->second;
      break;
    }
    return failure;
  }

  SequenceGraph lenient() && {
    SequenceGraph graph = graph_.relaxed().graph;
    if (graph.cycles().empty()) return graph.reversed();
    // Nothing may keep stored objects from being deleted: then every edge is a wish.
    SequenceGraph wishes(graph_.size());
    for (Edge edge : graph_.edges()) {
      edge.strength = Strength::Soft;
      wishes.add(std::move(edge));
    }
    return wishes.relaxed().graph.reversed();
  }

 private:
  const Object& object(Node node) const { return *objects_[node].object; }
  bool is_hook(Node node) const { return objects_[node].hook != nullptr; }
  bool lets_pass(Node node) const { return objects_[node].lets_pass; }

  Order shape() const {
    Order order;
    order.objects = objects_.size();
    order.barriers = barriers_.size();
    order.before_ended = before_ended_;
    order.written = written_;
    order.after_ended = after_ended_;
    for (const auto& [outside, edges] : outside_) order.outside.push_back(outside);
    return order;
  }

  std::string name(const Order& order, Node node) const {
    switch (order.role(node)) {
      case NodeRole::Object:
        return object(node).key().display();
      case NodeRole::Barrier:
        return "everything else";
      case NodeRole::Outside:
        return order.outside_at(node).display();
    }
    return {};
  }

  void edge(Node before, Node node, std::string_view reason, Strength strength,
            EdgePredicate predicate = EdgePredicate::Present) {
    graph_.add({before, node, static_cast<int>(predicate), std::string(reason), strength});
  }

  void after(const ObjectKey& key, Node node, std::string_view reason, Strength strength) {
    if (key.name.empty()) return;
    const auto found = nodes_.find(key);
    if (found != nodes_.end()) edge(found->second, node, reason, strength);
  }

  void inferred(Node node) {
    after(ObjectKey{apimachinery::kNamespace, "", std::string(object(node).ns())}, node, "its namespace",
          Strength::Hard);
    for_each_reference(object(node), [&](const Reference& reference) {
      after(reference.key, node, reference.reason, reference.strength);
    });
    if (pod_template(object(node)) != nullptr) workload(node);
    service_behind(node);
  }

  // One look at every object for what needs all of them.
  void collect() {
    for (Node node = 0; node < objects_.size(); ++node) {
      const Object& each = object(node);
      if (is_hook(node)) {
        if (objects_[node].hook->phase == HookPhase::Before) hook_namespaces_.emplace(each.ns());
        continue;
      }
      const GroupKind kind = each.gvk().group_kind();
      for (const PodRule& rule : kPodRules) {
        if (rule.group == kind.group && rule.kind == kind.kind)
          namespaces_[std::string(each.ns())].rules.emplace_back(&rule, node);
      }
      if (const Value* const pod = pod_template(each))
        namespaces_[std::string(each.ns())].workloads.add(node, pod->at_path({"metadata", "labels"}));
      if (kind.group == "rbac.authorization.k8s.io" && kind.kind.ends_with("Binding"))
        for_each_reference(each, [&](const Reference& reference) {
          if (reference.key.group_kind.kind == "ServiceAccount")
            grants_[reference.key].members.push_back(node);
        });
    }
  }

  void crds() {
    std::map<GroupKind, Node> defined;                           // by CustomResourceDefinitions
    std::map<std::pair<std::string, std::string>, Node> served;  // group and version, by APIServices
    for (Node node = 0; node < objects_.size(); ++node) {
      const GroupKind kind = object(node).gvk().group_kind();
      const Value& value = object(node).value();
      if (kind == kCustomResourceDefinition) defined[apimachinery::defined_kind(value)] = node;
      if (kind == kApiService)
        served[{std::string(value.string_at({"spec", "group"})),
                std::string(value.string_at({"spec", "version"}))}] = node;
    }
    if (defined.empty() && served.empty()) return;
    for (Node node = 0; node < objects_.size(); ++node) {
      const auto& gvk = object(node).gvk();
      // A hook that comes before its CRD may find it there; if not, the server says so.
      const bool runs_before = is_hook(node) && objects_[node].hook->phase == HookPhase::Before;
      if (const auto found = defined.find(gvk.group_kind());
          found != defined.end() && (!runs_before || is_first(found->second)))
        edge(found->second, node, "the CRD of its kind", Strength::Hard, EdgePredicate::Established);
      if (const auto found = served.find({gvk.group, gvk.version}); found != served.end() && !runs_before)
        edge(found->second, node, "the API service of its kind", Strength::Hard, EdgePredicate::Available);
    }
  }

  // Which rules act on which workloads; where that can't be found out at a bearable cost, or would be too
  // many edges, all of the namespace act on all.
  void choose(PodsOfNamespace& pods) {
    pods.chosen = true;
    std::unordered_map<Node, std::vector<std::pair<const PodRule*, Node>>> acting;
    for (const auto& [rule, at] : pods.rules) {
      std::optional<std::vector<Node>> selected = std::vector<Node>();
      if (rule->selector.empty())
        selected = pods.workloads.all();
      else
        for_each_value(object(at).value(), rule->selector,
                       [&](const Value& selector) { selected = pods.workloads.selected(selector, work_); });
      if (!selected || !edges_.spend(selected->size())) return choose_all(pods);
      for (const Node node : *selected) acting[node].emplace_back(rule, at);
    }
    pods.acting = std::move(acting);
  }

  void act(const PodRule* rule, Node at, Node node) {
    if (rule->first)
      edge(at, node, rule->reason, Strength::Soft);
    else
      edge(node, at, rule->reason, Strength::Soft);
  }

  void choose_all(PodsOfNamespace& pods) {
    const Node before = add_barrier(), behind = add_barrier();
    for (const auto& [rule, at] : pods.rules) act(rule, at, rule->first ? before : behind);
    pods.barriers = {before, behind};
  }

  void workload(Node node) {
    const Value& pod = *pod_template(object(node));
    if (const auto found = namespaces_.find(object(node).ns()); found != namespaces_.end()) {
      PodsOfNamespace& pods = found->second;
      if (!pods.chosen) choose(pods);
      if (pods.barriers) {
        edge(pods.barriers->first, node, "the rules of its namespace", Strength::Soft);
        edge(node, pods.barriers->second, "what protects its namespace", Strength::Soft);
      } else if (const auto rules = pods.acting.find(node); rules != pods.acting.end()) {
        for (const auto& [rule, at] : rules->second) act(rule, at, node);
      }
    }
    if (grants_.empty()) return;
    std::string_view account = pod.string_at({"spec", "serviceAccountName"});
    if (account.empty()) account = pod.string_at({"spec", "serviceAccount"});
    const ObjectKey key{{"", "ServiceAccount"},
                        std::string(object(node).ns()),
                        std::string(account.empty() ? "default" : account)};
    if (const auto bindings = grants_.find(key); bindings != grants_.end())
      connect(bindings->second, node, "the rights of its pods");
  }

  // Every one of the group comes before the node: over a barrier of the group where edges would be too many.
  void connect(Group& group, Node node, std::string_view reason) {
    if (!group.barrier && !edges_.spend(group.members.size())) {
      group.barrier = add_barrier();
      for (const Node member : group.members) edge(member, *group.barrier, reason, Strength::Soft);
    }
    if (group.barrier) return edge(*group.barrier, node, reason, Strength::Soft);
    for (const Node member : group.members) edge(member, node, reason, Strength::Soft);
  }

  // Webhooks and API services answer through the Pods behind their Services.
  void service_behind(Node node) {
    const bool last = std::ranges::any_of(
        kLast, [&](const LastClass& each) { return each.contains(object(node).gvk().group_kind()); });
    if (!last) return;
    std::set<Node> seen;
    for_each_reference(object(node), [&](const Reference& reference) {
      if (reference.key.group_kind != kService) return;
      const auto service = nodes_.find(reference.key);
      if (service == nodes_.end() || !seen.insert(service->second).second) return;
      connect(answering(service->second), node, "what answers for it");
    });
  }

  // The workloads behind a Service; all of its namespace if they can't be found out at a bearable cost.
  Group& answering(Node service) {
    const auto [group, is_new] = answering_.try_emplace(service);
    const auto pods = namespaces_.find(object(service).ns());
    const Value* const selector = object(service).value().at_path({"spec", "selector"});
    if (is_new && pods != namespaces_.end() && selector != nullptr)
      group->second.members =
          pods->second.workloads.selected_by_map(*selector, work_).value_or(pods->second.workloads.all());
    return group->second;
  }

  // A barrier keeps the number of edges down: all → barrier → each of the last.
  void put_last(const LastClass& last) {
    std::vector<Node> members, stack;
    for (Node node = 0; node < objects_.size(); ++node) {
      const GroupKind kind = object(node).gvk().group_kind();
      if (is_hook(node) || lets_pass(node)) {
        stack.push_back(node);
        continue;
      }
      if (last.contains(kind)) members.push_back(node);
      // Objects that come last of all, and those that come after them, don't come before these.
      if (std::any_of(&last, std::end(kLast), [&](const LastClass& each) { return each.contains(kind); }))
        stack.push_back(node);
    }
    put_behind(members, std::move(stack), last.reason);
  }

  // An unreadable object is written after everything that could make it readable: a new server of its
  // conversion webhook, or a CRD without one.
  void put_unreadable() {
    std::vector<Node> members, stack;
    for (Node node = 0; node < objects_.size(); ++node) {
      if (objects_[node].unreadable && !is_hook(node)) members.push_back(node);
      if (objects_[node].unreadable || is_hook(node)) stack.push_back(node);
    }
    put_behind(members, std::move(stack), "it can't be read before");
  }

  // Objects that refuse less than before. They are there already, so nothing has to come before them.
  void put_first() {
    std::optional<Node> barrier;
    for (Node node = 0; node < objects_.size(); ++node) {
      if (!lets_pass(node)) continue;
      if (!barrier) barrier = add_barrier();
      edge(node, *barrier, kPassReason, Strength::Soft);
    }
    if (!barrier) return;
    for (Node node = 0; node < objects_.size(); ++node)
      if (!is_hook(node) && !lets_pass(node)) edge(*barrier, node, kPassReason, Strength::Soft);
  }

  // All but what comes after something on the `stack` comes before the members.
  void put_behind(const std::vector<Node>& members, std::vector<Node> stack, std::string_view reason) {
    if (members.empty()) return;
    std::vector<char> behind(graph_.size(), 0);
    for (const Node node : stack) behind[node] = 1;
    while (!stack.empty()) {
      const Node node = stack.back();
      stack.pop_back();
      for (const std::size_t index : graph_.edges_out(node)) {
        const Node next = graph_.edges()[index].after;
        if (behind[next]) continue;
        behind[next] = 1;
        stack.push_back(next);
      }
    }
    behind.resize(objects_.size());
    if (std::ranges::find(behind, 0) == behind.end()) return;
    const Node barrier = add_barrier();
    for (Node node = 0; node < objects_.size(); ++node) {
      if (!behind[node]) edge(node, barrier, reason, Strength::Soft);
    }
    for (const Node node : members) edge(barrier, node, reason, Strength::Soft);
  }

  // -- hooks

  // Before the hooks: the CRDs of a chart's crds/, a namespace in which one runs, and what refuses
  // less than before.
  bool is_first(Node node) const {
    if (is_hook(node)) return false;
    if (lets_pass(node)) return true;
    const Object& each = object(node);
    if (each.gvk().group_kind() == kCustomResourceDefinition) return is_in_crds(objects_[node].file);
    return each.gvk().group_kind() == apimachinery::kNamespace && hook_namespaces_.contains(each.name());
  }

  std::vector<Node> hook_nodes(HookPhase phase) const {
    std::vector<Node> nodes;
    for (Node node = 0; node < objects_.size(); ++node) {
      if (is_hook(node) && objects_[node].hook->phase == phase) nodes.push_back(node);
    }
    return nodes;
  }

  // One after another, as they were given: first → hooks → everything else → hooks.
  void hooks() {
    const std::vector<Node> before = hook_nodes(HookPhase::Before), after = hook_nodes(HookPhase::After);
    if (!before.empty()) {
      before_ended_ = chain(before);
      for (Node node = 0; node < objects_.size(); ++node) {
        if (is_hook(node)) continue;
        if (is_first(node))
          edge(node, before.front(),
               lets_pass(node)                                                ? kPassReason
               : object(node).gvk().group_kind() == kCustomResourceDefinition ? "CRDs of crds/ come first"
                                                                              : "its namespace",
               Strength::Hard);
        else
          edge(*before_ended_, node, "hooks come before everything else", Strength::Hard);
      }
    }
    if (after.empty()) return;
    written_ = add_barrier();
    if (before_ended_) edge(*before_ended_, *written_, "hooks come before everything else", Strength::Hard);
    for (Node node = 0; node < objects_.size(); ++node) {
      if (!is_hook(node)) edge(node, *written_, "hooks come after everything else", Strength::Hard);
    }
    edge(*written_, after.front(), objects_[after.front()].hook->words, Strength::Hard);
    after_ended_ = chain(after);
  }

  // Returns the barrier behind the last of them.
  Node chain(const std::vector<Node>& nodes) {
    const Node barrier = add_barrier();
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const Node node = nodes[i];
      const EdgePredicate predicate =
          hook_ends(object(node).gvk().group_kind()) ? EdgePredicate::Done : EdgePredicate::Present;
      edge(node, i + 1 < nodes.size() ? nodes[i + 1] : barrier, objects_[node].hook->words, Strength::Hard,
           predicate);
    }
    return barrier;
  }

  Node add_barrier() {
    const Node barrier = graph_.add_node();
    barriers_.push_back(barrier);
    return barrier;
  }

  // -- annotations

  void declared(Node node, std::string_view annotation) {
    const Value* text = object(node).value().at_path({"metadata", "annotations", annotation});
    if (text == nullptr || !text->is_string()) return;
    auto targets = parse_targets(text->as_string());
    if (!targets.ok()) return refuse(std::move(targets).error(), node, annotation, *text);
    for (const DeclaredTarget& target : *targets) {
      if (mistake_) return;  // only the first one is reported
      if (Status linked = link(node, annotation, target, *text); !linked.ok())
        refuse(std::move(linked).error(), node, annotation, *text);
    }
  }

  void refuse(Error failure, Node node, std::string_view annotation, const Value& text) {
    if (mistake_) return;
    mistake_ =
        std::move(failure).with_frame(fmt::format("in {} of {}", annotation, object(node).key().display()));
    mistake_->where = place(node, text);
  }

  SourceLocation place(Node node, const Value& text) const {
    // Lines of the annotation are those of the file, unless the object came back from a record.
    SourceLocation place = objects_[node].place;
    if (place.line != 0 && text.position().line != 0) place.line = text.position().line;
    return place;
  }

  Status link(Node node, std::string_view annotation, const DeclaredTarget& target, const Value& text) {
    const bool comes_after = annotation == kAfterAnnotation;
    if (!comes_after && target.predicate == EdgePredicate::Absent)
      return error(ErrorKind::Invalid, "\"{}\": what is applied is never absent",
                   escape_controls(target.text));
    if (target.outside) {
      if (!comes_after)
        return error(ErrorKind::Invalid, "\"{}\": nothing outside of the release is written by it",
                     escape_controls(target.text))
            .with_hint("mistletoe.dev/after waits for objects outside of the release");
      wait_outside(node, target);
      return {};
    }
    MIST_TRY(const std::optional<Node> other, find(node, target));
    if (!other) return {};
    if (*other == node)
      return error(ErrorKind::Invalid, "{} can't come {} itself", object(node).key().display(),
                   comes_after ? "after" : "before");
    if (target.predicate == EdgePredicate::Absent)
      return error(ErrorKind::Invalid, "\"{}\": what is part of the release is never absent",
                   escape_controls(target.text))
          .with_hint("@absent is for objects outside of the release: outside:KIND/NAME@absent");
    const Node before = comes_after ? *other : node, behind = comes_after ? node : *other;
    edge(before, behind, annotation, Strength::Hard, target.predicate);
    declarations_.emplace(std::tuple(before, behind, static_cast<int>(target.predicate)), place(node, text));
    return {};
  }

  // The object that a target means; nullopt: it is optional and not there.
  Result<std::optional<Node>> find(Node from, const DeclaredTarget& target) {
    if (names_ready_ == 0) {
      for (; names_ready_ < objects_.size(); ++names_ready_) names_.add(object(names_ready_), names_ready_);
    }
    const apimachinery::ObjectName wanted{target.kind, target.name, target.group};
    const auto in = [&](std::string_view ns) {
      apimachinery::ObjectName there = wanted;
      there.ns = ns;
      return names_.find(there);
    };
    std::vector<Node> near = in(target.ns ? std::string_view(*target.ns) : std::string_view());
    if (!target.ns && !object(from).ns().empty()) {
      std::ranges::copy(in(object(from).ns()), std::back_inserter(near));
      std::ranges::sort(near);
    }
    // Without a near one all are far.
    const std::vector<Node> far = near.empty() ? names_.find(wanted) : std::vector<Node>();
    // An object without namespace means the only one of that name.
    if (near.empty() && !target.ns && object(from).ns().empty()) near = far;
    if (near.size() == 1) return std::optional(near.front());
    if (near.size() > 1)
      return error(ErrorKind::Invalid, "\"{}\" is ambiguous: {} and {} are part of the release",
                   escape_controls(target.text), full_name(near[0]), full_name(near[1]))
          .with_hint(fmt::format("write {} or {}", full_name(near[0]), full_name(near[1])));
    if (target.optional) return std::optional<Node>();
    Error failure =
        error(ErrorKind::Invalid, "\"{}\" is not part of the release", escape_controls(target.text));
    if (mistake_) return failure;  // it won't be read, and the nearest of many names costs time
    const std::string suggestion = suggested(from, target, far);
    failure.hint = fmt::format("{}write outside:{} if it belongs to somebody else, {}? if it may be missing",
                               suggestion.empty() ? "" : fmt::format("did you mean {}? Or ", suggestion),
                               escape_controls(target.text), escape_controls(target.text));
    return failure;
  }

  // As an annotation has to spell it from anywhere.
  std::string full_name(Node node) const {
    const Object& each = object(node);
    const std::string kind =
        each.gvk().group.empty() ? each.gvk().kind : each.gvk().kind + "." + each.gvk().group;
    return each.ns().empty() ? fmt::format("{}/{}", kind, each.name())
                             : fmt::format("{}/{}/{}", kind, each.ns(), each.name());
  }
  std::string short_name(Node from, Node node) const {
    const Object& each = object(node);
    const bool in_place = each.ns().empty() || each.ns() == object(from).ns();
    return in_place ? fmt::format("{}/{}", each.gvk().kind, each.name())
                    : fmt::format("{}/{}/{}", each.gvk().kind, each.ns(), each.name());
  }

  std::string suggested(Node from, const DeclaredTarget& target, const std::vector<Node>& far) const {
    if (!far.empty()) return short_name(from, far.front());
    std::vector<std::string> names;
    names.reserve(objects_.size());
    for (Node node = 0; node < objects_.size(); ++node) names.push_back(short_name(from, node));
    const std::vector<std::string_view> views(names.begin(), names.end());
    std::string wanted = fmt::format("{}/{}", target.kind, target.name);
    for (const std::string_view view : views) {  // kinds compare without case
      if (lower_case(view) == lower_case(wanted)) return std::string(view);
    }
    return std::string(nearest(wanted, views));
  }

  void wait_outside(Node node, const DeclaredTarget& target) {
    OutsideObject outside{target.kind, target.group, target.ns ? *target.ns : std::string(object(node).ns()),
                          target.name, target.optional};
    outside_[std::move(outside)].push_back(
        {0, node, static_cast<int>(target.predicate), std::string(kAfterAnnotation), Strength::Hard});
  }

  void outside_nodes() {
    for (auto& [outside, edges] : outside_) {
      const Node node = graph_.add_node();
      for (Edge& each : edges) {
        each.before = node;
        graph_.add(each);
      }
    }
  }

  const std::vector<OrderedObject>& objects_;
  SequenceGraph graph_;
  std::vector<Node> barriers_;
  std::optional<Node> before_ended_, written_, after_ended_;
  std::map<ObjectKey, Node> nodes_;
  apimachinery::NameIndex names_;  // filled by the first annotation
  Node names_ready_ = 0;           // how many of the objects are in it
  std::map<std::string, PodsOfNamespace, std::less<>> namespaces_;
  std::map<ObjectKey, Group> grants_;                   // bindings by the ServiceAccount that they name
  std::map<Node, Group> answering_;                     // workloads by their Service
  std::set<std::string, std::less<>> hook_namespaces_;  // of hooks that come before
  WorkBudget work_{kMostWork};
  WorkBudget edges_{kMostEdges};
  std::map<OutsideObject, std::vector<Edge>> outside_;
  std::map<std::tuple<Node, Node, int>, SourceLocation> declarations_;
  std::optional<Error> mistake_;
};

}  // namespace

std::string_view to_string(EdgePredicate predicate) {
  switch (predicate) {
    case EdgePredicate::Present:
      return "present";
    case EdgePredicate::Established:
      return "established";
    case EdgePredicate::Available:
      return "available";
    case EdgePredicate::Ready:
      return "ready";
    case EdgePredicate::Absent:
      return "absent";
    case EdgePredicate::Done:
      return "done";
  }
  return "present";
}

std::string OutsideObject::display() const {
  return ns.empty() ? fmt::format("{} {}", kind, name) : fmt::format("{} {}/{}", kind, ns, name);
}

NodeRole Order::role(Node node) const {
  if (node < objects) return NodeRole::Object;
  return node < objects + barriers ? NodeRole::Barrier : NodeRole::Outside;
}

Result<Order> infer_order(const std::vector<OrderedObject>& objects) {
  Inference inference(objects);
  inference.build();
  return std::move(inference).strict();
}

SequenceGraph removal_order(const std::vector<const Object*>& objects) {
  std::vector<OrderedObject> ordered;
  ordered.reserve(objects.size());
  for (const Object* object : objects) ordered.push_back({.object = object});
  Inference inference(ordered);
  inference.build();
  return std::move(inference).lenient();
}

}  // namespace mist::apply
