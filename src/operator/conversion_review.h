#pragma once
// ConversionReview of apiextensions.k8s.io/v1: what the API server asks of a conversion webhook, and the
// answer. An answer can't change what an object is, by its construction: of the metadata only labels and
// annotations come from the functions. Pure; any thread.

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "encoding/value.h"

namespace mist::operator_ {

using encoding::Value;

struct ConversionReview {
  std::string uid;
  std::string group, version;  ///< that is wanted
  std::vector<Value> objects;  ///< objects of that group; each says its version

  /// Of a request's body. Errors: Invalid: it is no such review.
  static Result<ConversionReview> parse(std::string_view body);
};

/// "v1" of an object that has apiVersion: example.com/v1.
std::string version_of(const Value& object);

/// The object with these parts, in another version: everything else is as it was.
Value with_parts(Value object, const std::string& api_version, const Value& parts);

/// The bodies of answers: the converted objects, in the order of the review's; or why there are none.
std::string converted_answer(const std::string& uid, std::vector<Value> objects);
std::string failed_answer(const std::string& uid, const Error& failure);

}  // namespace mist::operator_
