#pragma once
// The wishes of an Application of Argo CD to the plugin, by the variables that the cmp-server sets for its
// commands: ARGOCD_APP_PARAMETERS (the parameters, in JSON) and ARGOCD_ENV_PACKAGE, ARGOCD_ENV_VALUES and
// ARGOCD_ENV_SET (entries of `plugin.env`). All of it is written by people who may edit an Application but
// have no access to the sidecar, so nothing in it may name a file outside of the repository. PARAM_…, which
// says the same with less, isn't read. Pure; any thread.

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/fs.h"
#include "base/result.h"
#include "cli/argocd_inputs.h"
#include "package/values.h"

namespace mist::cli {

/// As Machine::environment.
using Environment = std::function<std::optional<std::string>(std::string_view name)>;

/// A variable of Argo CD's; empty: it isn't set, or empty, which Argo CD can't tell apart either.
std::string argo_variable(const Environment& environment, std::string_view name);

using ArgoTexts = std::variant<std::string, std::vector<std::string>, std::map<std::string, std::string>>;

struct ArgoRequest {
  /// Whether the Application has a `plugin` section. False for one that Argo CD looks for a plugin for, and
  /// for all before Argo CD 2.5.
  bool names_plugin = false;
  std::string package;                           ///< empty: the Application's directory
  std::vector<std::string> values = {};          ///< files, as they are given
  std::map<std::string, std::string> set = {};   ///< by path, as --set writes it
  std::map<std::string, ArgoTexts> inputs = {};  ///< the other parameters, by name

  /// Invalid: the parameters aren't Argo CD's, one is there twice, or `package`, `values` or `set` is of
  /// another form.
  static Result<ArgoRequest> read(const Environment& environment);
};

/// The values of `set` and of the inputs, each by the type that `known` says. Invalid: a name is no path, or
/// one value is set twice.
Result<std::vector<package::ValuesInput>> argo_values(const ArgoRequest& request,
                                                      std::span<const ArgoInput> known);

/// The name of an Application as that of a release: "team-a_web.eu" is "team-a-web-eu".
std::string argo_release_name(std::string application);

/// The directory of the repository that has `directory`, the Application's, at `source_path`
/// (ARGOCD_APP_SOURCE_PATH); `directory` itself where it doesn't: Argo CD sends the plugin a part of the
/// repository then.
Path argo_repository(const Path& directory, const Path& source_path);

/// Whether `reference` is one of those that begin with a `prefix`, at the end of a name: oci://host/team
/// allows oci://host/team/web:1 and oci://host/team:1, not oci://host/teams. "*" allows all.
bool argo_allows(std::string_view prefix, std::string_view reference);

}  // namespace mist::cli
