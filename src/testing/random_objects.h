#pragma once
// Random Kubernetes objects that look alike, for holding our comparison of objects beside a real API
// server's. Not every one of them is valid: that is the server's to say. A seed gives the same ones again;
// one thread.

#include <fmt/core.h>

#include <random>
#include <string>
#include <string_view>

#include "encoding/value.h"

namespace mist::testing {

using encoding::Value;

/// Of a few kinds, all of one name: two of one kind differ in a few places.
class RandomObjects {
 public:
  explicit RandomObjects(unsigned seed) : random_(seed) {}

  Value object() {
    switch (pick(5)) {
      case 0:
        return deployment();
      case 1:
        return service();
      case 2:
        return network_policy();
      case 3:
        return role();
      default:
        return config_map();
    }
  }

 private:
  std::size_t pick(std::size_t count) {
    return std::uniform_int_distribution<std::size_t>(0, count - 1)(random_);
  }
  bool maybe() { return pick(2) == 0; }
  template <typename... Choices>
  Value one_of(Choices&&... choices) {
    const std::vector<Value> all{Value(std::forward<Choices>(choices))...};
    return all[pick(all.size())];
  }
  void maybe_set(Value& object, std::string_view name, Value value) {
    if (maybe()) object.set(name, std::move(value));
  }
  Value named(std::string_view api, std::string_view kind) {
    Value metadata = Value::object({{"name", fmt::format("g-{}", kind == "Deployment" ? "d" : "o")}});
    if (maybe()) metadata.set("labels", Value::object({{"l", one_of("1", "2")}}));
    if (maybe()) metadata.set("annotations", Value::object({{"n", one_of("1", "")}}));
    return Value::object({{"apiVersion", api}, {"kind", kind}, {"metadata", metadata}});
  }
  Value config_map() {
    Value value = named("v1", "ConfigMap");
    Value data = Value::object();
    for (const std::string_view key : {"a", "b", "c"}) maybe_set(data, key, one_of("", "1", "2"));
    if (maybe()) value.set("data", data);
    return value;
  }
  Value container(std::string_view name) {
    Value value = Value::object({{"name", name}, {"image", one_of("a:1", "b:2")}});
    maybe_set(value, "imagePullPolicy", one_of("IfNotPresent", "Always"));
    maybe_set(value, "command", one_of(Value::array({}), Value::array({"a"}), Value::array({"a", "b"})));
    maybe_set(value, "stdin", one_of(true, false));
    if (maybe()) {
      Value limits = Value::object();
      maybe_set(limits, "cpu", one_of("1", "1000m", 1, "0.5", "500m"));
      maybe_set(limits, "memory", one_of("1Gi", "1024Mi", "1G"));
      value.set("resources", maybe() ? Value::object({{"limits", limits}}) : Value::object());
    }
    if (maybe()) {
      Value::Array env;
      for (const std::string_view key : {"A", "B", "C"}) {
        if (maybe()) continue;
        Value entry = Value::object({{"name", key}});
        if (maybe())
          entry.set("value", one_of("", "x"));
        else
          entry.set("valueFrom",
                    Value::object({{"fieldRef", Value::object({{"fieldPath", "metadata.name"}})}}));
        env.push_back(std::move(entry));
      }
      if (maybe()) std::ranges::shuffle(env, random_);
      value.set("env", Value(std::move(env)));
    }
    if (maybe()) {
      Value::Array ports;
      for (const int port : {80, 81}) {
        if (maybe()) continue;
        Value entry = Value::object({{"containerPort", port}});
        maybe_set(entry, "protocol", "TCP");
        ports.push_back(std::move(entry));
      }
      value.set("ports", Value(std::move(ports)));
    }
    return value;
  }
  Value deployment() {
    Value value = named("apps/v1", "Deployment");
    Value pod = Value::object();
    Value::Array containers{container("x")};
    if (maybe()) containers.push_back(container("y"));
    if (maybe()) std::ranges::reverse(containers);
    pod.set("containers", Value(std::move(containers)));
    maybe_set(pod, "hostNetwork", false);
    maybe_set(pod, "automountServiceAccountToken", one_of(true, false));
    maybe_set(pod, "nodeSelector", one_of(Value::object(), Value::object({{"a", "b"}})));
    maybe_set(pod, "tolerations",
              one_of(Value::array({}), Value::array({Value::object({{"key", "a"}, {"operator", "Exists"}})}),
                     Value::array({Value::object({{"operator", "Exists"}})})));
    maybe_set(pod, "terminationGracePeriodSeconds", one_of(0, 30));
    Value spec = Value::object(
        {{"selector", Value::object({{"matchLabels", Value::object({{"app", "g"}})}})},
         {"template", Value::object({{"metadata", Value::object({{"labels", Value::object({{"app", "g"}})}})},
                                     {"spec", pod}})}});
    maybe_set(spec, "replicas", one_of(0, 1));
    maybe_set(spec, "paused", one_of(true, false));
    maybe_set(spec, "minReadySeconds", one_of(0, 5));
    maybe_set(spec, "strategy",
              one_of(Value::object(), Value::object({{"type", "Recreate"}}),
                     Value::object({{"type", "RollingUpdate"},
                                    {"rollingUpdate", Value::object({{"maxSurge", one_of(1, "25%")}})}})));
    value.set("spec", spec);
    return value;
  }
  Value service() {
    Value value = named("v1", "Service");
    Value::Array ports;
    for (const std::string_view name : {"a", "b"}) {
      if (name == "b" && maybe()) continue;
      Value port = Value::object({{"name", name}, {"port", name == "a" ? 80 : 81}});
      maybe_set(port, "protocol", one_of("TCP", "UDP"));
      maybe_set(port, "targetPort", one_of(80, "http"));
      ports.push_back(std::move(port));
    }
    if (maybe()) std::ranges::reverse(ports);
    Value spec = Value::object({{"ports", Value(std::move(ports))}});
    maybe_set(spec, "selector", one_of(Value::object({{"a", "1"}}), Value::object({{"a", "2"}, {"b", "1"}})));
    maybe_set(spec, "publishNotReadyAddresses", one_of(true, false));
    maybe_set(spec, "sessionAffinity", one_of("None", "ClientIP"));
    value.set("spec", spec);
    return value;
  }
  Value network_policy() {
    Value value = named("networking.k8s.io/v1", "NetworkPolicy");
    Value port = Value::object();
    maybe_set(port, "port", one_of(80, "http"));
    maybe_set(port, "protocol", one_of("TCP", "UDP"));
    Value rule = Value::object();
    maybe_set(rule, "ports", Value::array({port}));
    maybe_set(
        rule, "from",
        Value::array({Value::object(
            {{"podSelector",
              one_of(Value::object(), Value::object({{"matchLabels", Value::object({{"a", "b"}})}}))}})}));
    Value spec = Value::object({{"podSelector", Value::object()}});
    maybe_set(spec, "ingress",
              one_of(Value::array({rule}), Value::array({rule, Value::object()}), Value::array({})));
    value.set("spec", spec);
    return value;
  }
  Value role() {
    Value value = named("rbac.authorization.k8s.io/v1", "Role");
    Value rule =
        Value::object({{"apiGroups", Value::array({""})},
                       {"resources", one_of(Value::array({"pods"}), Value::array({"pods", "secrets"}))},
                       {"verbs", Value::array({"get"})}});
    maybe_set(rule, "resourceNames", one_of(Value::array({}), Value::array({"x"})));
    maybe_set(value, "rules", one_of(Value::array({rule}), Value::array({})));
    return value;
  }

  std::mt19937 random_;
};

}  // namespace mist::testing
