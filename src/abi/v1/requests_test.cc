#include "abi/v1/requests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encoding/json.h"

namespace mist::abi::v1 {
namespace {

using encoding::Value;
using ::testing::HasSubstr;

class Services final : public HostServices {
 public:
  Result<Value> answer(std::string_view operation, const Value& request) override {
    last = fmt::format("{} {}", operation, encoding::to_json(request));
    if (failure) return *failure;
    return Value::object({{"value", 7}});
  }
  std::string last;
  std::optional<Error> failure;
};

std::string answer_to(std::string_view request) {
  Services services;
  auto answer = Requests(services).answer(request);
  EXPECT_TRUE(answer.ok());
  return answer.ok() ? *answer : "";
}

TEST(Requests, AreObjectsWithAnOperation) {
  Services services;
  EXPECT_EQ(*Requests(services).answer(R"({"op":"secret.get","name":"db"})"), R"({"ok":{"value":7}})");
  EXPECT_EQ(services.last, R"(secret.get {"op":"secret.get","name":"db"})");
}

TEST(Requests, WhatCanNotBeReadIsAnsweredWithAnError) {
  const std::string deep = std::string(100, '[') + std::string(100, ']');
  for (const std::string& request :
       {std::string(), std::string("{"), std::string("[]"), std::string("null"), std::string("{}"),
        std::string(R"({"op":5})"), std::string(R"({"op":""})"), std::string(R"({"op":"a","op":"b"})"),
        std::string("{\"op\":\"\xff\"}"), std::string("{\"op\":\"a\"}\0", 11),
        R"({"op":"a","x":)" + deep + "}", std::string(500'000, '[')}) {
    const auto answer = encoding::parse_json(answer_to(request));
    ASSERT_TRUE(answer.ok()) << request;
    EXPECT_EQ(answer->string_at({"error", "kind"}), "Invalid") << request.substr(0, 40);
    EXPECT_NE(answer->string_at({"error", "message"}), "") << request.substr(0, 40);
  }
}

TEST(Requests, ErrorsOfServicesAreAnswersWithTheirHint) {
  Services services;
  services.failure = error(ErrorKind::NotFound, "no such thing").with_hint("look there");
  EXPECT_EQ(*Requests(services).answer(R"({"op":"x"})"),
            R"({"error":{"kind":"NotFound","message":"no such thing","hint":"look there"}})");
}

TEST(Requests, SomeErrorsEndTheGuest) {
  for (const ErrorKind kind :
       {ErrorKind::Cancelled, ErrorKind::Timeout, ErrorKind::Trap, ErrorKind::Internal}) {
    Services services;
    services.failure = error(kind, "enough");
    const auto answer = Requests(services).answer(R"({"op":"x"})");
    ASSERT_FALSE(answer.ok());
    EXPECT_EQ(answer.error().kind, kind);
  }
}

}  // namespace
}  // namespace mist::abi::v1
