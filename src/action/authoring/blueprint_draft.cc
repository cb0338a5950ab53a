#include "action/authoring/blueprint_draft.h"

#include <algorithm>
#include <array>
#include <functional>
#include <set>

#include "action/authoring/live_fields.h"
#include "apply/fields/server_fields.h"
#include "apply/order/order.h"
#include "apply/order/references.h"
#include "base/text.h"
#include "blueprint/nickel_text.h"
#include "encoding/json.h"
#include "encoding/yaml.h"
#include "reconcile/permissions.h"

namespace mist::action {
namespace {

using apimachinery::Object;
using apimachinery::ObjectKey;
using blueprint::nickel_field;
using blueprint::nickel_string;
using encoding::Value;

constexpr std::string_view kInstance = "instance";
// The server sets it on each namespace.
constexpr std::string_view kNamespaceLabel = "kubernetes.io/metadata.name";
const apimachinery::GroupKind kJobs{"batch", "Job"};

// "Config-Map" → "configMap".
std::string camel(std::string_view words) {
  std::string name;
  bool upper = false;
  for (const char c : words) {
    const bool is_word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!is_word) {
      upper = !name.empty();
      continue;
    }
    const bool is_lower = c >= 'a' && c <= 'z', is_upper = c >= 'A' && c <= 'Z';
    if (upper && is_lower)
      name += static_cast<char>(c - 'a' + 'A');
    else if (name.empty() && is_upper)
      name += static_cast<char>(c - 'A' + 'a');
    else
      name += c;
    upper = false;
  }
  return name.empty() || (name.front() >= '0' && name.front() <= '9') ? "x" + name : name;
}

std::string upper_first(std::string name) {
  if (!name.empty() && name.front() >= 'a' && name.front() <= 'z')
    name.front() = static_cast<char>(name.front() - 'a' + 'A');
  return name;
}

// A name that `taken` doesn't have yet; it has it then.
std::string free_name(std::string name, std::set<std::string>& taken) {
  std::string free = name;
  for (int number = 2; !taken.insert(free).second; ++number) free = fmt::format("{}{}", name, number);
  return free;
}

/// Calls `visit` with the path of each scalar.
void for_each_scalar(const Value& value, const std::string& path,
                     const std::function<void(const std::string&, const Value&)>& visit) {
  if (value.is_object()) {
    for (const auto& [key, member] : value.as_object())
      for_each_scalar(member, path.empty() ? key : fmt::format("{}.{}", path, key), visit);
  } else if (value.is_array()) {
    for (std::size_t i = 0; i < value.as_array().size(); ++i)
      for_each_scalar(value.as_array()[i], fmt::format("{}[{}]", path, i), visit);
  } else {
    visit(path, value);
  }
}

// The common prefix of most objects' names, cut at a dash: "web" of web, web-config and web-db. Empty: most
// have none.
std::string common_name(const std::vector<Object>& objects) {
  std::map<std::string, std::size_t> counts;
  for (const Object& object : objects) {
    const std::string_view name = object.name();
    for (std::size_t end = 0; end < name.size(); ++end)
      if (name[end] == '-') ++counts[std::string(name.substr(0, end))];
    ++counts[std::string(name)];
  }
  std::string best;
  std::size_t most = objects.size() / 2;
  for (const auto& [name, count] : counts) {
    if (count < most || (count == most && (best.empty() || name.size() <= best.size()))) continue;
    best = name;
    most = count;
  }
  return best;
}

// A literal of the manifests that becomes a field of the instance, with every place where it stands.
struct Site {
  std::size_t node;
  std::string path;
  std::string_view what;  // "image"
  std::string qualifier;  // "main", where there are several images
  const Value* value;
};

/// Whether `path` is `pattern`, in which "[]" stands for any index.
bool is_at(std::string_view path, std::string_view pattern) {
  while (!pattern.empty()) {
    if (pattern.starts_with("[]")) {
      const auto close = path.find(']');
      if (!path.starts_with('[') || close == std::string_view::npos) return false;
      path.remove_prefix(close + 1);
      pattern.remove_prefix(2);
    } else {
      if (path.empty() || path.front() != pattern.front()) return false;
      path.remove_prefix(1);
      pattern.remove_prefix(1);
    }
  }
  return path.empty();
}

struct FieldRule {
  std::string_view kind;  // empty: any
  std::string_view path;  // "[]" stands for every index
  std::string_view what;
};
constexpr FieldRule kFieldRules[] = {
    {"Deployment", "spec.replicas", "replicas"},
    {"StatefulSet", "spec.replicas", "replicas"},
    {"ReplicaSet", "spec.replicas", "replicas"},
    {"CronJob", "spec.schedule", "schedule"},
    {"PersistentVolumeClaim", "spec.resources.requests.storage", "storage"},
    {"Ingress", "spec.rules[].host", "host"},
    {"Ingress", "spec.tls[].hosts[]", "host"},
    {"Pod", "spec.containers[].image", "image"},
    {"Pod", "spec.initContainers[].image", "image"},
    {"CronJob", "spec.jobTemplate.spec.template.spec.containers[].image", "image"},
    {"CronJob", "spec.jobTemplate.spec.template.spec.initContainers[].image", "image"},
    {"", "spec.template.spec.containers[].image", "image"},
    {"", "spec.template.spec.initContainers[].image", "image"},
};

// The server lets nobody change it, so that it can be no field of the instance.
constexpr std::string_view kClaimedStorage = "spec.volumeClaimTemplates[].spec.resources.requests.storage";

std::string_view field_at(const Object& object, const std::string& path) {
  for (const FieldRule& rule : kFieldRules)
    if ((rule.kind.empty() || rule.kind == object.gvk().kind) && is_at(path, rule.path)) return rule.what;
  return {};
}

// Names of things inside of Pods, and of ports, mean nothing outside; a port's name may have 15 characters.
bool is_inner_name(std::string_view path) {
  const auto last = path.rfind('.');
  if (last == std::string_view::npos) return false;
  const std::string_view key = path.substr(last + 1), parent = path.substr(0, last);
  if (key == "targetPort" || key == "port" || key == "portName" || key == "image" ||
      key.starts_with("command[") || key.starts_with("args["))
    return true;
  if (key != "name") return false;
  const auto bracket = parent.rfind('['), dot = parent.rfind('.');
  if (bracket == std::string_view::npos || (dot != std::string_view::npos && dot > bracket)) return false;
  const std::string_view list = parent.substr(dot == std::string_view::npos ? 0 : dot + 1, bracket - dot - 1);
  constexpr std::array<std::string_view, 7> kInner = {
      "containers", "initContainers", "ephemeralContainers", "ports", "env", "volumes", "volumeMounts"};
  return std::ranges::find(kInner, list) != kInner.end();
}

class Draft {
 public:
  Draft(std::vector<Object> objects, const DraftNames& names) : names_(names), objects_(std::move(objects)) {}

  Result<BlueprintDraft> make() {
    leave_out();
    if (objects_.empty())
      return error(ErrorKind::Invalid, "there is no object that a blueprint could have as a node");
    MIST_TRY_VOID(check_keys());
    clean();
    leave_out_scaled_replicas();
    name_nodes();
    name_variable();
    base_ = common_name(objects_);
    find_fields();
    MIST_TRY_VOID(find_edges());
    look_for_traps();
    draft_.nodes = objects_.size();
    draft_.also = also_.size();
    draft_.sequence = sequence_.size();
    draft_.files.emplace("blueprint.ncl", blueprint());
    draft_.files.emplace("crd.yaml", encoding::to_yaml(definition()));
    draft_.files.emplace("instance.yaml", encoding::to_yaml(instance()));
    return std::move(draft_);
  }

 private:
  // Objects that belong to the cluster, and not to an instance.
  void leave_out() {
    std::erase_if(objects_, [&](const Object& object) {
      const std::string_view kind = object.gvk().kind;
      if (kind == "Namespace")
        warn("{} is left out: the objects of an instance are in its namespace", object.key().display());
      else if (object.gvk().group_kind() == apimachinery::kCustomResourceDefinition)
        warn(
            "{} is left out: it would go with an instance, and with it the objects of all others; install it "
            "before",
            object.key().display());
      else
        return false;
      return true;
    });
  }

  Status check_keys() const {
    std::set<ObjectKey> keys;
    for (const Object& object : objects_)
      if (!keys.insert(object.key()).second)
        return error(ErrorKind::Invalid, "{} is there twice", object.key().display());
    return {};
  }

  void clean() {
    std::set<std::string> namespaces;
    for (Object& object : objects_) {
      apply::take_server_fields(object, true);
      if (const std::vector<std::string> taken = take_live_fields(object); !taken.empty())
        warn("{} is drafted without {}: a cluster gave it that; add back what every instance shall have",
             object.key().display(), join(taken, ", "));
      Value& metadata = object.mutable_value()["metadata"];
      if (Value* const annotations = metadata.find("annotations")) {
        annotations->erase("kubectl.kubernetes.io/last-applied-configuration");
        annotations->erase("deployment.kubernetes.io/revision");
        if (annotations->empty()) metadata.erase("annotations");
      }
      if (!object.ns().empty()) namespaces.insert(std::string(object.ns()));
    }
    if (namespaces.size() > 1)
      warn(
          "the objects are in {} namespaces, which stay as they are; an instance's own namespace is the "
          "usual place",
          namespaces.size());
    if (namespaces.size() == 1) namespace_ = *namespaces.begin();
  }

  // A HorizontalPodAutoscaler sets them, and an instance that set them too would fail at its first scaling.
  void leave_out_scaled_replicas() {
    for (const Object& scaler : objects_) {
      if (scaler.gvk().kind != "HorizontalPodAutoscaler") continue;
      for (Object& object : objects_) {
        Value* const spec = object.mutable_value().find("spec");
        if (is_scaled_by(object, scaler) && spec != nullptr && spec->erase("replicas"))
          warn("{} is drafted without spec.replicas: {} scales it", object.key().display(),
               scaler.key().display());
      }
    }
  }

  static bool is_scaled_by(const Object& object, const Object& scaler) {
    const auto target = [&](std::string_view field) {
      return scaler.value().string_at({"spec", "scaleTargetRef", field});
    };
    const std::string_view version = target("apiVersion");
    const auto slash = version.find('/');
    const std::string_view group = version.substr(0, slash == std::string_view::npos ? 0 : slash);
    const bool same_namespace = scaler.ns() == object.ns() || scaler.ns().empty() || object.ns().empty();
    return target("kind") == object.gvk().kind && (version.empty() || group == object.gvk().group) &&
           target("name") == object.name() && same_namespace;
  }

  // A function makes it. A Secret is only looked at: a blueprint is a ConfigMap, which many may read.
  static bool is_read(const Object& object) { return object.gvk().group_kind() == apimachinery::kSecret; }

  // It has to succeed once for each input: its Pods can't be changed.
  static bool is_act(const Object& object) { return object.gvk().group_kind() == kJobs; }

  static std::string_view type_of(const Object& object) {
    if (is_read(object)) return "read";
    return is_act(object) ? "act" : "own";
  }

  void name_nodes() {
    std::map<std::string, std::size_t> kinds;
    for (const Object& object : objects_) ++kinds[object.gvk().kind];
    std::set<std::string> taken = {std::string(kInstance)};
    for (const Object& object : objects_) {
      const std::string kind = camel(object.gvk().kind);
      nodes_.push_back(
          free_name(kinds[object.gvk().kind] == 1 ? kind : kind + upper_first(camel(object.name())), taken));
      if (is_read(object))
        warn(
            "{} is only read, by the node {}: what a blueprint makes stands in a ConfigMap. Make it "
            "otherwise, under "
            "the same name",
            object.key().display(), nodes_.back());
      if (is_act(object))
        warn("{} is an act, in the node {}: another Job runs whenever its input changes, as by another image",
             object.key().display(), nodes_.back());
    }
  }

  void find_fields() {
    for (std::size_t node = 0; node < objects_.size(); ++node) {
      if (is_read(objects_[node])) continue;
      const Value& whole = objects_[node].value();
      for_each_scalar(whole, {}, [&](const std::string& path, const Value& value) {
        if (const std::string_view what = field_at(objects_[node], path); !what.empty() && !value.is_null())
          sites_.push_back({node, path, what, qualifier(node, path), &value});
      });
    }
    std::map<std::string_view, std::vector<const Value*>> values;
    for (const Site& site : sites_) {
      auto& known = values[site.what];
      if (std::ranges::none_of(known, [&](const Value* one) { return *one == *site.value; }))
        known.push_back(site.value);
    }
    std::set<std::string> taken;
    std::map<std::pair<std::string_view, std::string>, std::string> fields;  // of what and value
    for (const Site& site : sites_) {
      const std::string value = encoding::to_json(*site.value);
      auto& field = fields[{site.what, value}];
      if (field.empty()) {
        const bool only = values[site.what].size() == 1;
        field = free_name(
            only ? std::string(site.what) : camel(site.qualifier) + upper_first(std::string(site.what)),
            taken);
        draft_.fields.push_back({field, objects_[site.node].key().display(), *site.value});
      }
      replaced_[{site.node, site.path}] = fmt::format("{}.spec.{}", variable_, field);
    }
  }

  // "main" of the container main, else the node.
  std::string qualifier(std::size_t node, const std::string& path) const {
    const auto list = path.rfind("ontainers[");
    if (list == std::string::npos) return nodes_[node];
    const std::string container = path.substr(0, path.find(']', list) + 1);
    const std::string_view name = text_at(node, container + ".name");
    return name.empty() ? nodes_[node] : std::string(name);
  }

  Status find_edges() {
    std::map<ObjectKey, std::size_t> at;
    std::vector<apply::OrderedObject> ordered;
    for (std::size_t node = 0; node < objects_.size(); ++node) {
      at.emplace(objects_[node].key(), node);
      ordered.push_back({.object = &objects_[node]});
    }
    std::vector<std::set<std::size_t>> needs(objects_.size());
    for (std::size_t node = 0; node < objects_.size(); ++node) {
      apply::for_each_reference(objects_[node], [&](const apply::Reference& reference) {
        const auto found = at.find(reference.key);
        if (found != at.end() && found->second != node) needs[node].insert(found->second);
      });
    }
    MIST_TRY(const apply::Order order, apply::infer_order(ordered));
    for (const graph::Edge& edge : order.graph.edges()) {
      if (order.role(edge.before) != apply::NodeRole::Object ||
          order.role(edge.after) != apply::NodeRole::Object || is_read(objects_[edge.after]))
        continue;
      sequence_.push_back(
          {edge.before, edge.after, edge.reason, apply::predicate_of(edge) == apply::EdgePredicate::Present});
    }
    find_also(needs);
    return {};
  }

  // Each node is wanted because of the instance, or because of a node that needs it.
  void find_also(const std::vector<std::set<std::size_t>>& needs) {
    std::vector<bool> wanted(needs.size());
    const std::function<void(std::size_t)> want = [&](std::size_t node) {
      if (wanted[node]) return;
      wanted[node] = true;
      for (const std::size_t each : needs[node]) want(each);
    };
    std::vector<bool> needed(needs.size());
    for (const auto& each : needs)
      for (const std::size_t node : each) needed[node] = true;
    std::vector<std::size_t> roots;
    for (std::size_t node = 0; node < needs.size(); ++node)
      if (!needed[node]) roots.push_back(node);
    for (const std::size_t node : roots) want(node);
    for (std::size_t node = 0; node < needs.size(); ++node) {
      if (wanted[node]) continue;
      roots.push_back(node);  // of those that need one another
      want(node);
    }
    for (const std::size_t node : roots) also_.emplace_back(std::string(kInstance), nodes_[node]);
    for (std::size_t node = 0; node < needs.size(); ++node)
      for (const std::size_t each : needs[node]) also_.emplace_back(nodes_[node], nodes_[each]);
  }

  // As an expression: the name that the object has in an instance.
  std::string name_in_instance(std::string_view name) const {
    std::string own = fmt::format("{}.metadata.name", variable_);
    if (name == base_) return own;
    const bool has_base = !base_.empty() && name.starts_with(base_ + "-");
    const std::string rest = nickel_string(has_base ? name.substr(base_.size()) : "-" + std::string(name));
    return fmt::format("\"%{{{}}}{}", own, rest.substr(1));
  }

  bool is_name(const std::string& text) const {
    return std::ranges::any_of(objects_, [&](const Object& object) { return object.name() == text; });
  }

  std::optional<std::string> instead(std::size_t node, const std::string& path, const Value& value) const {
    if (const auto field = replaced_.find({node, path}); field != replaced_.end()) return field->second;
    if (!value.is_string()) return std::nullopt;
    const std::string& text = value.as_string();
    if (names_namespace(node, path)) {
      const bool is_own = (!namespace_.empty() && text == namespace_) || is_drafted_account(node, path);
      return is_own ? std::optional(fmt::format("{}.metadata.namespace", variable_)) : std::nullopt;
    }
    if (path == "metadata.name" || (is_name(text) && !is_inner_name(path))) return name_in_instance(text);
    return std::nullopt;
  }

  const Value* value_at(std::size_t node, const std::string& path) const {
    const Value* found = nullptr;
    for_each_scalar(objects_[node].value(), {}, [&](const std::string& at, const Value& value) {
      if (at == path) found = &value;
    });
    return found;
  }

  std::string_view text_at(std::size_t node, const std::string& path) const {
    const Value* const value = value_at(node, path);
    return value != nullptr && value->is_string() ? std::string_view(value->as_string()) : std::string_view();
  }

  // A namespace, or the label by which one is selected.
  bool names_namespace(std::size_t node, std::string_view path) const {
    if (path.ends_with(".namespace") || path.ends_with(fmt::format("Labels.{}", kNamespaceLabel)))
      return true;
    const auto values = path.rfind(".values[");
    return values != std::string_view::npos &&
           text_at(node, fmt::format("{}.key", path.substr(0, values))) == kNamespaceLabel;
  }

  // Of a subject of a binding: an account that an instance has in its own namespace. There the field has to
  // be set, also where the manifests leave all others to the command that applies them.
  bool is_drafted_account(std::size_t node, const std::string& path) const {
    if (!path.starts_with("subjects[") || !path.ends_with("].namespace")) return false;
    const std::string subject = path.substr(0, path.rfind('.'));
    if (text_at(node, subject + ".kind") != "ServiceAccount") return false;
    const std::string_view name = text_at(node, subject + ".name");
    return std::ranges::any_of(objects_, [&](const Object& object) {
      return object.gvk().kind == "ServiceAccount" && object.name() == name && object.ns().empty();
    });
  }

  // Fields that would make two instances interfere with each other.
  void look_for_traps() {
    for (std::size_t node = 0; node < objects_.size(); ++node) {
      const Object& object = objects_[node];
      if (is_read(object)) continue;
      bool selects = false, selects_own = false;
      for_each_scalar(object.value(), {}, [&](const std::string& path, const Value& value) {
        const bool selector = path.starts_with("spec.selector.matchLabels.") ||
                              (object.gvk().kind == "Service" && path.starts_with("spec.selector."));
        selects |= selector;
        selects_own |= selector && instead(node, path, value).has_value();
        if (object.gvk().kind == "StatefulSet" && is_at(path, kClaimedStorage))
          return warn("{} of the node {} is the same in every instance: nobody can change it in place", path,
                      nodes_[node]);
        if (!value.is_string() || instead(node, path, value)) return;
        if (path != "metadata.namespace" && names_namespace(node, path))
          return warn("{} of the node {} is the namespace {} in every instance, whichever that is in", path,
                      nodes_[node], value.as_string());
        for (const Object& other : objects_) {
          const std::string& text = value.as_string();
          if (other.name().size() > 2 && text.size() > other.name().size() && mentions(text, other.name()))
            warn("{} of the node {} mentions {} inside of a text, which stays as it is", path, nodes_[node],
                 other.name());
        }
      });
      if (selects && !selects_own)
        warn(
            "the selector of the node {} is the same in each instance: give it a label with "
            "instance.metadata.name, or "
            "instances in one namespace select each other's Pods",
            nodes_[node]);
    }
  }

  static bool mentions(std::string_view text, std::string_view name) {
    const auto is_part = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
    };
    for (auto at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
      const std::size_t end = at + name.size();
      if ((at == 0 || !is_part(text[at - 1])) && (end == text.size() || !is_part(text[end]))) return true;
    }
    return false;
  }

  std::string node_text(std::size_t node) const {
    const Object& object = objects_[node];
    Value made = object.value();
    if (is_read(object)) {
      Value metadata = Value::object({{"name", object.name()}});
      made = Value::object({{"apiVersion", object.gvk().api_version()},
                            {"kind", object.gvk().kind},
                            {"metadata", std::move(metadata)}});
    }
    if (!namespace_.empty() || object.ns().empty()) made["metadata"].erase("namespace");
    const std::string body = blueprint::to_nickel(
        made, 4, [&](const std::string& path, const Value& value) { return instead(node, path, value); });
    return fmt::format("    {}.{} = fun {{ {}, .. }} => {},\n", nickel_field(nodes_[node]), type_of(object),
                       argument(), body);
  }

  // Fields of a record see one another, so that a field called instance would hide the argument.
  void name_variable() {
    std::set<std::string> keys;
    const std::function<void(const Value&)> collect = [&](const Value& value) {
      if (value.is_array())
        for (const Value& each : value.as_array()) collect(each);
      if (!value.is_object()) return;
      for (const auto& [key, member] : value.as_object()) {
        keys.insert(key);
        collect(member);
      }
    };
    for (const Object& object : objects_) collect(object.value());
    while (keys.contains(variable_)) variable_ = "the_" + variable_;
  }

  std::string argument() const {
    return variable_ == kInstance ? variable_ : fmt::format("{} = {}", kInstance, variable_);
  }

  std::string blueprint() const {
    std::string text = fmt::format(
        "# A draft made from manifests: go on from here, and see docs/operator.md.\n"
        "let {{ Blueprint, .. }} = import \"mistletoe.ncl\" in\n"
        "{{\n"
        "  kind = {{ group = {}, version = \"v1\", kind = {} }},\n\n"
        "  nodes = {{\n",
        nickel_string(names_.group), nickel_string(names_.kind));
    for (std::size_t node = 0; node < objects_.size(); ++node)
      text += (node == 0 ? "" : "\n") + node_text(node);
    text += "  },\n\n  also = [\n";
    for (const auto& [from, to] : also_)
      text += fmt::format("    {{ from = {}, to = {} }},\n", nickel_string(from), nickel_string(to));
    text += "  ],\n\n  sequence = [\n";
    for (const Sequence& edge : sequence_)
      text += fmt::format("    {{ from = {}, to = {}{} }},{}\n", nickel_string(nodes_[edge.before]),
                          nickel_string(nodes_[edge.after]),
                          edge.present && !is_act(objects_[edge.before]) ? ", until = 'present" : "",
                          edge.reason.empty() ? "" : fmt::format(" # {}", escape_controls(edge.reason)));
    return text + "  ],\n}\n  | Blueprint\n";
  }

  static Value schema_of(const DraftedField& field) {
    const Value& value = field.value;
    Value schema = Value::object({{"description", fmt::format("As in {}", field.object)}});
    schema.set("type", value.is_int() ? "integer" : value.is_bool() ? "boolean" : "string");
    if (value.is_int()) schema.set("minimum", 0);
    schema.set("default", value);
    return schema;
  }

  Value definition() const {
    const std::string plural = reconcile::usual_resource(names_.kind);
    Value properties = Value::object();
    for (const DraftedField& field : draft_.fields) properties.set(field.name, schema_of(field));
    Value spec = Value::object({{"type", "object"}, {"default", Value::object()}});
    spec.set("properties", std::move(properties));
    const auto column = [](std::string_view name, std::string_view type, std::string_view path) {
      return Value::object({{"name", name}, {"type", type}, {"jsonPath", path}});
    };
    Value columns =
        Value::array({column("Ready", "string", R"(.status.conditions[?(@.type=="Ready")].status)"),
                      column("Reason", "string", R"(.status.conditions[?(@.type=="Ready")].reason)"),
                      column("Waits for", "string", R"(.status.conditions[?(@.type=="Ready")].message)"),
                      column("Age", "date", ".metadata.creationTimestamp")});
    Value status = Value::object({{"type", "object"}, {"x-kubernetes-preserve-unknown-fields", true}});
    Value schema = Value::object({{"type", "object"}});
    schema["properties"].set("spec", std::move(spec));
    schema["properties"].set("status", std::move(status));
    Value version = Value::object({{"name", "v1"}, {"served", true}, {"storage", true}});
    version["subresources"].set("status", Value::object());
    version.set("additionalPrinterColumns", std::move(columns));
    version["schema"].set("openAPIV3Schema", std::move(schema));
    Value whole =
        Value::object({{"apiVersion", "apiextensions.k8s.io/v1"}, {"kind", "CustomResourceDefinition"}});
    whole["metadata"].set("name", plural + "." + names_.group);
    whole["spec"] = Value::object({{"group", names_.group},
                                   {"names", Value::object({{"kind", names_.kind}, {"plural", plural}})},
                                   {"scope", "Namespaced"},
                                   {"versions", Value::array({std::move(version)})}});
    return whole;
  }

  Value instance() const {
    Value whole = Value::object({{"apiVersion", names_.group + "/v1"}, {"kind", names_.kind}});
    whole["metadata"].set("name", base_.empty() ? names_.blueprint : base_);
    whole["spec"] = Value::object();
    for (const DraftedField& field : draft_.fields) whole["spec"].set(field.name, field.value);
    return whole;
  }

  template <typename... Args>
  void warn(fmt::format_string<Args...> text, Args&&... args) {
    draft_.warnings.push_back(fmt::format(text, std::forward<Args>(args)...));
  }

  struct Sequence {
    std::size_t before, after;
    std::string reason;
    bool present;
  };

  const DraftNames& names_;
  std::vector<Object> objects_;
  std::vector<std::string> nodes_;
  std::string base_, namespace_, variable_{kInstance};
  std::vector<Site> sites_;
  std::map<std::pair<std::size_t, std::string>, std::string> replaced_;
  std::vector<std::pair<std::string, std::string>> also_;
  std::vector<Sequence> sequence_;
  BlueprintDraft draft_;
};

}  // namespace

Result<std::vector<Object>> objects_of_manifests(const std::map<std::string, std::string>& texts) {
  std::vector<Object> objects;
  for (const auto& [file, text] : texts) {
    MIST_TRY(std::vector<Value> documents,
             encoding::parse_yaml_documents(text, {.strict = true, .file = file}));
    for (Value& document : documents) {
      Value* const items = document.find("items");
      const bool is_list =
          document.string_at("kind").ends_with("List") && items != nullptr && items->is_array();
      Value::Array all;
      if (is_list)
        all = std::move(items->as_array());
      else
        all.push_back(std::move(document));
      for (Value& each : all) {
        auto object = Object::from_value(std::move(each));
        if (!object.ok()) {
          Error failure = std::move(object).error();
          if (failure.where) failure.where->file = file;
          return failure;
        }
        objects.push_back(*std::move(object));
      }
    }
  }
  return objects;
}

Result<BlueprintDraft> draft_blueprint(std::vector<Object> objects, const DraftNames& names) {
  return Draft(std::move(objects), names).make();
}

}  // namespace mist::action
