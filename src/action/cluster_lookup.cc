#include "action/cluster_lookup.h"

#include <algorithm>

#include "base/text.h"

namespace mist::action {
namespace {

using kube::Value;

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

bool is_everything_granted(const LookupGrant& grant) {
  return std::ranges::find(grant.more, LookupGrant::kEverything) != grant.more.end();
}

bool granted(const LookupGrant& grant, std::string_view ns) {
  if (is_everything_granted(grant)) return true;
  return !ns.empty() && (ns == grant.ns || std::ranges::find(grant.more, ns) != grant.more.end());
}

// `beyond`: a namespace; empty: more than one.
Error not_granted(const LookupGrant& grant, const Wanted& wanted, std::string_view beyond) {
  return error(ErrorKind::Forbidden, "{} is not granted: the package may look into namespace {} only",
               shown(wanted), grant.ns)
      .with_hint(beyond.empty() ? "if it may see the whole cluster, add --allow-lookup '*'"
                                : fmt::format("if it may, add --allow-lookup {}", escape_controls(beyond)));
}

}  // namespace

Result<Value> cluster_lookup(kube::Client& client, const LookupGrant& grant, const Value& request,
                             const Context& context) {
  MIST_TRY(const Wanted wanted, parse(request));
  // Before the cluster is asked: what isn't granted learns nothing, not even whether there is such a kind.
  if (!granted(grant, wanted.ns)) return not_granted(grant, wanted, wanted.ns);
  MIST_TRY(const auto gvk, apimachinery::GroupVersionKind::parse(wanted.api_version, wanted.kind)
                               .in(fmt::format("while answering {}", shown(wanted))));
  auto resource = client.resource_for(gvk.group_kind(), gvk.version, context);
  if (!resource.ok() && resource.error().kind == ErrorKind::NotFound)
    return error(ErrorKind::Invalid, "{}: the cluster has no such kind", shown(wanted));
  if (!resource.ok())
    return std::move(resource).error().with_frame(fmt::format("while answering {}", shown(wanted)));
  // What is in no namespace is in none that was granted, whatever the request says.
  if (!resource->namespaced && !is_everything_granted(grant)) return not_granted(grant, wanted, {});
  if (wanted.name.empty()) {
    kube::ListOptions options;
    options.ns = resource->namespaced ? wanted.ns : "";
    MIST_TRY(kube::ObjectList list,
             client.list(*resource, options, context).in(fmt::format("while answering {}", shown(wanted))));
    Value::Array items(std::make_move_iterator(list.items.begin()),
                       std::make_move_iterator(list.items.end()));
    // Without the list's resourceVersion, which changes with anything in the cluster.
    return Value::object({{"apiVersion", wanted.api_version},
                          {"kind", wanted.kind + "List"},
                          {"metadata", Value::object()},
                          {"items", Value(std::move(items))}});
  }
  auto object = client.get({*resource, wanted.ns, wanted.name}, context);
  if (!object.ok() && object.error().kind == ErrorKind::NotFound) return Value();
  return std::move(object).in(fmt::format("while answering {}", shown(wanted)));
}

}  // namespace mist::action
