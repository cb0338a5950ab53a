#include "kube/api_status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "encoding/json.h"
#include "kube/api_failure.h"
#include "kube/lost_version.h"

namespace mist::kube {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Asked kAsked{.verb = "apply",
                   .object = "Deployment shop/api",
                   .server = "https://h:6443",
                   .user = "alice",
                   .objects = true};

http::Response answer(int status, std::string body) {
  return {.status = status, .headers = {{"Content-Type", "application/json"}}, .body = std::move(body)};
}
std::string status_body(std::string_view rest) {
  return fmt::format(R"({{"kind":"Status","apiVersion":"v1","status":"Failure",{}}})", rest);
}

TEST(ApiStatus, KindFollowsFromStatusAndReason) {
  const struct {
    int status;
    std::string_view reason;
    ErrorKind kind;
  } kCases[] = {
      {400, "BadRequest", ErrorKind::Invalid},
      {400, "Expired", ErrorKind::Gone},
      {401, "Unauthorized", ErrorKind::Forbidden},
      {403, "Forbidden", ErrorKind::Forbidden},
      {404, "NotFound", ErrorKind::NotFound},
      {409, "AlreadyExists", ErrorKind::Conflict},
      {410, "Gone", ErrorKind::Gone},
      {413, "", ErrorKind::Invalid},
      {422, "Invalid", ErrorKind::Invalid},
      {429, "TooManyRequests", ErrorKind::Retryable},
      {500, "InternalError", ErrorKind::Retryable},
      {503, "", ErrorKind::Retryable},
      {302, "", ErrorKind::Invalid},
  };
  for (const auto& test : kCases) {
    const auto result = decode_answer(
        answer(test.status, status_body(fmt::format(R"("message":"m","reason":"{}")", test.reason))), kAsked);
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().kind, test.kind) << test.status;
    EXPECT_EQ(result.error().message, "cannot apply Deployment shop/api on https://h:6443");
    EXPECT_EQ(result.error().because, "m");
  }
}

// Otherwise one object would hide the list that it is in.
TEST(ApiStatus, WhatNestsTooDeepIsLeftOut) {
  const std::string deep = std::string(9'000, '[') + std::string(9'000, ']');
  const auto result =
      decode_answer(answer(200, fmt::format(R"({{"items":[{{"spec":{}}},{{"spec":1}}]}})", deep)), kAsked);
  ASSERT_TRUE(result.ok()) << result.error().to_line();
  EXPECT_EQ(result->find("items")->as_array()[1].int_at("spec"), 1);
  EXPECT_THAT(encoding::to_json(*result), ::testing::HasSubstr(encoding::kTooDeep));
}

TEST(ApiStatus, HintOfA403IsOfPermissionsOnlyWhereTheyAreMissing) {
  const auto hint = [](std::string_view message) {
    return decode_answer(
               answer(403, status_body(fmt::format(R"("message":"{}","reason":"Forbidden")", message))),
               kAsked)
        .error()
        .hint;
  };
  EXPECT_THAT(hint(R"(pods is forbidden: User \"a\" cannot list resource \"pods\" in API group \"\")"),
              ::testing::HasSubstr("RBAC"));
  EXPECT_THAT(hint("pods x is forbidden: exceeded quota: q"), ::testing::HasSubstr("quota"));
  // No role helps somebody whom the server doesn't know.
  const std::string anonymous =
      hint(R"(pods is forbidden: User \"system:anonymous\" cannot list resource \"pods\")");
  EXPECT_THAT(anonymous, ::testing::Not(::testing::HasSubstr("RBAC")));
  EXPECT_THAT(anonymous, ::testing::HasSubstr("--context"));
}

TEST(ApiStatus, A403OfRbacIsNoDenial) {
  const auto failure = [](std::string_view message) {
    return decode_answer(
               answer(403, status_body(fmt::format(R"("message":"{}","reason":"Forbidden")", message))),
               kAsked)
        .error();
  };
  EXPECT_TRUE(is_without_right(failure(R"(pods is forbidden: User \"a\" cannot list resource \"pods\")")));
  EXPECT_TRUE(is_without_right(failure(
      R"(roles.rbac.authorization.k8s.io \"r\" is forbidden: user \"a\" (groups=[\"b\"]) is attempting to )"
      R"(grant RBAC permissions not currently held:\n{APIGroups:[\"\"], Resources:[\"secrets\"]})")));
  EXPECT_FALSE(is_without_right(failure(R"(admission webhook \"a.b\" denied the request: it is in use)")));
}

TEST(ApiStatus, OfATerminatingNamespaceNoRuleIsToBlame) {
  const auto result = decode_answer(
      answer(403, status_body(R"("message":"secrets \"a\" is forbidden","reason":"Forbidden","details":)"
                              R"({"causes":[{"reason":"NamespaceTerminating","message":"it ends"}]})")),
      kAsked);
  EXPECT_THAT(result.error().hint, HasSubstr("wait until the namespace is gone"));
}

TEST(ApiStatus, NotFoundOfThePathIsAKindThatIsNotServed) {
  const std::string named = status_body(R"("reason":"NotFound","details":{"name":"api"})");
  const std::string unnamed = status_body(R"("message":"the server could not find the requested resource",
      "reason":"NotFound","details":{})");
  EXPECT_FALSE(is_not_served(decode_answer(answer(404, named), kAsked).error()));
  // As an aggregated API may say it.
  const std::string brief = status_body(R"("reason":"NotFound","message":"tallies \"one\" not found")");
  EXPECT_FALSE(is_not_served(decode_answer(answer(404, brief), kAsked).error()));
  EXPECT_TRUE(is_not_served(decode_answer(answer(404, unnamed), kAsked).error()));
  const Error bare = decode_answer(answer(404, "404 page not found\n"), kAsked).error();
  EXPECT_TRUE(is_not_served(bare));
  EXPECT_EQ(bare.kind, ErrorKind::NotFound);
  EXPECT_FALSE(is_not_served(decode_answer(answer(403, ""), kAsked).error()));
  Asked path = kAsked;
  path.objects = false;
  EXPECT_FALSE(is_not_served(decode_answer(answer(404, ""), path).error()));
}

TEST(ApiStatus, CausesFollowTheMessageOnce) {
  const auto failed = decode_answer(
      answer(422,
             status_body(
                 R"("message":"is invalid: spec.a: Required value","reason":"Invalid","details":{"causes":[
        {"message":"Required value","field":"spec.a"},{"message":"too\u001b[31m long","field":"spec.b"}]})")),
      kAsked);
  EXPECT_EQ(failed.error().because, "is invalid: spec.a: Required value\nspec.b: too\\x1b[31m long");
}

TEST(ApiStatus, LongValuesAreLeftOut) {
  const auto because = [](std::string message) {
    encoding::Value status = encoding::Value::object({{"kind", "Status"}, {"reason", "Invalid"}});
    status.set("message", std::move(message));
    return decode_answer(answer(422, encoding::to_json(status)), kAsked).error().because;
  };
  const std::string filler(200, 'x');
  EXPECT_EQ(
      because("spec.template: Invalid value: {\"a\":\"}" + filler + "\",\"b\":[{}]}: field is immutable"),
      "spec.template: Invalid value: {…}: field is immutable");
  EXPECT_EQ(because("[a: Invalid value: core.Pod{X:\"" + filler + "\"}: no, b: Invalid value: [\"" + filler +
                    "\"]: never]"),
            "[a: Invalid value: {…}: no, b: Invalid value: […]: never]");
  for (const std::string& stays :
       {std::string("a: Invalid value: {\"b\":1}: no"), std::string("a: Invalid value: \"b\": no"),
        "a: Invalid value: {" + filler, "a: Invalid value: 3: " + filler + " {x}",
        "a: Invalid value: }" + filler, "a: Invalid value: \"{" + filler + "}\": no",
        std::string("a: Invalid value: ")})
    EXPECT_EQ(because(stays), stays);
}

TEST(ApiStatus, PatchWithAnotherUidIsAConflict) {
  const auto failed =
      decode_answer(answer(422, status_body(R"("message":"m","reason":"Invalid","details":{"causes":[
        {"message":"Invalid value: \"x\": field is immutable","field":"metadata.uid"}]})")),
                    kAsked);
  EXPECT_EQ(failed.error().kind, ErrorKind::Conflict);
}

TEST(ApiStatus, SchemaErrorIsAnInputErrorAndNoOutage) {
  http::Response response = answer(
      500,
      status_body(
          R"("message":"failed to create typed patch object (a/b; /v1, Kind=ConfigMap): .dat: field not declared in schema","code":500)"));
  correct_status(response);
  const auto failed = decode_answer(response, kAsked);
  EXPECT_EQ(failed.error().kind, ErrorKind::Invalid);
  EXPECT_TRUE(is_sent_undeclared(failed.error()));
  response = answer(
      500,
      status_body(
          R"("message":"failed to convert new object (a/b; /v1, Kind=Secret) to proper version: unable to convert unstructured object to /v1, Kind=Secret: error decoding from json: illegal base64 data at input byte 0","code":500)"));
  correct_status(response);
  EXPECT_EQ(decode_answer(response, kAsked).error().kind, ErrorKind::Invalid);
  response = answer(
      500,
      status_body(
          R"("message":"request to convert CR to an invalid group/version: example.com/v1","code":500)"));
  correct_status(response);
  EXPECT_TRUE(is_lost_version(decode_answer(response, kAsked).error()));
  response = answer(
      500,
      status_body(
          R"("message":"failed to prune fields: failed add back owned items: failed to convert merged object at version x.io/v1: .spec.b: field not declared in schema","code":500)"));
  correct_status(response);
  EXPECT_TRUE(is_narrow_version(decode_answer(response, kAsked).error()));
  response = answer(
      500,
      status_body(
          R"("message":"failed to create typed live object (a/b; x.io/v1, Kind=App): .status.tables: expected string, got &value.valueUnstructured{Value:3}","code":500)"));
  correct_status(response);
  const auto unreadable = decode_answer(response, kAsked);
  EXPECT_EQ(unreadable.error().kind, ErrorKind::Invalid);
  EXPECT_TRUE(is_live_unreadable(unreadable.error()));
  EXPECT_FALSE(is_narrow_version(unreadable.error()));
  EXPECT_FALSE(is_sent_undeclared(unreadable.error()));
  response = answer(500, status_body(R"("message":".spec.d: field not declared in schema","code":500)"));
  correct_status(response);
  EXPECT_TRUE(is_narrow_version(decode_answer(response, kAsked).error()));
  response = answer(
      500,
      status_body(
          R"("message":"failed to convert new object (a/b; coordination.k8s.io/v1, Kind=Lease) to proper version: unable to convert unstructured object to coordination.k8s.io/v1, Kind=Lease: parsing time \"now\" as \"2006\": cannot parse","code":500)"));
  correct_status(response);
  EXPECT_EQ(decode_answer(response, kAsked).error().kind, ErrorKind::Invalid);
  response = answer(
      500,
      status_body(
          R"("message":"failed to convert new object (a/b; example.com/v1, Kind=Thing) to proper version: conversion webhook for example.com/v1, Kind=Thing failed: Post","code":500)"));
  correct_status(response);
  EXPECT_EQ(decode_answer(response, kAsked).error().kind, ErrorKind::Retryable);
  response = answer(500, status_body(R"("message":"etcdserver: request timed out","code":500)"));
  correct_status(response);
  EXPECT_EQ(decode_answer(response, kAsked).error().kind, ErrorKind::Retryable);
}

TEST(ApiStatus, HtmlOfAProxyIsShownEscapedAndShort) {
  const auto ok = decode_answer(answer(200, "<html>\x1b[31mlog in</html>" + std::string(5000, 'x')), kAsked);
  EXPECT_EQ(ok.error().kind, ErrorKind::Invalid);
  EXPECT_THAT(ok.error().message,
              HasSubstr("https://h:6443 answered something that is no Kubernetes API object"));
  EXPECT_THAT(ok.error().because, HasSubstr("<html>\\x1b[31mlog in</html>"));
  EXPECT_LT(ok.error().because.size(), 300u);
  const auto bad = decode_answer(answer(502, "<html>"), kAsked);
  EXPECT_EQ(bad.error().because, "HTTP 502: Bad Gateway: <html>");
  EXPECT_EQ(decode_answer(answer(200, ""), kAsked).error().because, "an empty body");
  EXPECT_EQ(decode_answer(answer(200, "[1]"), kAsked).error().kind, ErrorKind::Invalid);
}

TEST(ApiStatus, HintsSayWhatToDo) {
  EXPECT_THAT(decode_answer(answer(401, ""), kAsked).error().hint,
              HasSubstr("credentials of the user \"alice\""));
  EXPECT_THAT(decode_answer(answer(302, ""), kAsked).error().hint, HasSubstr("API server"));
}

TEST(ApiStatus, ReadsWarningHeaders) {
  EXPECT_THAT(warnings_of({{"warning", R"(299 - "unknown field \"spec.x\"")"},
                           {"Other", "x"},
                           {"Warning", R"(299 - "one" "Sat, 25 Aug 2012 23:34:45 GMT", 299 - "two")"},
                           {"Warning", "garbage"},
                           {"Warning", "299 - \"open"}}),
              ElementsAre("unknown field \"spec.x\"", "one", "two", "open"));
}

TEST(InvalidFields, AreToldByTheCausesOfTheStatus) {
  const auto answer_with = [](std::string_view causes) {
    return status_error(*encoding::parse_json(fmt::format(
                            R"({{"kind":"Status","code":422,"reason":"Invalid","message":"x is invalid",)"
                            R"("details":{{"causes":[{}]}}}})",
                            causes)),
                        422, {});
  };
  constexpr std::string_view kField = R"({"reason":"FieldValueInvalid","message":"no","field":"spec.x"})";
  EXPECT_TRUE(names_invalid_fields(answer_with(kField)));
  // As a ValidatingAdmissionPolicy answers.
  constexpr std::string_view kPolicy = R"({"message":"failed expression: false"})";
  EXPECT_FALSE(names_invalid_fields(answer_with(kPolicy)));
  EXPECT_FALSE(names_invalid_fields(answer_with(fmt::format("{},{}", kField, kPolicy))));
  EXPECT_FALSE(names_invalid_fields(answer_with("")));
}
}  // namespace
}  // namespace mist::kube
