#include "package/resemblance.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/some_of.h"
#include "base/text.h"
#include "base/tree.h"
#include "encoding/yaml.h"
#include "package/engine.h"

namespace mist::package {
namespace {

constexpr std::string_view kKustomizeGroup = "kustomize.config.k8s.io";

struct Resemblance {
  std::string message;
  std::string hint;
};

// In lower case and with the ending .yaml.
struct OtherName {
  std::string_view other;
  std::string_view right;
};
constexpr std::array kOtherNames{
    OtherName{"chart.yaml", "Chart.yaml"},
    OtherName{"kustomize.yaml", "kustomization.yaml"},
    OtherName{"kustomization.yaml", "kustomization.yaml"},
    OtherName{"kustomisation.yaml", "kustomization.yaml"},
    OtherName{"k3.yaml", "K3.yaml"},
};

// Flux has objects in files of the same names.
bool is_object_of_a_cluster(const std::string& text) {
  const Value document = encoding::parse_yaml(text, {}).value_or(Value());
  return document.is_object() && !document.string_at("kind").empty() &&
         document.string_at("apiVersion").find(kKustomizeGroup) == std::string_view::npos;
}

std::optional<Resemblance> misnamed(const Source& source, const Files& files) {
  for (const auto& [path, text] : files) {
    std::string name = lower_case(path);
    if (name.ends_with(".yml")) name.replace(name.size() - 3, 3, "yaml");
    const auto* const known = std::ranges::find(kOtherNames, name, &OtherName::other);
    if (known == kOtherNames.end() || is_object_of_a_cluster(text)) continue;
    return Resemblance{fmt::format("{} has a {} where {} is expected", source.reference,
                                   escape_controls(path), known->right),
                       fmt::format("rename {} to {}", escape_controls(path), known->right)};
  }
  return std::nullopt;
}

// The directories that are packages, without those inside of others.
std::vector<std::string> packages_below(const Files& files) {
  std::vector<std::string> found;
  for (const auto& [path, text] : files) {
    const auto slash = path.rfind('/');
    if (slash == std::string::npos || is_hidden_path(path)) continue;
    if (!path.ends_with(".yaml") && !path.ends_with(".yml")) continue;  // other files aren't read as objects
    if (engine_marked_by(path.substr(slash + 1)) == nullptr || is_object_of_a_cluster(text)) continue;
    found.push_back(path.substr(0, slash));
  }
  std::ranges::sort(found);
  std::vector<std::string> outer;
  for (std::string& each : found) {
    const bool inside = std::ranges::any_of(
        outer, [&](const std::string& other) { return each == other || each.starts_with(other + "/"); });
    if (!inside) outer.push_back(std::move(each));
  }
  return outer;
}

std::optional<Resemblance> of_its_directories(const Source& source, const Files& files) {
  constexpr std::size_t kMostNamed = 5;
  std::vector<std::string> below = packages_below(files);
  if (below.empty()) return std::nullopt;
  const bool one = below.size() == 1;
  for (std::string& each : below) each = fmt::format("{}/{}", source.reference, escape_controls(each));
  return Resemblance{
      fmt::format("{} is no package itself: its packages are in directories below it", source.reference),
      fmt::format("{} {}",
                  one ? "name that directory:" : "name one of them:", some_of(std::move(below), kMostNamed))};
}

std::optional<Resemblance> chart_without_its_file(const Source& source, const Files& files) {
  const bool templates = std::ranges::any_of(files, [](const auto& file) {
    return file.first.starts_with("templates/") &&
           (file.first.ends_with(".tpl") || file.second.find("{{") != std::string::npos);
  });
  if (!templates) return std::nullopt;
  return Resemblance{
      fmt::format("{} has the templates of a Helm chart, but no Chart.yaml", source.reference),
      "add a Chart.yaml with apiVersion: v2, a name and a version, or name the chart's directory"};
}

}  // namespace

Error with_resemblance(Error failure, const Source& source, const Files& files) {
  if (failure.kind != ErrorKind::Invalid) return failure;
  std::optional<Resemblance> like = misnamed(source, files);
  if (!like) like = chart_without_its_file(source, files);
  if (!like) like = of_its_directories(source, files);
  if (!like) return failure;
  failure.frames.insert(failure.frames.begin(),
                        fmt::format("while reading it as plain Kubernetes YAML: {}", failure.message));
  failure.message = std::move(like->message);
  failure.hint = std::move(like->hint);
  return failure;
}

const apimachinery::RenderedObject* kustomize_object(
    const std::vector<apimachinery::RenderedObject>& objects) {
  const auto found = std::ranges::find_if(objects, [](const apimachinery::RenderedObject& each) {
    return each.object.gvk().group == kKustomizeGroup;
  });
  return found == objects.end() ? nullptr : &*found;
}

}  // namespace mist::package
