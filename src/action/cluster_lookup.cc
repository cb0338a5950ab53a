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

bool granted(const LookupGrant& grant, std::string_view ns) {
  if (std::ranges::find(grant.more, LookupGrant::kEverything) != grant.more.end()) return true;
  return !ns.empty() && (ns == grant.ns || std::ranges::find(grant.more, ns) != grant.more.end());
}

}  // namespace

Result<Value> cluster_lookup(kube::Client& client, const LookupGrant& grant, const Value& request,
                             const Context& context) {
  MIST_TRY(const Wanted wanted, parse(request));
  // Before the cluster is asked: what isn't granted learns nothing, not even whether there is such a kind.
  if (!granted(grant, wanted.ns))
    return error(ErrorKind::Forbidden, "{} is not granted: the package may look into namespace {} only",
                 shown(wanted), grant.ns)
        .with_hint(wanted.ns.empty()
                       ? "if it may see the whole cluster, add --allow-lookup '*'"
                       : fmt::format("if it may, add --allow-lookup {}", escape_controls(wanted.ns)));
  const std::size_t slash = wanted.api_version.find('/');
  const std::string group = slash == std::string::npos ? "" : wanted.api_version.substr(0, slash);
  const std::string version =
      slash == std::string::npos ? wanted.api_version : wanted.api_version.substr(slash + 1);
  auto resource = client.resource_for({group, wanted.kind}, version, context);
  if (!resource.ok() && resource.error().kind == ErrorKind::NotFound)
    return error(ErrorKind::Invalid, "{}: the cluster has no such kind", shown(wanted));
  if (!resource.ok())
    return std::move(resource).error().with_frame(fmt::format("while answering {}", shown(wanted)));
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
