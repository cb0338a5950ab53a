#include "abi/v1/requests.h"

#include "base/text.h"
#include "encoding/json.h"

namespace mist::abi::v1 {

using encoding::Value;

namespace {

// Errors after which the guest can't go on, whatever it does with an answer.
bool ends_the_guest(ErrorKind kind) {
  return kind == ErrorKind::Cancelled || kind == ErrorKind::Timeout || kind == ErrorKind::Trap ||
         kind == ErrorKind::Internal;
}

std::string in_one(const Error& failure) {
  return failure.because.empty() ? failure.message : fmt::format("{}: {}", failure.message, failure.because);
}

}  // namespace

Result<Value> Requests::ask(std::string_view text) {
  if (!is_valid_utf8(text)) return error(ErrorKind::Invalid, "the request is not valid UTF-8");
  encoding::JsonOptions options;
  options.strict = true;
  options.max_depth = kMaxDepth;
  auto parsed = encoding::parse_json(text, options);
  if (!parsed.ok())
    // Its place and words, without the excerpt: that is the guest's own text.
    return error(ErrorKind::Invalid, "the request can't be read: {}", in_one(parsed.error()));
  if (!parsed->is_object()) return error(ErrorKind::Invalid, "the request is not a JSON object");
  const std::string_view operation = parsed->string_at("op");
  if (operation.empty())
    return error(ErrorKind::Invalid, "the request has no \"op\", the name of what is asked");
  return services_.answer(operation, *parsed);
}

Result<std::string> Requests::answer(std::string_view request) {
  auto value = ask(request);
  if (value.ok()) return encoding::to_json(Value::object({{"ok", *std::move(value)}}));
  if (ends_the_guest(value.error().kind)) return std::move(value).error();
  const Error& failure = value.error();
  Value problem = Value::object({{"kind", to_string(failure.kind)}, {"message", in_one(failure)}});
  if (!failure.hint.empty()) problem.set("hint", failure.hint);
  return encoding::to_json(Value::object({{"error", std::move(problem)}}));
}

}  // namespace mist::abi::v1
