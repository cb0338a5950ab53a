#pragma once
// MistOrder: a document by which a package declares what comes before what, beside the objects that it is
// about. It becomes the annotations mistletoe.dev/after and mistletoe.dev/before of those objects, so that
// everything that follows (the record, the cluster, `mistctl graph`) knows one form only. docs/order.md has
// the format. Pure; any thread.

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "apimachinery/name_index.h"
#include "apimachinery/object.h"
#include "base/result.h"
#include "encoding/value.h"

namespace mist::package {

/// Whether a rendered document is one of ours and no object.
bool is_order_document(const encoding::Value& document);

/// Collects what order documents declare about objects. One thread.
class OrderDeclarations {
 public:
  /// `objects` outlives this, and only this changes it.
  explicit OrderDeclarations(std::vector<apimachinery::RenderedObject>& objects);

  /// Invalid, with line and column in the document: what it may not say, an object that isn't among them or
  /// isn't the only one of that name.
  Status add(const encoding::Value& document);

  /// Writes all of it into the annotations of the objects.
  void write();

 private:
  Result<std::size_t> find(const encoding::Value& name) const;
  Status declare(const encoding::Value& entry);

  std::vector<apimachinery::RenderedObject>& objects_;
  apimachinery::NameIndex names_;
  std::map<std::pair<std::size_t, std::string_view>, std::string> targets_;  // by object and annotation
};

}  // namespace mist::package
