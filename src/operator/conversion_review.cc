#include "operator/conversion_review.h"

#include <array>

#include "base/text.h"
#include "blueprint/converted_parts.h"
#include "encoding/json.h"

namespace mist::operator_ {
namespace {

constexpr std::string_view kReviewApi = "apiextensions.k8s.io/v1", kReviewKind = "ConversionReview";
// The API server bounds requests to itself to 3 MB, and lists have no more of them than memory holds.
constexpr std::size_t kMostValues = 4'000'000;
// The server shows it to whoever asked for the object.
constexpr std::size_t kMostMessage = 2000;

struct ReasonWord {
  ErrorKind kind;
  std::string_view reason;
  int code;
};
// As metav1.Status has them.
constexpr std::array<ReasonWord, 5> kReasons{{{ErrorKind::NotFound, "NotFound", 404},
                                              {ErrorKind::Invalid, "Invalid", 422},
                                              {ErrorKind::Retryable, "TooManyRequests", 429},
                                              {ErrorKind::Timeout, "Timeout", 504},
                                              {ErrorKind::Trap, "InternalError", 500}}};

Error not_a_review(std::string_view why) {
  return error(ErrorKind::Invalid, "the request is no ConversionReview of {}: {}", kReviewApi, why);
}

std::string answer_text(Value response) {
  return encoding::to_json(
      Value::object({{"apiVersion", kReviewApi}, {"kind", kReviewKind}, {"response", std::move(response)}}));
}

}  // namespace

Result<ConversionReview> ConversionReview::parse(std::string_view body) {
  MIST_TRY(Value review, encoding::parse_json(body, {.max_values = kMostValues}));
  if (review.string_at("apiVersion") != kReviewApi || review.string_at("kind") != kReviewKind)
    return not_a_review("apiVersion and kind say something else");
  Value* const request = review.find("request");
  if (request == nullptr || request->string_at("uid").empty()) return not_a_review("it has no request.uid");
  ConversionReview asked;
  asked.uid = request->string_at("uid");
  const std::string_view desired = request->string_at("desiredAPIVersion");
  const auto slash = desired.find('/');
  if (slash == std::string_view::npos || slash == 0 || slash + 1 == desired.size())
    return not_a_review("request.desiredAPIVersion is no group and version");
  asked.group = desired.substr(0, slash);
  asked.version = desired.substr(slash + 1);
  Value* const objects = request->find("objects");
  // Go writes an empty list as null.
  if (objects == nullptr || objects->is_null()) return asked;
  if (!objects->is_array()) return not_a_review("request.objects is no list");
  asked.objects = std::move(objects->as_array());
  for (const Value& each : asked.objects) {
    const Value* const metadata = each.find("metadata");
    const bool is_odd = metadata != nullptr && !metadata->is_null() && !metadata->is_object();
    if (is_odd || version_of(each).empty())
      return not_a_review("one of request.objects has no apiVersion, or metadata that are no object");
  }
  return asked;
}

std::string version_of(const Value& object) {
  const std::string_view api = object.string_at("apiVersion");
  const auto slash = api.find('/');
  return slash == std::string_view::npos ? std::string() : std::string(api.substr(slash + 1));
}

Value with_parts(Value object, const std::string& api_version, const Value& parts) {
  object.set("apiVersion", api_version);
  // The server also asks about what is left of an object without the fields that an apply takes out, which
  // may have no metadata, and refuses an answer without.
  if (const Value* const metadata = object.find("metadata"); metadata == nullptr || metadata->is_null())
    object.set("metadata", Value::object());
  for (const std::string_view name : blueprint::kConvertedMaps) {
    Value given = Value::object();
    if (const Value* const before = object.at_path({"metadata", name});
        before != nullptr && before->is_object())
      for (const Value::Member& each : before->as_object())
        if (each.key.starts_with(blueprint::kReservedPrefix)) given.set(each.key, each.value);
    if (const Value* const told = parts.find(name); told != nullptr && told->is_object())
      for (const Value::Member& each : told->as_object())
        if (!each.key.starts_with(blueprint::kReservedPrefix)) given.set(each.key, each.value);
    if (given.empty())
      object["metadata"].erase(name);
    else
      object["metadata"].set(name, std::move(given));
  }
  for (const std::string_view name : blueprint::kConvertedRecords) {
    const Value* const told = parts.find(name);
    Value given = told != nullptr && told->is_object() ? *told : Value::object();
    const Value* const before = object.find(name);
    if (const Value* const conditions = before == nullptr ? nullptr : before->find("conditions");
        name == "status" && conditions != nullptr)
      given.set("conditions", *conditions);
    // One that wasn't there, and in which nothing is set, isn't there afterwards.
    if (before != nullptr || !given.empty()) object.set(name, std::move(given));
  }
  return object;
}

std::string converted_answer(const std::string& uid, std::vector<Value> objects) {
  return answer_text(Value::object({{"uid", uid},
                                    {"result", Value::object({{"status", "Success"}})},
                                    {"convertedObjects", Value(std::move(objects))}}));
}

std::string failed_answer(const std::string& uid, const Error& failure) {
  ReasonWord reason{failure.kind, "InternalError", 500};
  for (const ReasonWord& each : kReasons)
    if (each.kind == failure.kind) reason = each;
  return answer_text(
      Value::object({{"uid", uid},
                     {"result", Value::object({{"status", "Failed"},
                                               {"message", clipped(failure.to_line(), kMostMessage)},
                                               {"reason", reason.reason},
                                               {"code", reason.code}})},
                     {"convertedObjects", Value::array()}}));
}

}  // namespace mist::operator_
