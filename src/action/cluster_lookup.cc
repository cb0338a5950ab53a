#include "action/cluster_lookup.h"

#include <algorithm>

#include "base/text.h"
#include "release/store.h"

namespace mist::action {
namespace {

using kube::Value;
using package::LookupAsker;
using render::LookupAnswer;
using render::LookupScope;

constexpr std::size_t kLongestText = 1024;

struct Wanted {
  std::string api_version, kind, ns, name;
};

Result<Wanted> parse(const Value& request) {
  Wanted wanted;
  for (const auto& [key, text] : {std::pair{"apiVersion", &wanted.api_version},
                                  {"kind", &wanted.kind},
                                  {"namespace", &wanted.ns},
                                  {"name", &wanted.name}}) {
    const Value* const value = request.find(key);
    if (value == nullptr || value->is_null()) continue;
    if (!value->is_string() || value->as_string().size() > kLongestText)
      return error(ErrorKind::Invalid, "lookup: \"{}\" must be a text of at most {} bytes", key,
                   kLongestText);
    *text = value->as_string();
  }
  if (wanted.api_version.empty() || wanted.kind.empty())
    return error(ErrorKind::Invalid, "lookup: it needs an apiVersion and a kind");
  return wanted;
}

std::string shown(const Wanted& wanted) {
  std::string text = fmt::format("lookup {} {}", wanted.api_version, wanted.kind);
  if (!wanted.name.empty()) text += ' ' + wanted.name;
  if (!wanted.ns.empty()) text += fmt::format(" in namespace {}", wanted.ns);
  return escape_controls(text);
}

bool is_secret(const apimachinery::GroupKind& kind) { return kind == apimachinery::kSecret; }

// The seeds and values of all releases stand in their records.
bool is_record(const apimachinery::GroupKind& kind, const Value& object) {
  return is_secret(kind) && apply::is_record(object);
}

bool is_declared(const LookupAsker& asker, const apimachinery::GroupKind& kind, std::string_view ns,
                 std::string_view name, std::string_view release_namespace) {
  return asker.is_chart || std::ranges::any_of(asker.needs, [&](const std::string& text) {
           const auto pattern = package::LookupPattern::parse(text);
           return pattern.ok() && pattern->covers(kind, ns, name, release_namespace);
         });
}

enum class Standing : std::uint8_t { Own, Granted, ToBeTaken, Refused };

class Answerer {
 public:
  Answerer(const LookupScope& scope, const LookupAsker& asker, const Wanted& wanted,
           const kube::ResourceInfo& resource)
      : scope_(scope), asker_(asker), wanted_(wanted), resource_(resource) {}

  Status take(Value object) {
    apimachinery::ObjectKey key{kind(), std::string(object.string_at({"metadata", "namespace"})),
                                std::string(object.string_at({"metadata", "name"}))};
    switch (standing(key, object)) {
      case Standing::Refused:
        return refusal(key.ns, wanted_.name.empty() ? "" : key.name);
      case Standing::ToBeTaken:
        answer_.to_be_taken.push_back(std::move(key));
        break;
      case Standing::Own:
      case Standing::Granted:
        break;
    }
    taken_.push_back(std::move(object));
    return {};
  }

  LookupAnswer object() {
    if (!taken_.empty()) answer_.value = std::move(taken_.front());
    return std::move(answer_);
  }
  LookupAnswer list() {
    // Without the list's resourceVersion, which changes with anything in the cluster.
    answer_.value = Value::object({{"apiVersion", wanted_.api_version},
                                   {"kind", wanted_.kind + "List"},
                                   {"metadata", Value::object()},
                                   {"items", Value(std::move(taken_))}});
    return std::move(answer_);
  }

  Error refusal(std::string_view ns, std::string_view name) const {
    // Of a list: what it asked for, which may be all namespaces.
    const std::string_view place = wanted_.name.empty() ? std::string_view(wanted_.ns) : ns;
    Error failure = render::lookup_not_granted(kind(), resource_.namespaced ? place : "", name, scope_);
    failure.frames.push_back(fmt::format("while answering {}", shown(wanted_)));
    if (!is_declared(asker_, kind(), place, name, scope_.release.ns)) {
      failure.because = fmt::format("{} doesn't declare that it reads that", asker_.reference);
      failure.hint += fmt::format("; and its author declares it: spec.needs.clusterRead: [\"{}\"]",
                                  escape_controls(package::lookup_pattern_for(
                                      kind(), place == scope_.release.ns ? "." : place, name)));
    }
    return failure;
  }

 private:
  apimachinery::GroupKind kind() const { return resource_.gvk.group_kind(); }

  Standing standing(const apimachinery::ObjectKey& key, const Value& object) const {
    const std::string_view part_of = object.string_at({"metadata", "labels", apply::kPartOfLabel});
    if (part_of == apply::apply_set_id(scope_.release)) return Standing::Own;
    if (scope_.grants.cover(key.group_kind, key.ns, key.name, scope_.release.ns) &&
        is_declared(asker_, key.group_kind, key.ns, key.name, scope_.release.ns))
      return Standing::Granted;
    const bool taken = (scope_.adopt && part_of.empty()) ||
                       (scope_.take_over_from && part_of == apply::apply_set_id(*scope_.take_over_from));
    return taken ? Standing::ToBeTaken : Standing::Refused;
  }

  const LookupScope& scope_;
  const LookupAsker& asker_;
  const Wanted& wanted_;
  const kube::ResourceInfo& resource_;
  LookupAnswer answer_;
  Value::Array taken_;
};

}  // namespace

Result<LookupAnswer> cluster_lookup(kube::Client& client, const LookupScope& scope, const LookupAsker& asker,
                                    const Value& request, const Context& context) {
  MIST_TRY(const Wanted wanted, parse(request));
  const std::string frame = fmt::format("while answering {}", shown(wanted));
  MIST_TRY(const auto gvk, apimachinery::GroupVersionKind::parse(wanted.api_version, wanted.kind).in(frame));
  auto resource = client.resource_for(gvk.group_kind(), gvk.version, context);
  if (!resource.ok() && resource.error().kind == ErrorKind::NotFound)
    return error(ErrorKind::Invalid, "{}: the cluster has no such kind", shown(wanted));
  if (!resource.ok()) return std::move(resource).error().with_frame(frame);
  const apimachinery::GroupKind kind = resource->gvk.group_kind();
  Answerer answerer(scope, asker, wanted, *resource);
  if (wanted.name.empty()) {
    kube::ListOptions options;
    options.ns = resource->namespaced ? wanted.ns : "";
    auto list = client.list(*resource, options, context);
    if (!list.ok()) return std::move(list).error().with_frame(frame);
    for (Value& item : list->items) {
      if (!is_record(kind, item)) MIST_TRY_VOID(answerer.take(std::move(item)));
    }
    return answerer.list();
  }
  // In no namespace there is no object of a kind that has one.
  if (resource->namespaced && wanted.ns.empty()) return LookupAnswer{};
  if (is_secret(kind) && apply::is_record_name(wanted.name))
    return error(ErrorKind::Forbidden, "the package may not read Secret {} in namespace {}",
                 escape_controls(wanted.name), escape_controls(wanted.ns))
        .with_because("it is the record of a release, which no package is shown")
        .with_frame(frame);
  auto object = client.get({*resource, resource->namespaced ? wanted.ns : "", wanted.name}, context);
  if (!object.ok() && object.error().kind == ErrorKind::NotFound) return LookupAnswer{};
  if (!object.ok()) return std::move(object).error().with_frame(frame);
  if (is_record(kind, *object))
    return error(ErrorKind::Forbidden, "the package may not read Secret {} in namespace {}",
                 escape_controls(wanted.name), escape_controls(wanted.ns))
        .with_because("it is a part of the record of a release, which no package is shown")
        .with_frame(frame);
  MIST_TRY_VOID(answerer.take(*std::move(object)));
  return answerer.object();
}

}  // namespace mist::action
