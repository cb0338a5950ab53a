#pragma once
// Object: one Kubernetes object as data (client-go's Unstructured), whose apiVersion, kind and name are known
// to be there; and ObjectKey, its identity. Plain values; any thread for const use.

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "apimachinery/gvk.h"
#include "base/result.h"
#include "encoding/value.h"

namespace mist::apimachinery {

/// The identity of an object: the version of the API isn't part of it.
struct ObjectKey {
  GroupKind group_kind;
  std::string ns;  ///< empty: cluster-scoped
  std::string name;

  /// "Deployment shop/api", "Namespace shop".
  std::string display() const;
  friend auto operator<=>(const ObjectKey&, const ObjectKey&) = default;
};

/// Whether a live object is being deleted: finalizers, or its Pods' grace, may still hold it.
bool is_terminating(const encoding::Value& live);
bool has_finalizers(const encoding::Value& live);  ///< of anybody

class Object {
 public:
  /// Takes a mapping with apiVersion, kind and metadata.name. Invalid (with the value's line) otherwise; a
  /// `generateName` without name is refused, since an object without a fixed name can't be owned.
  static Result<Object> from_value(encoding::Value value);

  const GroupVersionKind& gvk() const { return gvk_; }
  std::string_view name() const { return value_.string_at({"metadata", "name"}); }
  std::string_view ns() const { return value_.string_at({"metadata", "namespace"}); }
  std::string_view uid() const { return value_.string_at({"metadata", "uid"}); }
  std::string_view resource_version() const { return value_.string_at({"metadata", "resourceVersion"}); }
  ObjectKey key() const;

  std::string_view label(std::string_view key) const { return value_.string_at({"metadata", "labels", key}); }
  std::string_view annotation(std::string_view key) const {
    return value_.string_at({"metadata", "annotations", key});
  }
  void set_label(std::string_view key, std::string_view text) { value_["metadata"]["labels"].set(key, text); }
  void set_annotation(std::string_view key, std::string_view text) {
    value_["metadata"]["annotations"].set(key, text);
  }
  void set_namespace(std::string_view ns) { value_["metadata"].set("namespace", ns); }

  const encoding::Value& value() const { return value_; }
  encoding::Value& mutable_value() { return value_; }
  encoding::Value take() && { return std::move(value_); }

 private:
  Object(GroupVersionKind gvk, encoding::Value value) : gvk_(std::move(gvk)), value_(std::move(value)) {}
  GroupVersionKind gvk_;
  encoding::Value value_;
};

/// The kind whose objects define kinds.
inline const GroupKind kCustomResourceDefinition{"apiextensions.k8s.io", "CustomResourceDefinition"};
inline const GroupKind kNamespace{"", "Namespace"};
inline const GroupKind kSecret{"", "Secret"};
/// The kind that such an object defines.
GroupKind defined_kind(const encoding::Value& definition);

/// An object and where it comes from.
struct RenderedObject {
  Object object;
  std::string file;  ///< inside the package's result
  std::uint32_t line =
      0;  ///< from 1, in source_file(), as the positions of the object's values are; 0: unknown
  std::string source = {};  ///< the package's file that made it, or `file` with kRenderedMark; empty: `file`
  /// Of a called package: the path of packages to it, "platform → mariadb"; empty: the release's own.
  std::string package = {};

  /// For people: the file that lines are of.
  const std::string& source_file() const { return source.empty() ? file : source; }
  /// Of the object, or of a value in it with that position.
  SourceLocation place() const { return place({}); }
  SourceLocation place(encoding::Position position) const {
    const bool inside = line != 0 && position.line != 0;
    return {source_file(), inside ? position.line : line, inside ? position.column : 0, {}, package};
  }
};

/// Replaces every `kind: List` (and `…List` with items) by its items, recursively.
Result<std::vector<encoding::Value>> flatten_lists(std::vector<encoding::Value> documents);

}  // namespace mist::apimachinery
