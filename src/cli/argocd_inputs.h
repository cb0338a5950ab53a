#pragma once
// The inputs of a package as Argo CD announces the parameters of a plugin: flat, with names such as
// "image.tag", each a text, a list of texts or a map of texts. Inputs of another form (lists of objects, maps
// of lists) have no such parameter; values files give them. Pure; any thread.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "encoding/value.h"
#include "package/metadata.h"

namespace mist::cli {

/// Parameters of the plugin itself, whatever the package is. An input of that name is set by `set`.
inline constexpr std::string_view kArgoPackage = "package", kArgoValues = "values", kArgoSet = "set";

/// Argo CD's collectionType.
enum class ArgoCollection : std::uint8_t { One, List, Map };
/// Argo CD's itemType: how the texts of a parameter become values. Any: as --set reads them.
enum class ArgoItem : std::uint8_t { Any, Text, Number, Boolean };

struct ArgoInput {
  std::string name;         ///< as --set would write it: "image.tag"
  std::string title;        ///< the schema's; empty: none
  std::string description;  ///< may hold anything
  bool required = false;    ///< it has no default
  ArgoCollection collection = ArgoCollection::One;
  ArgoItem item = ArgoItem::Any;
  encoding::Value fallback;  ///< its default; null: none
};

/// Those of the package's schema and of its default values, in their order. `chart`: its name and namespace
/// aren't inputs that the release gives.
std::vector<ArgoInput> argo_inputs(const package::Metadata& metadata, bool chart);

/// A ParameterAnnouncement of Argo CD's API, in JSON.
encoding::Value to_announcement(const ArgoInput& input);
/// Those of kArgoPackage, kArgoValues and kArgoSet: a list.
encoding::Value static_announcements();

}  // namespace mist::cli
