// Rules on what a package rendered.

#include <algorithm>
#include <array>
#include <set>

#include "apimachinery/built_in_groups.h"
#include "base/text.h"
#include "package/capabilities.h"
#include "package/lint.h"
#include "package/lint_hooks.h"
#include "package/lint_types.h"

namespace mist::package {
namespace {

using apimachinery::Object;
using apimachinery::RenderedObject;

constexpr std::array<std::string_view, 3> kContainerLists{"containers", "initContainers",
                                                          "ephemeralContainers"};

// "[registry:5000/]path[:tag][@digest]": the tag, empty if there is none.
std::string_view tag_of(std::string_view image) {
  const auto name = image.rfind('/');
  const auto colon = image.find(':', name == image.npos ? 0 : name);
  return colon == image.npos ? std::string_view() : image.substr(colon + 1);
}

class ObjectLint {
 public:
  ObjectLint(const Rendered& rendered, const EngineKind* engine, std::string_view ns,
             const apimachinery::KubeTypes* types)
      : rendered_(rendered), engine_(engine), ns_(ns), types_(types) {
    const Capabilities known = assumed_capabilities(std::string(kAssumedKubeVersion), {});
    served_.insert(known.api_versions.begin(), known.api_versions.end());
  }

  std::vector<Finding> run() {
    if (rendered_.objects.empty()) found_.push_back(finding("nothing", {}, 0, "it renders no object"));
    for (const RenderedObject& each : rendered_.objects) {
      home(each);
      api_version(each);
      // Helm drops a hook that it doesn't know: of charts only their text tells (lint_files.cc).
      if (!has_chart_values(engine_)) hooks(each);
      images(each, each.object.value());
    }
    if (types_ != nullptr) {
      for (Finding& each : lint_types(rendered_, *types_)) found_.push_back(std::move(each));
    }
    return std::move(found_);
  }

 private:
  void add(std::string_view rule, const RenderedObject& at, const Value& value, std::string message) {
    found_.push_back(finding_at(rule, at, value.position(), std::move(message)));
  }

  void home(const RenderedObject& each) {
    const std::string_view ns = each.object.ns();
    if (ns.empty() || ns == ns_) return;
    add("namespace", each, *each.object.value().at_path({"metadata", "namespace"}),
        fmt::format("{} is always in namespace {}, wherever the release is", each.object.key().display(),
                    ns));
  }

  void api_version(const RenderedObject& each) {
    const std::string version(each.object.value().string_at("apiVersion"));
    if (served_.contains(version) || !apimachinery::is_built_in_group(each.object.key().group_kind.group))
      return;
    // Of a version that there isn't at all, the types say more.
    if (types_ != nullptr && !types_->has(each.object.gvk())) return;
    add("api-version", each, *each.object.value().find("apiVersion"),
        fmt::format("{}: Kubernetes {} doesn't serve {} by default", each.object.key().display(),
                    types_ == nullptr ? std::string(kAssumedKubeVersion) : types_->minor().text(), version));
  }

  void hooks(const RenderedObject& each) {
    for (const std::string_view annotation : kHookAnnotations) {
      const Value* const value = each.object.value().at_path({"metadata", "annotations", annotation});
      if (value == nullptr || !value->is_string()) continue;
      for (const std::string& wrong : wrong_hook_words(annotation, value->as_string()))
        add("hook", each, *value, fmt::format("{}: {}", each.object.key().display(), wrong));
    }
  }

  void image(const RenderedObject& each, const Value& container) {
    const Value* const value = container.find("image");
    if (value == nullptr || !value->is_string()) return;
    const std::string& image = value->as_string();
    if (image.find('@') != image.npos) return;  // a digest never changes
    const std::string_view tag = tag_of(image);
    if (!tag.empty() && tag != "latest") return;
    add("image-tag", each, *value,
        fmt::format("{}: the image {} of container {} has {}: what runs would change by itself",
                    each.object.key().display(), image, container.string_at("name"),
                    tag.empty() ? "no tag" : "the tag latest"));
  }

  // Pods stand at other places in each kind, and in kinds of others: lists of that name are theirs.
  void images(const RenderedObject& each, const Value& value) {
    if (value.is_array()) {
      for (const Value& item : value.as_array()) images(each, item);
    }
    if (!value.is_object()) return;
    for (const Value::Member& member : value.as_object()) {
      if (std::ranges::find(kContainerLists, member.key) != kContainerLists.end() &&
          member.value.is_array()) {
        for (const Value& container : member.value.as_array()) image(each, container);
      }
      images(each, member.value);
    }
  }

  const Rendered& rendered_;
  const EngineKind* engine_;
  std::string_view ns_;
  const apimachinery::KubeTypes* types_;
  std::set<std::string> served_;
  std::vector<Finding> found_;
};

}  // namespace

std::vector<Finding> lint_objects(const Rendered& rendered, const EngineKind* engine, std::string_view ns,
                                  const apimachinery::KubeTypes* types) {
  return ObjectLint(rendered, engine, ns, types).run();
}

Finding finding_at(std::string_view rule, const RenderedObject& at, encoding::Position position,
                   std::string message) {
  const SourceLocation where = at.place(position);
  const bool known = !where.file.ends_with(kRenderedMark);
  return finding(rule, known ? where.file : at.file, known ? where.line : 0, std::move(message));
}

Finding finding_of_object(const Error& failure) {
  Finding found = finding_of("object", failure, "");
  if (found.file.ends_with(kRenderedMark)) {
    found.file.resize(found.file.size() - kRenderedMark.size());
    found.line = 0;
  }
  return found;
}

}  // namespace mist::package
