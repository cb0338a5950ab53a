#include "apply/order/references.h"

#include "apply/order/pod_template.h"

namespace mist::apply {

using apimachinery::GroupKind;
using apimachinery::GroupVersionKind;
using apimachinery::Object;
using encoding::Value;
using graph::Strength;

namespace {

enum class Scope : std::uint8_t { Namespaced, Cluster };

struct Target {
  std::string_view group, kind;
  Scope scope = Scope::Namespaced;
};
constexpr Target kConfigMap{"", "ConfigMap"};
constexpr Target kSecret{"", "Secret"};
constexpr Target kServiceTarget{"", "Service"};
constexpr Target kServiceAccount{"", "ServiceAccount"};
constexpr Target kClaimTarget{"", "PersistentVolumeClaim"};
constexpr Target kPriorityClass{"scheduling.k8s.io", "PriorityClass", Scope::Cluster};
constexpr Target kRuntimeClass{"node.k8s.io", "RuntimeClass", Scope::Cluster};
constexpr Target kStorageClass{"storage.k8s.io", "StorageClass", Scope::Cluster};
constexpr std::string_view kGateway = "gateway.networking.k8s.io";

// A field below a pod template's spec that holds a name.
struct PodField {
  std::string_view path;
  Target target;
  std::string_view reason;
};
constexpr PodField kPodFields[] = {
    {"serviceAccountName", kServiceAccount, "the account of its pods"},
    {"serviceAccount", kServiceAccount, "the account of its pods"},
    {"priorityClassName", kPriorityClass, "the priority of its pods"},
    {"runtimeClassName", kRuntimeClass, "the runtime of its pods"},
    {"imagePullSecrets[].name", kSecret, "the key to its images"},
    {"resourceClaims[].resourceClaimName", {"resource.k8s.io", "ResourceClaim"}, "a device of its pods"},
    {"resourceClaims[].resourceClaimTemplateName",
     {"resource.k8s.io", "ResourceClaimTemplate"},
     "a device of its pods"},
    {"volumes[].configMap.name", kConfigMap, "a volume of its pods"},
    {"volumes[].secret.secretName", kSecret, "a volume of its pods"},
    {"volumes[].projected.sources[].configMap.name", kConfigMap, "a volume of its pods"},
    {"volumes[].projected.sources[].secret.name", kSecret, "a volume of its pods"},
    {"volumes[].projected.sources[].clusterTrustBundle.name",
     {"certificates.k8s.io", "ClusterTrustBundle", Scope::Cluster},
     "a volume of its pods"},
    {"volumes[].persistentVolumeClaim.claimName", kClaimTarget, "a volume of its pods"},
    {"volumes[].ephemeral.volumeClaimTemplate.spec.storageClassName", kStorageClass,
     "the class of a volume of its pods"},
    {"volumes[].csi.nodePublishSecretRef.name", kSecret, "the key to a volume of its pods"},
    {"volumes[].azureFile.secretName", kSecret, "the key to a volume of its pods"},
    {"volumes[].cephfs.secretRef.name", kSecret, "the key to a volume of its pods"},
    {"volumes[].cinder.secretRef.name", kSecret, "the key to a volume of its pods"},
    {"volumes[].flexVolume.secretRef.name", kSecret, "the key to a volume of its pods"},
    {"volumes[].iscsi.secretRef.name", kSecret, "the key to a volume of its pods"},
    {"volumes[].rbd.secretRef.name", kSecret, "the key to a volume of its pods"},
    {"volumes[].scaleIO.secretRef.name", kSecret, "the key to a volume of its pods"},
    {"volumes[].storageos.secretRef.name", kSecret, "the key to a volume of its pods"},
};
// The same below each container.
constexpr std::string_view kContainerLists[] = {"containers[]", "initContainers[]", "ephemeralContainers[]"};
constexpr PodField kContainerFields[] = {
    {"envFrom[].configMapRef.name", kConfigMap, "the environment of its containers"},
    {"envFrom[].secretRef.name", kSecret, "the environment of its containers"},
    {"env[].valueFrom.configMapKeyRef.name", kConfigMap, "the environment of its containers"},
    {"env[].valueFrom.secretKeyRef.name", kSecret, "the environment of its containers"},
};

// A field of one kind that holds a name.
struct Field {
  std::string_view group, kind;
  std::string_view path;
  Target target;
  std::string_view reason;
  Strength strength = Strength::Soft;
};
constexpr Field kFields[] = {
    {"apps", "StatefulSet", "spec.serviceName", kServiceTarget, "its governing service"},
    {"apps", "StatefulSet", "spec.volumeClaimTemplates[].spec.storageClassName", kStorageClass,
     "the class of its volumes"},
    {"", "PersistentVolumeClaim", "spec.storageClassName", kStorageClass, "its storage class"},
    {"", "PersistentVolumeClaim", "spec.volumeName", {"", "PersistentVolume", Scope::Cluster}, "its volume"},
    {"", "PersistentVolume", "spec.storageClassName", kStorageClass, "its storage class"},
    {"", "ServiceAccount", "secrets[].name", kSecret, "a secret of it"},
    {"", "ServiceAccount", "imagePullSecrets[].name", kSecret, "the key to images"},
    {"networking.k8s.io",
     "Ingress",
     "spec.ingressClassName",
     {"networking.k8s.io", "IngressClass", Scope::Cluster},
     "its class"},
    {"networking.k8s.io", "Ingress", "spec.defaultBackend.service.name", kServiceTarget, "a backend of it"},
    {"networking.k8s.io", "Ingress", "spec.rules[].http.paths[].backend.service.name", kServiceTarget,
     "a backend of it"},
    {"networking.k8s.io", "Ingress", "spec.tls[].secretName", kSecret, "its certificate"},
    {kGateway, "Gateway", "spec.gatewayClassName", {kGateway, "GatewayClass", Scope::Cluster}, "its class"},
    {kGateway, "Gateway", "spec.listeners[].tls.certificateRefs[].name", kSecret, "its certificate"},
    {"flowcontrol.apiserver.k8s.io",
     "FlowSchema",
     "spec.priorityLevelConfiguration.name",
     {"flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration", Scope::Cluster},
     "its priority level"},
    {"admissionregistration.k8s.io",
     "ValidatingAdmissionPolicyBinding",
     "spec.policyName",
     {"admissionregistration.k8s.io", "ValidatingAdmissionPolicy", Scope::Cluster},
     "the policy that it binds"},
    {"admissionregistration.k8s.io",
     "MutatingAdmissionPolicyBinding",
     "spec.policyName",
     {"admissionregistration.k8s.io", "MutatingAdmissionPolicy", Scope::Cluster},
     "the policy that it binds"},
    // The token controller deletes the Secret if its account isn't there.
    {"", "Secret", "metadata.annotations.kubernetes\\.io/service-account\\.name", kServiceAccount,
     "the account of its token", Strength::Hard},
};

// A field of any kind that names an object with its kind, and perhaps its group.
struct TypedField {
  std::string_view group;  ///< of the kinds that have it; empty: of any group
  std::string_view path;
  std::string_view default_group, default_kind;
  std::string_view reason;
};
constexpr TypedField kTypedFields[] = {
    {"", "spec.scaleTargetRef", "apps", "Deployment", "what it scales"},
    {"autoscaling.k8s.io", "spec.targetRef", "", "", "what it scales"},
    {"cert-manager.io", "spec.issuerRef", "cert-manager.io", "Issuer", "its issuer"},
    {kGateway, "spec.parentRefs[]", kGateway, "Gateway", "its gateway"},
    {kGateway, "spec.rules[].backendRefs[]", "", "Service", "a backend of it"},
};

class Finder {
 public:
  Finder(const Object& object, const std::function<void(const Reference&)>& visit)
      : object_(object), visit_(visit) {}

  void run() const {
    const GroupVersionKind& gvk = object_.gvk();
    if (const Value* pod = pod_template(object_)) pods(*pod);
    for (const Field& field : kFields) {
      if (field.group == gvk.group && field.kind == gvk.kind)
        names(object_.value(), field.path, field.target, field.reason, field.strength);
    }
    for (const TypedField& field : kTypedFields) {
      if (field.group.empty() || field.group == gvk.group) typed(field);
    }
    if (gvk.group == "rbac.authorization.k8s.io" && gvk.kind.ends_with("Binding")) binding();
    // webhooks[] of admission, and the one service of an API service.
    for (const std::string_view path : {"webhooks[].clientConfig.service", "spec.service"}) {
      if (gvk.group == "admissionregistration.k8s.io" || gvk.group == "apiregistration.k8s.io")
        for_each_value(object_.value(), path, [&](const Value& service) {
          emit({"", "Service"}, service.string_at("namespace"), service.string_at("name"),
               "what answers for it", Strength::Soft);
        });
    }
  }

 private:
  void emit(GroupKind kind, std::string_view ns, std::string_view name, std::string_view reason,
            Strength strength) const {
    if (!name.empty()) visit_({{std::move(kind), std::string(ns), std::string(name)}, reason, strength});
  }

  void names(const Value& value, std::string_view path, const Target& target, std::string_view reason,
             Strength strength) const {
    for_each_string(value, path, [&](std::string_view name) {
      emit({std::string(target.group), std::string(target.kind)},
           target.scope == Scope::Cluster ? std::string_view() : object_.ns(), name, reason, strength);
    });
  }

  void pods(const Value& pod) const {
    const Value* spec = pod.find("spec");
    if (spec == nullptr) return;
    // Admission refuses a Pod whose account, priority or runtime isn't there; workloads try again.
    const bool bare = object_.gvk().group_kind() == GroupKind{"", "Pod"};
    for (const PodField& field : kPodFields) {
      const bool needed =
          bare && (field.target.kind == kServiceAccount.kind || field.target.kind == kPriorityClass.kind ||
                   field.target.kind == kRuntimeClass.kind);
      names(*spec, field.path, field.target, field.reason, needed ? Strength::Hard : Strength::Soft);
    }
    for (const std::string_view list : kContainerLists) {
      for_each_value(*spec, list, [&](const Value& container) {
        for (const PodField& field : kContainerFields)
          names(container, field.path, field.target, field.reason, Strength::Soft);
      });
    }
  }

  void typed(const TypedField& field) const {
    for_each_value(object_.value(), field.path, [&](const Value& ref) {
      GroupKind kind{std::string(field.default_group), std::string(field.default_kind)};
      if (const std::string_view text = ref.string_at("kind"); !text.empty()) kind.kind = text;
      if (const Value* group = ref.find("group"); group != nullptr && group->is_string())
        kind.group = group->as_string();
      if (const std::string_view version = ref.string_at("apiVersion"); !version.empty()) {
        const auto slash = version.find('/');
        kind.group = slash == std::string_view::npos ? std::string_view() : version.substr(0, slash);
      }
      if (kind.kind.empty()) return;
      const std::string_view name = ref.string_at("name"), ns = ref.string_at("namespace");
      emit(kind, ns.empty() ? object_.ns() : ns, name, field.reason, Strength::Soft);
      // The kind doesn't say its scope: a ClusterIssuer has no namespace.
      emit(kind, "", name, field.reason, Strength::Soft);
    });
  }

  void binding() const {
    if (const Value* role = object_.value().find("roleRef")) {
      const std::string_view kind = role->string_at("kind");
      emit({object_.gvk().group, std::string(kind)}, kind == "Role" ? object_.ns() : std::string_view(),
           role->string_at("name"), "the role that it grants", Strength::Hard);
    }
    for_each_value(object_.value(), "subjects[]", [&](const Value& subject) {
      if (subject.string_at("kind") != "ServiceAccount") return;
      const std::string_view ns = subject.string_at("namespace");
      emit({"", "ServiceAccount"}, ns.empty() ? object_.ns() : ns, subject.string_at("name"),
           "a subject of it", Strength::Soft);
    });
  }

  const Object& object_;
  const std::function<void(const Reference&)>& visit_;
};

// The first step of a path and what follows; a dot behind a backslash is part of its step.
std::pair<std::string, std::string_view> first_step(std::string_view path) {
  std::string step;
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (path[i] == '.') return {std::move(step), path.substr(i + 1)};
    if (path[i] == '\\' && i + 1 < path.size()) ++i;
    step += path[i];
  }
  return {std::move(step), std::string_view()};
}

}  // namespace

void for_each_value(const Value& value, std::string_view path,
                    const std::function<void(const Value&)>& visit) {
  if (path.empty()) return visit(value);
  auto [step, rest] = first_step(path);
  const bool every = step.ends_with("[]");
  if (every) step.resize(step.size() - 2);
  const Value* next = value.find(step);
  if (next == nullptr) return;
  if (!every) return for_each_value(*next, rest, visit);
  if (!next->is_array()) return;
  for (const Value& item : next->as_array()) for_each_value(item, rest, visit);
}

void for_each_string(const Value& value, std::string_view path,
                     const std::function<void(std::string_view)>& visit) {
  for_each_value(value, path, [&](const Value& found) {
    if (found.is_string()) visit(found.as_string());
  });
}

void for_each_reference(const Object& object, const std::function<void(const Reference&)>& visit) {
  Finder(object, visit).run();
}

}  // namespace mist::apply
