#include "catalog/security_report.h"

#include <algorithm>
#include <array>
#include <functional>
#include <set>

#include "apimachinery/pod_security.h"
#include "apply/order/pod_template.h"
#include "base/text.h"

namespace mist::catalog {
namespace {

using apimachinery::Object;
using apimachinery::PodSecurity;
using encoding::Value;

constexpr std::size_t kMost = 200;
constexpr std::size_t kMostReasons = 20;
constexpr std::size_t kLongestText = 500;  // in bytes: pages show them, and they come from the package

std::vector<std::string> texts(const Value& rule, std::string_view key) {
  std::vector<std::string> all;
  if (const Value* const list = rule.find(key); list != nullptr && list->is_array())
    for (const Value& each : list->as_array())
      if (each.is_string()) all.push_back(each.as_string());
  return all;
}

bool has(const std::vector<std::string>& list, std::string_view text) {
  return std::ranges::find(list, text) != list.end();
}

// "*/exec" is that of everything.
bool has_resource(const std::vector<std::string>& list, std::string_view resource) {
  const std::string every =
      fmt::format("*{}", resource.substr(std::min(resource.find('/'), resource.size())));
  return has(list, resource) || (every != "*" && has(list, every));
}

Value text_row(std::string_view object, std::string_view text) {
  return Value::object({{"object", clipped(object, kLongestText)}, {"text", clipped(text, kLongestText)}});
}

// "read secrets", "everything": for people, and whether an account with it can become more than it is
// (kubernetes.io/docs/concepts/security/rbac-good-practices).
struct Right {
  std::string words;
  bool broad = false;
};

Right right_of(const Value& rule) {
  const auto verbs = texts(rule, "verbs"), resources = texts(rule, "resources");
  const auto urls = texts(rule, "nonResourceURLs");
  if (!urls.empty()) return {fmt::format("{} {}", join(verbs, ", "), join(urls, ", ")), has(urls, "*")};
  auto groups = texts(rule, "apiGroups");
  std::erase(groups, "");
  std::string words = fmt::format("{} {}", has(verbs, "*") ? "everything with" : join(verbs, ", "),
                                  has(resources, "*") ? "all resources" : join(resources, ", "));
  if (!groups.empty())
    words += has(groups, "*") ? " of all API groups" : fmt::format(" of {}", join(groups, ", "));
  const auto names = texts(rule, "resourceNames");
  if (!names.empty()) words += fmt::format(", only {}", join(names, ", "));
  const auto any = [&](std::initializer_list<std::string_view> wanted) {
    return std::ranges::any_of(wanted, [&](std::string_view each) { return has(verbs, each); });
  };
  const bool reads = any({"*", "get", "list", "watch"}), makes = any({"*", "create", "update", "patch"});
  const bool escalates = any({"escalate", "bind", "impersonate"});
  const auto any_of = [&](std::initializer_list<std::string_view> wanted) {
    return std::ranges::any_of(wanted, [&](std::string_view each) { return has_resource(resources, each); });
  };
  // Over a WebSocket, exec and attach are asked for with GET.
  const bool takes_over =
      ((makes || reads) && any_of({"pods/exec", "pods/attach", "nodes/proxy"})) ||
      (makes && any_of({"pods/ephemeralcontainers", "serviceaccounts/token", "mutatingwebhookconfigurations",
                        "clusterrolebindings", "rolebindings"}));
  const bool secrets = reads && has(resources, "secrets") && names.empty();
  return {std::move(words), has(verbs, "*") || has(resources, "*") || escalates || takes_over || secrets};
}

// Of a list that is cut the heaviest stay.
struct Row {
  Value value = {};
  int weight = 0;
};

class Report {
 public:
  void look(const Object& object) {
    const std::string name = object.key().display();
    const auto& gvk = object.gvk();
    if (const Value* const pod = apply::pod_template(object)) workload(name, *pod);
    if (gvk.group == "rbac.authorization.k8s.io") rights(name, object);
    for_cluster(name, object);
    exposed(name, object);
  }

  Value take() {
    Value report = Value::object();
    if (!workloads_.empty()) report.set("level", apimachinery::to_string(level_));
    Value left_out = Value::object();
    const auto list = [&](std::string_view key, std::string_view sorted_by, std::vector<Row>& rows) {
      // Very many harmless ones hide none that isn't.
      if (rows.size() > kMost) {
        left_out.set(key, Value(rows.size() - kMost));
        std::ranges::stable_sort(rows, std::greater(), &Row::weight);
        rows.resize(kMost);
      }
      std::ranges::stable_sort(rows, {},
                               [&](const Row& each) { return std::string(each.value.string_at(sorted_by)); });
      Value items = Value::array();
      for (Row& each : rows) items.push_back(std::move(each.value));
      report.set(key, std::move(items));
    };
    std::vector<Row> images;
    for (const std::string& image : images_) {
      const bool fixed = image.find("@sha256:") != std::string::npos;
      images.push_back(
          {Value::object({{"image", clipped(image, kLongestText)}, {"fixed", Value(fixed)}}), fixed ? 0 : 1});
    }
    list("workloads", "object", workloads_);
    list("rights", "object", rights_);
    list("cluster", "object", cluster_);
    list("exposed", "object", exposed_);
    list("images", "image", images);
    report.set("leftOut", std::move(left_out));
    return report;
  }

 private:
  void workload(const std::string& name, const Value& pod) {
    const auto faults = apimachinery::pod_security_faults(pod);
    const PodSecurity level = apimachinery::level_of(faults);
    level_ = std::max(level_, level);
    std::set<std::string> reasons;
    for (const auto& fault : faults)
      if (fault.needs == level)
        reasons.insert(fault.place.empty() ? fault.what : fmt::format("{}: {}", fault.place, fault.what));
    Value because = Value::array();
    for (const std::string& each : reasons) {
      if (because.size() == kMostReasons) break;
      because.push_back(clipped(each, kLongestText));
    }
    workloads_.push_back({Value::object({{"object", clipped(name, kLongestText)},
                                         {"level", apimachinery::to_string(level)},
                                         {"because", std::move(because)}}),
                          static_cast<int>(level)});
    for (const std::string_view list : {"initContainers", "containers"}) {
      const Value* const containers = pod.at_path({"spec", list});
      if (containers == nullptr || !containers->is_array()) continue;
      for (const Value& each : containers->as_array())
        if (const std::string_view image = each.string_at("image"); !image.empty()) images_.emplace(image);
    }
  }

  void add_right(const std::string& name, const Right& right) {
    Value made = text_row(name, right.words);
    made.set("broad", Value(right.broad));
    rights_.push_back({std::move(made), right.broad ? 1 : 0});
  }

  void rights(const std::string& name, const Object& object) {
    const Value& value = object.value();
    if (const Value* const rules = value.find("rules"); rules != nullptr && rules->is_array())
      for (const Value& rule : rules->as_array()) add_right(name, right_of(rule));
    aggregated(name, value);
    bound_role(name, value);
    bound_to_everybody(name, value);
  }

  // Rights that go from one ClusterRole to another by their labels.
  void aggregated(const std::string& name, const Value& value) {
    if (value.find("aggregationRule") != nullptr)
      add_right(name, {"everything that ClusterRoles with certain labels may do, now or later", true});
    constexpr std::string_view kInto = "rbac.authorization.k8s.io/aggregate-to-";
    const Value* const labels = value.at_path({"metadata", "labels"});
    if (labels == nullptr || !labels->is_object()) return;
    for (const auto& [key, set] : labels->as_object())
      if (std::string_view(key).starts_with(kInto) && set == Value("true"))
        add_right(name, {fmt::format("its rights, for everybody who has the ClusterRole {}",
                                     std::string_view(key).substr(kInto.size())),
                         true});
  }

  // A role that it binds without bringing it.
  void bound_role(const std::string& name, const Value& value) {
    constexpr std::array<std::string_view, 3> kBroad{"cluster-admin", "admin", "edit"};
    // Everybody may have these, or they lead to nothing else.
    constexpr std::array<std::string_view, 6> kHarmless{
        "system:auth-delegator",     "system:basic-user", "system:discovery",
        "system:public-info-viewer", "system:monitoring", "system:service-account-issuer-discovery"};
    const std::string_view role = value.string_at({"roleRef", "name"});
    if (value.string_at({"roleRef", "kind"}) != "ClusterRole") return;
    const bool is_broad = std::ranges::find(kBroad, role) != kBroad.end() || role.starts_with("system:");
    if (is_broad && std::ranges::find(kHarmless, role) == kHarmless.end())
      add_right(name, {fmt::format("everything that the ClusterRole {} may do", role), true});
  }

  void bound_to_everybody(const std::string& name, const Value& value) {
    constexpr std::array<std::string_view, 4> kEverybody{"system:authenticated", "system:unauthenticated",
                                                         "system:anonymous", "system:serviceaccounts"};
    const Value* const subjects = value.find("subjects");
    if (subjects == nullptr || !subjects->is_array()) return;
    for (const Value& each : subjects->as_array()) {
      const std::string_view subject = each.string_at("name");
      if (each.string_at("kind") != "ServiceAccount" &&
          std::ranges::find(kEverybody, subject) != kEverybody.end())
        add_right(name, {fmt::format("the rights of {} {}, for everybody in {}",
                                     value.string_at({"roleRef", "kind"}),
                                     value.string_at({"roleRef", "name"}), subject),
                         true});
    }
  }

  void for_cluster(const std::string& name, const Object& object) {
    const std::string& kind = object.gvk().kind;
    const std::string& group = object.gvk().group;
    const Value& value = object.value();
    std::string words;
    if (group == "admissionregistration.k8s.io" && kind.ends_with("WebhookConfiguration"))
      words = kind.starts_with("Mutating") ? "is asked about objects that others write, and may change them"
                                           : "is asked about objects that others write, and may refuse them";
    else if (group == "admissionregistration.k8s.io")
      words = "decides about objects that others write";
    else if (group == "apiregistration.k8s.io")
      words = fmt::format("answers for the API {}", value.string_at({"spec", "group"}));
    else if (group == "apiextensions.k8s.io")
      words = fmt::format("defines the kind {} for the whole cluster",
                          value.string_at({"spec", "names", "kind"}));
    else if (kind == "PriorityClass" && group == "scheduling.k8s.io")
      words = "decides which Pods make room for others";
    else if (kind == "Namespace" && group.empty())
      words = "is a namespace of its own";
    // Requests and writes of others go through the first.
    const int weight = group == "admissionregistration.k8s.io" || group == "apiregistration.k8s.io" ? 2
                       : group == "apiextensions.k8s.io"                                            ? 1
                                                                                                    : 0;
    if (!words.empty()) cluster_.push_back({text_row(name, words), weight});
  }

  void exposed(const std::string& name, const Object& object) {
    const Value& value = object.value();
    const std::string& kind = object.gvk().kind;
    std::string words;
    if (kind == "Service" && object.gvk().group.empty()) {
      const std::string_view type = value.string_at({"spec", "type"});
      if (type == "LoadBalancer") words = "has an address outside of the cluster (LoadBalancer)";
      if (type == "NodePort") words = "has a port on every node (NodePort)";
    } else if (kind == "Ingress" || kind == "HTTPRoute" || kind == "GRPCRoute" || kind == "Gateway") {
      words = "takes requests from outside of the cluster";
    }
    if (!words.empty()) exposed_.push_back({text_row(name, words)});
  }

  PodSecurity level_ = PodSecurity::Restricted;
  std::vector<Row> workloads_, rights_, cluster_, exposed_;
  std::set<std::string> images_;
};

const Value::Array& items(const Value& report, std::string_view key) {
  static const Value::Array kNone;
  const Value* const found = report.find(key);
  return found != nullptr && found->is_array() ? found->as_array() : kNone;
}

// Of a list that was cut.
Markup left_out(const Value& report, std::string_view key) {
  const std::int64_t count = report.int_at({"leftOut", key});
  if (count <= 0) return {};
  return markup("<p class=\"soft\">{} more {} not shown.</p>\n", count, count == 1 ? "is" : "are");
}

Markup table(std::string_view title, const Markup& rows, const Markup& below) {
  if (rows.empty()) return {};
  return markup(
      "<h3>{0}</h3>\n<div class=\"wide\" tabindex=\"0\" role=\"group\" aria-label=\"{0}\">"
      "<table class=\"stacked\">\n{1}</table></div>\n{2}",
      title, rows, below);
}

Markup rows_of(const Value& report, std::string_view key) {
  Markup rows;
  for (const Value& each : items(report, key)) {
    const Value* const broad = each.find("broad");
    rows += markup(
        "<tr><th scope=\"row\">{}</th><td>{}{}</td></tr>\n", each.string_at("object"), each.string_at("text"),
        broad != nullptr && *broad == Value(true) ? markup(" <span class=\"state queued\">broad</span>")
                                                  : Markup());
  }
  return rows;
}

// A level, in the colour of how much it keeps apart.
Markup level_mark(std::string_view level) {
  const std::string_view tone = level == "restricted" ? "passed" : level == "baseline" ? "queued" : "failed";
  return markup("<span class=\"state {}\">{}</span>", tone, level);
}

}  // namespace

Value security_report(const std::vector<release::RenderedObject>& objects) {
  Report report;
  for (const release::RenderedObject& each : objects) report.look(each.object);
  return report.take();
}

Markup security_section(const Value& report) {
  if (!report.is_object()) return {};
  Markup out = markup("<h2 id=\"security\">Security</h2>\n");
  const std::string_view level = report.string_at("level");
  if (level.empty())
    out += markup("<p>It brings no Pods.</p>\n");
  else
    out += markup(
        "<p>With its default values, its Pods need a namespace with this <a href=\"{}\">Pod Security "
        "level</a>: {}</p>\n",
        "https://kubernetes.io/docs/concepts/security/pod-security-standards/", level_mark(level));
  Markup workloads;
  for (const Value& each : items(report, "workloads")) {
    Markup reasons;
    for (const Value& because : items(each, "because"))
      if (because.is_string()) reasons += markup("<li>{}</li>\n", because.as_string());
    workloads += markup("<tr><th scope=\"row\">{}</th><td>{}{}</td></tr>\n", each.string_at("object"),
                        level_mark(each.string_at("level")),
                        reasons.empty() ? Markup() : markup("<ul>\n{}</ul>", reasons));
  }
  out += table("Pods", workloads, left_out(report, "workloads"));
  out += table("Rights that it gives to its accounts", rows_of(report, "rights"), left_out(report, "rights"));
  if (std::ranges::any_of(items(report, "rights"),
                          [](const Value& each) { return each.is_true_at("broad"); }))
    out += markup(
        "<p class=\"soft\">Broad rights lead to more than they name: to secrets, or to other rights.</p>\n");
  out += table("Effects on the whole cluster", rows_of(report, "cluster"), left_out(report, "cluster"));
  out += table("Exposed to the outside", rows_of(report, "exposed"), left_out(report, "exposed"));
  Markup images;
  for (const Value& each : items(report, "images")) {
    const Value* const fixed = each.find("fixed");
    images +=
        markup("<li><code>{}</code>{}</li>\n", each.string_at("image"),
               fixed != nullptr && *fixed == Value(true) ? "" : ", which may change: it names no digest");
  }
  if (!images.empty())
    out += markup("<h3>Images</h3>\n<ul>\n{}</ul>\n{}", images, left_out(report, "images"));
  return out;
}

}  // namespace mist::catalog
