#pragma once
// Which objects of a cluster a package says that it reads (`spec.needs.clusterRead`), and which of them its
// user lets it read (--allow-lookup): one grammar for both, NAMESPACE[/KIND[.GROUP][/NAME]]. Pure; any
// thread.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apimachinery/gvk.h"
#include "base/result.h"
#include "encoding/value.h"

namespace mist::package {

struct LookupPattern {
  static constexpr std::string_view kAny = "*";
  static constexpr std::string_view kOwnNamespace = ".";

  std::string ns;                         ///< "*": all, and what is in none; ".": the release's
  std::string kind = std::string(kAny);   ///< "*": all
  std::optional<std::string> group = {};  ///< nullopt: any
  std::string name = std::string(kAny);   ///< "*": all

  /// Invalid: another form.
  static Result<LookupPattern> parse(std::string_view text);
  /// The same for Secrets, NAMESPACE[/NAME]: every other part is theirs.
  static Result<LookupPattern> parse_secrets(std::string_view text);

  /// Whether the object is one of them. `ns` is empty for what is in no namespace.
  bool covers(const apimachinery::GroupKind& kind, std::string_view ns, std::string_view name,
              std::string_view release_namespace) const;
};

/// The pattern for exactly that: an empty `name` stands for all names, an empty `ns` for every namespace.
std::string lookup_pattern_for(const apimachinery::GroupKind& kind, std::string_view ns,
                               std::string_view name);

/// Which package asks, and what it declares.
struct LookupAsker {
  std::string reference;
  /// A template's call names what it reads; other packages declare it.
  bool is_chart = false;
  std::vector<std::string> needs = {};  ///< patterns
};

/// Answers {"apiVersion", "kind", "namespace", "name"}. Forbidden: it isn't granted, and the render fails,
/// whatever the guest makes of that.
using Lookup = std::function<Result<encoding::Value>(const LookupAsker&, const encoding::Value& request)>;

}  // namespace mist::package
