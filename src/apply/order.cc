#include "apply/order.h"

#include <array>
#include <map>

namespace mist::apply {

using apimachinery::GroupKind;
using apimachinery::Object;
using apimachinery::ObjectKey;
using encoding::Value;
using graph::Node;
using graph::SequenceGraph;

namespace {

const GroupKind kNamespace{"", "Namespace"};
const GroupKind kCrd{"apiextensions.k8s.io", "CustomResourceDefinition"};
constexpr std::string_view kRbac = "rbac.authorization.k8s.io";

// Where each workload kind keeps its pod template.
struct PodTemplatePlace {
  std::string_view group, kind;
  std::array<std::string_view, 4> path;
};
constexpr std::array<PodTemplatePlace, 9> kPodSpecs{
    {{"", "Pod", {"spec"}},
     {"", "PodTemplate", {"template", "spec"}},
     {"", "ReplicationController", {"spec", "template", "spec"}},
     {"apps", "Deployment", {"spec", "template", "spec"}},
     {"apps", "ReplicaSet", {"spec", "template", "spec"}},
     {"apps", "StatefulSet", {"spec", "template", "spec"}},
     {"apps", "DaemonSet", {"spec", "template", "spec"}},
     {"batch", "Job", {"spec", "template", "spec"}},
     {"batch", "CronJob", {"spec", "jobTemplate", "spec", "template"}}}};

const Value* pod_spec(const Object& object) {
  for (const PodTemplatePlace& place : kPodSpecs) {
    if (place.group != object.gvk().group || place.kind != object.gvk().kind) continue;
    const Value* value = &object.value();
    for (const std::string_view step : place.path) {
      if (step.empty() || value == nullptr) break;
      value = value->find(step);
    }
    if (value != nullptr && place.kind == "CronJob") value = value->find("spec");
    return value;
  }
  return nullptr;
}

void for_each(const Value* list, const auto& visit) {
  if (list == nullptr || !list->is_array()) return;
  for (const Value& item : list->as_array()) visit(item);
}

// Webhooks answer for every later write, and a policy may refuse what it should have let in: these go last.
bool goes_last(const GroupKind& kind) {
  return kind.group == "admissionregistration.k8s.io" ||
         kind == GroupKind{"apiregistration.k8s.io", "APIService"};
}

class Inference {
 public:
  explicit Inference(const std::vector<const Object*>& objects)
      : objects_(objects), graph_(objects.size() + 1) {
    for (Node node = 0; node < objects.size(); ++node) nodes_.emplace(objects[node]->key(), node);
  }

  Result<SequenceGraph> run() {
    definitions();
    bool any_last = false;
    for (Node node = 0; node < objects_.size(); ++node)
      any_last = any_last || goes_last(objects_[node]->gvk().group_kind());
    const Node barrier = objects_.size();
    for (Node node = 0; node < objects_.size(); ++node) {
      const Object& object = *objects_[node];
      membership(object, node);
      references(object, node);
      if (!any_last) continue;
      if (goes_last(object.gvk().group_kind()))
        graph_.add({barrier, node, 0, "webhooks and API services come last"});
      else
        graph_.add({node, barrier, 0, "before webhooks"});
    }
    MIST_TRY_VOID(check());
    return std::move(graph_);
  }

 private:
  Status check() {
    auto order = graph_.topological_order([&](Node node) {
      return node < objects_.size() ? objects_[node]->key().display() : "everything else";
    });
    if (!order) return std::move(order).error();
    return {};
  }

  void after(const GroupKind& kind, std::string_view ns, std::string_view name, Node node,
             std::string_view reason) {
    if (name.empty()) return;
    const auto found = nodes_.find(ObjectKey{kind, std::string(ns), std::string(name)});
    if (found != nodes_.end())
      graph_.add({found->second, node, static_cast<int>(EdgePredicate::Present), std::string(reason)});
  }

  void definitions() {
    std::map<GroupKind, Node> defined;
    for (Node node = 0; node < objects_.size(); ++node) {
      if (objects_[node]->gvk().group_kind() != kCrd) continue;
      const Value& crd = objects_[node]->value();
      defined[{std::string(crd.string_at({"spec", "group"})),
               std::string(crd.string_at({"spec", "names", "kind"}))}] = node;
    }
    for (Node node = 0; node < objects_.size() && !defined.empty(); ++node) {
      const auto found = defined.find(objects_[node]->gvk().group_kind());
      if (found != defined.end())
        graph_.add({found->second, node, static_cast<int>(EdgePredicate::Established), "defines its kind"});
    }
  }

  void membership(const Object& object, Node node) {
    after(kNamespace, "", object.ns(), node, "is its namespace");
  }

  void references(const Object& object, Node node) {
    const GroupKind kind = object.gvk().group_kind();
    const std::string_view ns = object.ns();
    if (const Value* spec = pod_spec(object)) pod_references(*spec, ns, node);
    if (kind == GroupKind{"apps", "StatefulSet"})
      after({"", "Service"}, ns, object.value().string_at({"spec", "serviceName"}), node,
            "is its governing service");
    if (kind.group == kRbac && kind.kind.ends_with("Binding")) binding(object, node);
    if (kind == GroupKind{"networking.k8s.io", "Ingress"}) ingress(object, node);
    if (kind == GroupKind{"autoscaling", "HorizontalPodAutoscaler"}) {
      const Value* target = object.value().at_path({"spec", "scaleTargetRef"});
      const auto gvk = target == nullptr
                           ? Result<apimachinery::GroupVersionKind>(error(ErrorKind::NotFound, "no target"))
                           : apimachinery::GroupVersionKind::parse(target->string_at("apiVersion"),
                                                                   target->string_at("kind"));
      if (gvk.ok()) after(gvk->group_kind(), ns, target->string_at("name"), node, "is what it scales");
    }
    if (kind == GroupKind{"", "PersistentVolumeClaim"}) {
      after({"storage.k8s.io", "StorageClass"}, "", object.value().string_at({"spec", "storageClassName"}),
            node, "is its storage class");
      after({"", "PersistentVolume"}, "", object.value().string_at({"spec", "volumeName"}), node,
            "is its volume");
    }
    if (kind == GroupKind{"", "ServiceAccount"}) {
      for (const std::string_view field : {"secrets", "imagePullSecrets"})
        for_each(object.value().find(field), [&](const Value& ref) {
          after({"", "Secret"}, ns, ref.string_at("name"), node, "is its secret");
        });
    }
  }

  void pod_references(const Value& spec, std::string_view ns, Node node) {
    const std::string_view reason = "is used by its pods";
    const auto config = [&](std::string_view name) { after({"", "ConfigMap"}, ns, name, node, reason); };
    const auto secret = [&](std::string_view name) { after({"", "Secret"}, ns, name, node, reason); };
    after({"", "ServiceAccount"}, ns, spec.string_at("serviceAccountName"), node, reason);
    after({"scheduling.k8s.io", "PriorityClass"}, "", spec.string_at("priorityClassName"), node, reason);
    after({"node.k8s.io", "RuntimeClass"}, "", spec.string_at("runtimeClassName"), node, reason);
    for_each(spec.find("imagePullSecrets"), [&](const Value& ref) { secret(ref.string_at("name")); });
    for_each(spec.find("volumes"), [&](const Value& volume) {
      config(volume.string_at({"configMap", "name"}));
      secret(volume.string_at({"secret", "secretName"}));
      after({"", "PersistentVolumeClaim"}, ns, volume.string_at({"persistentVolumeClaim", "claimName"}), node,
            reason);
      for_each(volume.at_path({"projected", "sources"}), [&](const Value& source) {
        config(source.string_at({"configMap", "name"}));
        secret(source.string_at({"secret", "name"}));
      });
    });
    for (const std::string_view field : {"containers", "initContainers"}) {
      for_each(spec.find(field), [&](const Value& container) {
        for_each(container.find("envFrom"), [&](const Value& from) {
          config(from.string_at({"configMapRef", "name"}));
          secret(from.string_at({"secretRef", "name"}));
        });
        for_each(container.find("env"), [&](const Value& variable) {
          config(variable.string_at({"valueFrom", "configMapKeyRef", "name"}));
          secret(variable.string_at({"valueFrom", "secretKeyRef", "name"}));
        });
      });
    }
  }

  void binding(const Object& object, Node node) {
    const Value* role = object.value().find("roleRef");
    if (role != nullptr) {
      const std::string_view ns = role->string_at("kind") == "Role" ? object.ns() : std::string_view();
      after({std::string(kRbac), std::string(role->string_at("kind"))}, ns, role->string_at("name"), node,
            "is the role that it grants");
    }
    for_each(object.value().find("subjects"), [&](const Value& subject) {
      if (subject.string_at("kind") != "ServiceAccount") return;
      const std::string_view ns = subject.string_at("namespace");
      after({"", "ServiceAccount"}, ns.empty() ? object.ns() : ns, subject.string_at("name"), node,
            "is a subject of it");
    });
  }

  void ingress(const Object& object, Node node) {
    const auto backend = [&](const Value* value) {
      if (value != nullptr)
        after({"", "Service"}, object.ns(), value->string_at({"service", "name"}), node,
              "is a backend of it");
    };
    after({"networking.k8s.io", "IngressClass"}, "", object.value().string_at({"spec", "ingressClassName"}),
          node, "is its class");
    backend(object.value().at_path({"spec", "defaultBackend"}));
    for_each(object.value().at_path({"spec", "rules"}), [&](const Value& rule) {
      for_each(rule.at_path({"http", "paths"}), [&](const Value& path) { backend(path.find("backend")); });
    });
    for_each(object.value().at_path({"spec", "tls"}), [&](const Value& tls) {
      after({"", "Secret"}, object.ns(), tls.string_at("secretName"), node, "is its certificate");
    });
  }

  const std::vector<const Object*>& objects_;
  SequenceGraph graph_;
  std::map<ObjectKey, Node> nodes_;
};

}  // namespace

Result<SequenceGraph> infer_order(const std::vector<const Object*>& objects) {
  return Inference(objects).run();
}

}  // namespace mist::apply
