#include "apimachinery/pod_security.h"

#include <algorithm>
#include <array>

#include <fmt/core.h>

namespace mist::apimachinery {
namespace {

using encoding::Value;

constexpr std::array<std::string_view, 13> kBaselineCapabilities{
    "AUDIT_WRITE",      "CHOWN",   "DAC_OVERRIDE", "FOWNER",  "FSETID", "KILL",      "MKNOD",
    "NET_BIND_SERVICE", "SETFCAP", "SETGID",       "SETPCAP", "SETUID", "SYS_CHROOT"};
constexpr std::array<std::string_view, 1> kRestrictedCapabilities{"NET_BIND_SERVICE"};
constexpr std::array<std::string_view, 12> kSafeSysctls{
    "kernel.shm_rmid_forced",           "net.ipv4.ip_local_port_range",
    "net.ipv4.ip_local_reserved_ports", "net.ipv4.ip_unprivileged_port_start",
    "net.ipv4.ping_group_range",        "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl",     "net.ipv4.tcp_keepalive_probes",
    "net.ipv4.tcp_keepalive_time",      "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_syncookies",          "net.ipv4.tcp_wmem"};
constexpr std::array<std::string_view, 8> kRestrictedVolumes{
    "configMap", "csi",   "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim",
    "projected", "secret"};
constexpr std::array<std::string_view, 5> kSeLinuxTypes{"", "container_t", "container_init_t",
                                                        "container_kvm_t", "container_engine_t"};
constexpr std::string_view kAppArmorAnnotation = "container.apparmor.security.beta.kubernetes.io/";

template <typename List>
bool has(const List& list, std::string_view text) {
  return std::ranges::find(list, text) != list.end();
}

const Value::Array& list_at(const Value& value, std::string_view key) {
  static const Value::Array kNone;
  const Value* const found = value.find(key);
  return found != nullptr && found->is_array() ? found->as_array() : kNone;
}

bool is_true(const Value* value) { return value != nullptr && *value == Value(true); }
bool is_false(const Value* value) { return value != nullptr && *value == Value(false); }

class Faults {
 public:
  explicit Faults(const Value& pod) : pod_(pod), spec_(member(pod, "spec")) {
    windows_ = spec_.string_at({"os", "name"}) == "windows";
  }

  std::vector<PodSecurityFault> take() {
    of_pod();
    for (const auto& [list, name] :
         {std::pair("initContainers", "initContainer"), std::pair("containers", "container"),
          std::pair("ephemeralContainers", "ephemeralContainer")})
      for (const Value& container : list_at(spec_, list)) of_container(container, name);
    return std::move(found_);
  }

 private:
  static const Value& member(const Value& value, std::string_view key) {
    static const Value kNone = Value::object();
    const Value* const found = value.find(key);
    return found != nullptr && found->is_object() ? *found : kNone;
  }

  // `at` has the position; null: the Pod has.
  void add(PodSecurity needs, const std::string& place, std::string what, const Value* at) {
    const encoding::Position position = at != nullptr ? at->position() : spec_.position();
    found_.push_back({needs, place, std::move(what), position});
  }
  void baseline(const std::string& place, std::string what, const Value* at) {
    add(PodSecurity::Baseline, place, std::move(what), at);
  }
  void privileged(const std::string& place, std::string what, const Value* at) {
    add(PodSecurity::Privileged, place, std::move(what), at);
  }

  void of_pod() {
    for (const std::string_view field : {"hostNetwork", "hostPID", "hostIPC"})
      if (const Value* const value = spec_.find(field); is_true(value))
        privileged("", fmt::format("{} is true", field), value);
    for (const Value& volume : list_at(spec_, "volumes")) of_volume(volume);
    const Value& context = member(spec_, "securityContext");
    of_context("", context);
    if (const Value* const own = context.find("runAsNonRoot"); is_false(own))
      baseline("", "securityContext.runAsNonRoot is false", own);
    for (const Value& sysctl : list_at(context, "sysctls"))
      if (const std::string_view name = sysctl.string_at("name"); !has(kSafeSysctls, name))
        privileged("", fmt::format("the sysctl {} is set", name), &sysctl);
    for (const Value::Member& annotation : member(member(pod_, "metadata"), "annotations").as_object()) {
      if (!annotation.key.starts_with(kAppArmorAnnotation) || !annotation.value.is_string()) continue;
      const std::string& profile = annotation.value.as_string();
      if (!profile.empty() && profile != "runtime/default" && !profile.starts_with("localhost/"))
        privileged("", fmt::format("the annotation {} is {}", annotation.key, profile), &annotation.value);
    }
  }

  void of_volume(const Value& volume) {
    const std::string name(volume.string_at("name"));
    if (const Value* const path = volume.find("hostPath"); path != nullptr)
      return privileged("", fmt::format("the volume {} is a hostPath", name), path);
    if (!volume.is_object()) return;
    for (const Value::Member& source : volume.as_object())
      if (source.key != "name" && !source.value.is_null() && !has(kRestrictedVolumes, source.key))
        baseline("", fmt::format("the volume {} is of the type {}", name, source.key), &volume);
  }

  // The fields that the security contexts of Pods and containers share.
  void of_context(const std::string& place, const Value& context) {
    if (const Value* const host = context.at_path({"windowsOptions", "hostProcess"}); is_true(host))
      privileged(place, "securityContext.windowsOptions.hostProcess is true", host);
    if (const std::string_view profile = context.string_at({"appArmorProfile", "type"});
        profile == "Unconfined")
      privileged(place, "securityContext.appArmorProfile is Unconfined", &context);
    if (const Value* const options = context.find("seLinuxOptions"); options != nullptr) {
      if (const std::string_view type = options->string_at("type"); !has(kSeLinuxTypes, type))
        privileged(place, fmt::format("securityContext.seLinuxOptions.type is {}", type), options);
      for (const std::string_view field : {"user", "role"})
        if (!options->string_at(field).empty())
          privileged(place, fmt::format("securityContext.seLinuxOptions.{} is set", field), options);
    }
    if (const Value* const user = context.find("runAsUser"); user != nullptr && *user == Value(0))
      baseline(place, "securityContext.runAsUser is 0", user);
    if (context.string_at({"seccompProfile", "type"}) == "Unconfined")
      privileged(place, "securityContext.seccompProfile is Unconfined", &context);
  }

  void of_container(const Value& container, std::string_view kind) {
    const std::string place = fmt::format("{} {}", kind, container.string_at("name"));
    const Value& context = member(container, "securityContext");
    const Value* const near = context.empty() ? &container : &context;
    of_context(place, context);
    if (const Value* const value = context.find("privileged"); is_true(value))
      privileged(place, "securityContext.privileged is true", value);
    if (const std::string_view mount = context.string_at("procMount"); !mount.empty() && mount != "Default")
      privileged(place, fmt::format("securityContext.procMount is {}", mount), &context);
    of_capabilities(place, context, near);
    for (const Value& port : list_at(container, "ports"))
      if (const Value* const host = port.find("hostPort"); host != nullptr && *host != Value(0))
        privileged(place, "a port has a hostPort", host);
    of_probes(place, container);
    of_identity(place, context, near);
  }

  void of_capabilities(const std::string& place, const Value& context, const Value* near) {
    const Value& capabilities = member(context, "capabilities");
    for (const Value& added : list_at(capabilities, "add")) {
      if (!added.is_string()) continue;
      const std::string& name = added.as_string();
      if (!has(kBaselineCapabilities, name))
        privileged(place, fmt::format("the capability {} is added", name), &added);
      else if (!has(kRestrictedCapabilities, name) && !windows_)
        baseline(place, fmt::format("the capability {} is added", name), &added);
    }
    const Value::Array& dropped = list_at(capabilities, "drop");
    if (!windows_ && std::ranges::find(dropped, Value("ALL")) == dropped.end())
      baseline(place, "securityContext.capabilities.drop lacks ALL", near);
  }

  void of_probes(const std::string& place, const Value& container) {
    const auto look = [&](const Value& handler, std::string_view name) {
      for (const std::string_view way : {"httpGet", "tcpSocket"})
        if (const Value* const host = handler.at_path({way, "host"});
            host != nullptr && host->is_string() && !host->as_string().empty())
          privileged(place, fmt::format("{} names a host", name), host);
    };
    for (const std::string_view probe : {"livenessProbe", "readinessProbe", "startupProbe"})
      look(member(container, probe), probe);
    for (const std::string_view hook : {"postStart", "preStop"})
      look(member(member(container, "lifecycle"), hook), hook);
  }

  // The level Restricted asks this of each container.
  void of_identity(const std::string& place, const Value& context, const Value* near) {
    const Value& whole = member(spec_, "securityContext");
    if (!windows_ && !is_false(context.find("allowPrivilegeEscalation")))
      baseline(place, "securityContext.allowPrivilegeEscalation is not false", near);
    const Value* const own = context.find("runAsNonRoot");
    if (!is_true(own) && (own != nullptr || !is_true(whole.find("runAsNonRoot"))))
      baseline(place, "securityContext.runAsNonRoot is not true, for it or the Pod", near);
    if (!windows_ && context.string_at({"seccompProfile", "type"}).empty() &&
        whole.string_at({"seccompProfile", "type"}).empty())
      baseline(place, "securityContext.seccompProfile is not set, for it or the Pod", near);
  }

  const Value& pod_;
  const Value& spec_;
  bool windows_ = false;
  std::vector<PodSecurityFault> found_;
};

}  // namespace

std::string_view to_string(PodSecurity level) {
  switch (level) {
    case PodSecurity::Restricted:
      return "restricted";
    case PodSecurity::Baseline:
      return "baseline";
    case PodSecurity::Privileged:
      return "privileged";
  }
  return "privileged";
}

std::vector<PodSecurityFault> pod_security_faults(const encoding::Value& pod) { return Faults(pod).take(); }

PodSecurity level_of(const std::vector<PodSecurityFault>& faults) {
  PodSecurity level = PodSecurity::Restricted;
  for (const PodSecurityFault& each : faults) level = std::max(level, each.needs);
  return level;
}

}  // namespace mist::apimachinery
