#pragma once
// MistOrder: a document by which a package declares what comes before what, beside the objects that it is
// about. It becomes the annotations mistletoe.dev/after and mistletoe.dev/before of those objects, so that
// everything that follows (the record, the cluster, `mistctl graph`) knows one form only. docs/order.md has
// the format. Pure; any thread.

#include <vector>

#include "apimachinery/object.h"
#include "base/result.h"
#include "encoding/value.h"

namespace mist::package {

/// Whether a rendered document is one of ours and no object.
bool is_order_document(const encoding::Value& document);

/// Writes what the document declares into the annotations of `objects`. Invalid, with line and column in the
/// document: what it may not say, an object that isn't among them or isn't the only one of that name.
Status declare_order(const encoding::Value& document, std::vector<apimachinery::RenderedObject>& objects);

}  // namespace mist::package
