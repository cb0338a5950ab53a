#include "package/lint_types.h"

#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"

namespace mist::package {
namespace {

using apimachinery::GroupKind;
using apimachinery::KindFacts;
using apimachinery::KindState;
using apimachinery::KubeTypes;
using apimachinery::RenderedObject;
using apimachinery::SchemaProblem;

class TypeLint {
 public:
  explicit TypeLint(const KubeTypes& types) : types_(types) {}

  std::vector<Finding> run(const Rendered& rendered) {
    for (const RenderedObject& each : rendered.objects) {
      if (each.object.gvk().group_kind() == apimachinery::kCustomResourceDefinition)
        defined_.insert(apimachinery::defined_kind(each.object.value()));
    }
    noted_ = defined_;
    for (const RenderedObject& each : rendered.objects) one(each);
    return std::move(found_);
  }

 private:
  void one(const RenderedObject& each) {
    KindFacts facts = types_.facts(each.object.gvk());
    switch (facts.state) {
      case KindState::Known:
        return fields(each);
      case KindState::Deprecated:
        add("deprecated-version", each, std::move(facts.words));
        return fields(each);
      case KindState::Gone:
        return add("removed-version", each, std::move(facts.words));
      case KindState::Unknown:
        if (defined_.contains(each.object.gvk().group_kind())) return;
        return add("unknown-kind", each, std::move(facts.words));
      case KindState::Foreign:
        return note(each);
    }
  }

  void add(std::string_view rule, const RenderedObject& at, std::string words) {
    const encoding::Value* const version = at.object.value().find("apiVersion");
    const encoding::Position place = version == nullptr ? encoding::Position() : version->position();
    found_.push_back(finding_at(rule, at, place, fmt::format("{}: {}", at.object.key().display(), words)));
  }

  void fields(const RenderedObject& each) {
    for (const SchemaProblem& problem : types_.problems(each.object))
      found_.push_back(finding_at("field", each, problem.position,
                                  fmt::format("{}: {}", each.object.key().display(), problem.words())));
  }

  void note(const RenderedObject& each) {
    const GroupKind kind = each.object.gvk().group_kind();
    if (!noted_.insert(kind).second) return;
    std::vector<std::string_view> siblings;
    for (const GroupKind& defined : defined_)
      if (defined.group == kind.group) siblings.push_back(defined.kind);
    if (const std::string_view meant = nearest(kind.kind, siblings); !meant.empty())
      return add("unknown-kind", each,
                 fmt::format("no CRD of the package defines {} (did you mean {}?)", to_string(kind), meant));
    add("unchecked", each,
        fmt::format("no CRD of the package defines {}, so that its fields are not checked", to_string(kind)));
  }

  const KubeTypes& types_;
  std::set<GroupKind> defined_;  // by the package's CRDs
  std::set<GroupKind> noted_;    // and those
  std::vector<Finding> found_;
};

}  // namespace

std::vector<Finding> lint_types(const Rendered& rendered, const KubeTypes& types) {
  return TypeLint(types).run(rendered);
}

}  // namespace mist::package
